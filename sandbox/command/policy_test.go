package command_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/sandbox/command"
)

// bin makes a directory of programs; "name -> target" makes a link and
// "name = target" a hard link.
func bin(t *testing.T, entries ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name, to, ok := strings.Cut(e, " -> "); ok {
			err = os.Symlink(to, filepath.Join(dir, name))
		} else if name, to, ok := strings.Cut(e, " = "); ok {
			err = os.Link(filepath.Join(dir, to), filepath.Join(dir, name))
		} else {
			err = os.WriteFile(filepath.Join(dir, e), []byte(e), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRules(t *testing.T) {
	dir := bin(t, "rm", "ls", "go", "busybox", "tool", "cat -> busybox", "mv -> busybox", "alias-rm -> rm", "hard-rm = rm", "kubectl", "python3.11", "python3 -> python3.11")
	rules := func(names ...string) []command.Rule { return rulesOf(names) }
	for _, c := range []struct {
		name            string
		allowed, denied []command.Rule
		text            string
		want            bool
		rule            string
	}{
		{"no allow list", nil, rules("rm"), "anything", true, ""},
		{"empty allow list", []command.Rule{}, nil, "ls", false, "not-allowed"},
		{"star", rules("*"), nil, "ls", true, ""},
		{"deny wins", rules("rm"), rules("rm"), "rm", false, "denied: rm"},
		{"link to a denied program", nil, rules("rm"), "alias-rm x", false, "denied: rm"},
		{"hard link to a denied program", nil, rules("rm"), "hard-rm x", false, "denied: rm"},
		{"path of a link", nil, rules("rm"), dir + "/alias-rm x", false, "denied: rm"},
		{"another name of a program of many names", nil, rules("mv"), "cat x", true, ""},
		{"its own name", nil, rules("mv"), "mv x y", false, "denied: mv"},
		{"as an applet", nil, rules("mv"), "busybox mv x y", false, "denied: mv"},
		{"the file behind a denied link", nil, rules("python3"), "python3.11 x", false, "denied: python3"},
		{"denied by path", nil, rules(dir + "/rm"), "rm x", false, "denied: " + dir + "/rm"},
		{"case", nil, rules("rm"), "RM x", false, "denied: rm"},
		{"allowed by name, run by path", rules("ls"), nil, dir + "/ls", true, ""},
		{"allowed by path, run by name", rules(dir + "/tool"), nil, "tool", true, ""},
		{"allowed by path, another program", rules(dir + "/tool"), nil, "ls", false, "not-allowed"},
		{"prefix", rules("go test"), nil, "go test ./...", true, ""},
		{"prefix of a word", rules("go test"), nil, "go testx", false, "not-allowed"},
		{"prefix, computed", rules("go test"), nil, "go $X", false, "not-allowed"},
		{"denied prefix", nil, rules("kubectl delete"), "kubectl delete pod", false, "denied: kubectl delete"},
		{"denied prefix after an option", nil, rules("kubectl delete"), "kubectl -n x delete pod", false, "denied: kubectl delete"},
		{"denied prefix, computed", nil, rules("kubectl delete"), "kubectl $X pod", false, "denied: kubectl delete"},
		{"denied prefix as data", nil, rules("kubectl delete"), "kubectl get delete", true, ""},
		{"args_deny", []command.Rule{{Name: "tool", ArgsDeny: []string{"--exec", "-x"}}}, nil, "tool --exec=y", false, "args_deny"},
		{"args_deny, abbreviated", []command.Rule{{Name: "tool", ArgsDeny: []string{"--exec", "-x"}}}, nil, "tool --ex y", false, "args_deny"},
		{"args_deny, in a cluster", []command.Rule{{Name: "tool", ArgsDeny: []string{"--exec", "-x"}}}, nil, "tool -vx y", false, "args_deny"},
		{"args_deny, computed", []command.Rule{{Name: "tool", ArgsDeny: []string{"-x"}}}, nil, "tool $X", false, "args_deny"},
		{"args_deny, others", []command.Rule{{Name: "tool", ArgsDeny: []string{"--exec", "-x"}}}, nil, "tool -v y", true, ""},
		{"denied with an argument", nil, []command.Rule{{Name: "tool", ArgsDeny: []string{"--force"}}}, "tool --force", false, "denied: tool"},
		{"denied with an argument, without", nil, []command.Rule{{Name: "tool", ArgsDeny: []string{"--force"}}}, "tool", true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := command.Compile(command.Config{Allowed: c.allowed, Denied: c.denied, Path: []string{dir}, Dir: dir, OpaqueScripts: command.Deny})
			if err != nil {
				t.Fatal(err)
			}
			v := p.Decide(command.Request{Command: c.text, Dir: dir})
			checkVerdict(t, v)
			if v.Allowed != c.want || v.Rule != c.rule {
				t.Errorf("%s: allowed %v by %q (%s), want %v by %q", c.text, v.Allowed, v.Rule, v.Reason, c.want, c.rule)
			}
		})
	}
}

func TestCompileErrors(t *testing.T) {
	for _, name := range []string{"", "  ", "ls | rm", "$(x)", "* x", "a;b", "'ls'"} {
		if _, err := command.Compile(command.Config{Allowed: []command.Rule{{Name: name}}}); err == nil {
			t.Errorf("allowed %q compiled", name)
		}
	}
	if _, err := command.Compile(command.Config{Denied: []command.Rule{{Name: "*"}}}); err == nil {
		t.Error("denied * compiled")
	}
	if _, err := command.Compile(command.Config{InlineCode: "maybe"}); err == nil {
		t.Error(`mode "maybe" was accepted`)
	}
}

func TestPlain(t *testing.T) {
	p, err := command.Compile(command.Config{Denied: rulesOf([]string{"rm"})})
	if err != nil {
		t.Fatal(err)
	}
	open, err := command.Compile(command.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{
		"ls -l 'a b'": {"ls", "-l", "a b"}, `git commit -m "x; y"`: {"git", "commit", "-m", "x; y"}, `ls a\ b # c`: {"ls", "a b"}, `ls $'a\tb'`: {"ls", "a\tb"}, "ls \\\n  x": {"ls", "x"},
		"ls *.go": nil, "ls > x": nil, "A=1 ls": nil, "ls; ls": nil, "ls &": nil, "! ls": nil, "printf x": nil, "ls ~": nil, "ls {a,b}": nil, "ls $X": nil, "cd x": nil, "(ls)": nil, "ls | cat": nil, "time ls": nil, "ls [a]": nil, "''": nil,
	} {
		for _, policy := range []*command.Policy{p, open} {
			if v := policy.Decide(command.Request{Command: text, Dir: "/"}); !slices.Equal(v.Plain, want) {
				t.Errorf("%q: plain %q, want %q (%s)", text, v.Plain, want, v.Reason)
			}
		}
	}
}

func TestNoLists(t *testing.T) {
	p, err := command.Compile(command.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"rm -rf x", "eval x", "ls $(", "", "bash -c 'rm x'"} {
		if v := p.Decide(command.Request{Command: text}); !v.Allowed {
			t.Errorf("%q was refused without any list: %s", text, v.Reason)
		}
	}
}

func TestModes(t *testing.T) {
	p, err := command.Compile(command.Config{Denied: rulesOf([]string{"rm"}), InlineCode: command.Allow, OpaqueScripts: command.Allow})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"python3 -c 1": true, "bash x.sh": true, "source x.sh": true, "awk 'BEGIN{system(\"x\")}'": true, "./x": true, "bash -c 'rm x'": false, "find . -delete": false} {
		if v := p.Decide(command.Request{Command: text, Dir: "/"}); v.Allowed != want {
			t.Errorf("%q: allowed %v (%s), want %v", text, v.Allowed, v.Reason, want)
		}
	}
}

// TestRemoves checks that what is removed counts as written, and as nothing else, whatever
// the options.
func TestRemoves(t *testing.T) {
	ws := workspace(t, furnished)
	p, err := command.Compile(command.Config{
		Dir: ws, Path: system(), Paths: command.Paths{Write: func(string) error { return nil }, Read: func(string) error { return nil }},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"rm a.txt", "rm -r a.txt", "rm -f -r a.txt", "rm -rfv --one-file-system a.txt", "rm --recursive --interactive=never a.txt", "rm -R -- a.txt",
		"srm -r a.txt", "trash -r a.txt", "wipe -r a.txt", "rmdir -p a.txt", "unlink a.txt", "shred -u -n 1 a.txt",
	} {
		v := p.Decide(command.Request{Command: text, Dir: ws})
		if len(v.Reads) > 0 || !slices.Equal(v.Writes, []string{ws + "/a.txt"}) {
			t.Errorf("%s: reads %q, writes %q (%v)", text, v.Reads, v.Writes, v)
		}
	}
}

func TestVerdict(t *testing.T) {
	ws := workspace(t, furnished)
	p, err := command.Compile(command.Config{
		Allowed: rulesOf([]string{"ls", "cat", "env", "tee"}), Dir: ws, Path: system(),
		Paths: command.Paths{Write: func(string) error { return nil }, Read: func(string) error { return nil }},
	})
	if err != nil {
		t.Fatal(err)
	}
	v := p.Decide(command.Request{Command: "env A=1 cat a.txt | tee out/b.txt > c", Dir: ws})
	if want := [][]string{{"env", "A=1", "cat", "a.txt"}, {"cat", "a.txt"}, {"tee", "out/b.txt"}}; !reflect.DeepEqual(v.Argv, want) {
		t.Errorf("argv %q, want %q", v.Argv, want)
	}
	if want := []string{ws + "/a.txt"}; !slices.Equal(v.Reads, want) {
		t.Errorf("reads %q, want %q", v.Reads, want)
	}
	if want := []string{ws + "/c", ws + "/out/b.txt"}; !slices.Equal(v.Writes, want) {
		t.Errorf("writes %q, want %q", v.Writes, want)
	}
	v = p.Decide(command.Request{Command: "env rm x", Dir: ws})
	if v.Rule != "not-allowed" || v.Reason != "rm x is not allowed" || v.Hint != "allowed commands: ls, cat, env, tee" {
		t.Errorf("refusal %+v", v)
	}
}

// TestCallerVariables checks that variables set by the caller are not trusted.
func TestCallerVariables(t *testing.T) {
	p, err := command.Compile(command.Config{Denied: rulesOf([]string{"rm"}), Home: "/home/x"})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"echo $((N+1))": false, "echo $N": true, "[[ $N -gt 1 ]]": false} {
		if v := p.Decide(command.Request{Command: text, Dir: "/", Env: []string{"N"}}); v.Allowed != want {
			t.Errorf("%q with N from the caller: allowed %v (%s), want %v", text, v.Allowed, v.Reason, want)
		}
	}
}

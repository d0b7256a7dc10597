package command_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/sandbox/command"
)

// row is a line of testdata/commands.jsonl: a policy or a command with the
// verdict that is expected under one of the policies.
type row struct {
	Kind, ID, Policy, Command, Expected, Technique, Layer string
	Adversarial                                           bool
	Setup                                                 []string
	Tools                                                 struct {
		ExecuteCommand struct {
			Allowed []string `json:"allowed_commands"`
			Denied  []string `json:"denied_commands"`
			Inline  string   `json:"inline_code"`
			Opaque  string   `json:"opaque_scripts"`
		} `json:"execute_command"`
		WriteFile pathLists `json:"write_file"`
		ReadFile  pathLists `json:"read_file"`
	}
}

type pathLists struct {
	Allowed []string `json:"allowed_paths"`
	Denied  []string `json:"denied_paths"`
}

func corpus(t testing.TB) (policies map[string]row, commands []row) {
	t.Helper()
	f, err := os.Open("testdata/commands.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	policies = map[string]row{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r row
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if r.Kind == "policy" {
			policies[r.ID] = r
		} else {
			commands = append(commands, r)
		}
	}
	return policies, commands
}

// workspace makes a fresh working directory with what a row's setup asks for.
func workspace(t testing.TB, setup []string) string {
	t.Helper()
	ws, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range setup {
		s = strings.ReplaceAll(s, "${WS}", ws)
		verb, rest, _ := strings.Cut(s, " ")
		path, text, _ := strings.Cut(rest, " ")
		switch verb {
		case "file", "script":
			err = os.WriteFile(path, []byte(strings.Trim(text, "'")), map[string]os.FileMode{"file": 0o644, "script": 0o755}[verb])
		case "symlink":
			err = os.Symlink(text, path)
		case "gitrepo":
			err = os.MkdirAll(filepath.Join(path, ".git"), 0o755)
		default:
			err = fmt.Errorf("unknown setup %q", s)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return ws
}

// paths returns the function that checks a path by lists, under ws.
func (l pathLists) paths(ws string) (check func(string) error, denied []string) {
	if l.Allowed == nil && l.Denied == nil {
		return nil, nil
	}
	abs := func(list []string) (out []string) {
		for _, p := range list {
			if !filepath.IsAbs(p) {
				p = filepath.Join(ws, p)
			}
			out = append(out, filepath.Clean(p))
		}
		return out
	}
	allowed := abs(l.Allowed)
	denied = abs(l.Denied)
	in := func(list []string, path string) bool {
		for _, d := range list {
			if path == d || strings.HasPrefix(path, strings.TrimSuffix(d, "/")+"/") {
				return true
			}
		}
		return false
	}
	return func(path string) error {
		if in(denied, path) {
			return fmt.Errorf("%s is denied", path)
		}
		if !in(allowed, path) {
			return fmt.Errorf("%s is outside the allowed paths", path)
		}
		return nil
	}, denied
}

func system() []string { return []string{"/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"} }

func rulesOf(names []string) []command.Rule {
	if names == nil {
		return nil
	}
	out := make([]command.Rule, 0, len(names))
	for _, n := range names {
		out = append(out, command.Rule{Name: n})
	}
	return out
}

// compile builds the policy of a row for a working directory.
func (r row) compile(t testing.TB, ws string) *command.Policy {
	t.Helper()
	e := r.Tools.ExecuteCommand
	c := command.Config{
		Allowed: rulesOf(e.Allowed), Denied: rulesOf(e.Denied), InlineCode: command.Mode(e.Inline), OpaqueScripts: command.Mode(e.Opaque),
		Path: system(), Home: "/home/someone", Dir: ws,
	}
	c.Paths.Read, c.Paths.ReadDenied = r.Tools.ReadFile.paths(ws)
	c.Paths.Write, c.Paths.WriteDenied = r.Tools.WriteFile.paths(ws)
	p, err := command.Compile(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCorpus(t *testing.T) {
	policies, rows := corpus(t)
	if len(rows) < 200 {
		t.Fatalf("the corpus has %d commands", len(rows))
	}
	for _, r := range rows {
		t.Run(r.ID, func(t *testing.T) {
			ws := workspace(t, r.Setup)
			p := policies[r.Policy].compile(t, ws)
			v := p.Decide(command.Request{Command: r.Command, Dir: ws})
			checkVerdict(t, v)
			if want := r.Expected == "allow"; v.Allowed != want {
				t.Errorf("%s: %.200q\nallowed %v, want %s (%s, layer %s)\nrule %s: %s", r.Policy, r.Command, v.Allowed, r.Expected, r.Technique, r.Layer, v.Rule, v.Reason)
			}
		})
	}
}

// checkVerdict checks what holds of every verdict.
func checkVerdict(t testing.TB, v command.Verdict) {
	t.Helper()
	if v.Rule == "broken" {
		t.Error("Decide panicked")
	}
	if v.Allowed != (v.Rule == "") || v.Allowed != (v.Reason == "") {
		t.Errorf("allowed %v with rule %q and reason %q", v.Allowed, v.Rule, v.Reason)
	}
	for _, s := range []string{v.Rule, v.Reason, v.Hint} {
		if len(s) > 450 || strings.ContainsAny(s, "\n\r\t\x00\x01\x02\x03\x04\x05\x06") {
			t.Errorf("message %q is not a short line", s)
		}
	}
	for _, argv := range v.Argv {
		for _, a := range argv {
			if strings.ContainsAny(a, "\x01\x02\x03\x04\x05\x06") {
				t.Errorf("argv %q holds a marker", argv)
			}
		}
	}
}

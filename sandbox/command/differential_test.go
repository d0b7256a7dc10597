package command_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/sandbox/command"
)

// stubLog is the file in the working directory that stubs append to.
const stubLog = ".started"

// stubs makes a directory of programs that append their name to stubLog and do
// nothing else, next to links to the system's wrappers.
func stubs(t *testing.T, names, wrappers []string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, n := range names {
		script := "#!/bin/sh\necho " + n + " >> " + stubLog + "\n"
		if err := os.WriteFile(filepath.Join(dir, n), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range wrappers {
		path, err := exec.LookPath(w)
		if err != nil {
			t.Skipf("no %s on this machine", w)
		}
		if err := os.Symlink(path, filepath.Join(dir, w)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// grammar writes random scripts that start stub programs in many ways.
type grammar struct {
	*rand.Rand
	depth int
}

func (g *grammar) pick(choices ...string) string { return choices[g.IntN(len(choices))] }

// name spells a stub's name in one of the ways of bash.
func (g *grammar) name() string {
	n := g.pick("good", "fine", "good", "fine", "good", "evil", "nasty")
	cut := 1 + g.IntN(len(n)-1)
	switch g.IntN(20) {
	case 0:
		return n[:cut] + `""` + n[cut:]
	case 1:
		return `\` + n
	case 2:
		return "'" + n[:cut] + "'" + n[cut:]
	case 3:
		return `"` + n + `"`
	case 4:
		return fmt.Sprintf(`$'\x%02x%s'`, n[0], n[1:])
	case 5:
		return fmt.Sprintf(`$'\%03o'%s`, n[0], n[1:])
	case 6:
		return "V=" + n + "; $V"
	case 7:
		return "V=" + n[:cut] + "; ${V}" + n[cut:]
	case 8:
		return "{" + n + ",x}"
	case 9:
		return n[:cut] + "\\\n" + n[cut:]
	case 10:
		return fmt.Sprintf(`%s$'\U%x'%s`, n[:cut], n[cut], n[cut+1:])
	case 11:
		return fmt.Sprintf(`$'\x{%x}%s\0%s'`, n[0], n[1:], n)
	case 12:
		return fmt.Sprintf(`$(printf '%s%%s' '%s')`, n[:cut], n[cut:])
	}
	return n
}

func (g *grammar) arg() string {
	if g.depth > 3 {
		return "x"
	}
	switch g.IntN(14) {
	case 0:
		return "$(" + g.script() + ")"
	case 1:
		return `"` + "$(" + g.script() + `)"`
	case 2:
		return "<(" + g.script() + ")"
	case 3:
		return "${nope:-$(" + g.script() + ")}"
	case 4:
		return "$(( 1 + ${#V} ))"
	case 5:
		return "'evil nasty'"
	case 6:
		return "{a,evil}"
	case 7:
		return `"a; evil"`
	case 8:
		return "*"
	}
	return g.pick("x", "-n", "a.b", "y z", "$V")
}

// script writes one statement, possibly of many.
func (g *grammar) script() string {
	g.depth++
	defer func() { g.depth-- }()
	simple := g.name() + " " + g.arg()
	if g.depth > 4 {
		return simple
	}
	switch g.IntN(34) {
	case 0:
		return g.script() + "; " + g.script()
	case 1:
		return g.script() + " && " + g.script()
	case 2:
		return g.script() + " || " + g.script()
	case 3:
		return g.script() + " | " + g.script()
	case 4:
		return "( " + g.script() + " )"
	case 5:
		return "{ " + g.script() + "\n}"
	case 6:
		return "if " + g.script() + "; then " + g.script() + "; else " + g.script() + "; fi"
	case 7:
		return "for V in " + g.pick("good evil", "fine", "a b") + "; do " + g.pick("$V x", "good $V", g.script()) + "; done"
	case 8:
		return "f() { " + g.script() + "\n}; " + g.pick("f", "f evil", "true")
	case 9:
		return `f() { "$@"; }; f ` + simple
	case 10:
		return "eval '" + strings.ReplaceAll(g.script(), "'", `'\''`) + "'"
	case 11:
		return "case x in x) " + g.script() + ";; esac"
	case 12:
		return g.pick("env", "env -i PATH=\"$PATH\"", "env A=1", "nice", "nice -n 1", "timeout 5", "env nice", "timeout -k 1 5", "env -u A") + " " + simple
	case 13:
		return "printf '%s\\n' x | xargs " + g.pick("", "-n1 ", "-I{} ") + simple
	case 14:
		return "find . -maxdepth 0 -exec " + simple + " {} \\;"
	case 15:
		return "cat <<E\n" + g.pick("$(evil)", "evil", "`evil`", "\\$(evil)") + "\nE\n"
	case 29:
		return "cat <<$'\\x45'\n" + g.script() + "\nE\n" + g.script() + "\n\\x45\n"
	case 16:
		return "cat <<'E'\n$(evil)\nE\n"
	case 17:
		return g.pick("(( a[$(evil)0]++ ))", "[[ -n $(evil) ]]", "[[ 'a[$(evil)]' -eq 0 ]]", "x='a[$(evil)]'; echo $((x))", "declare -i n='a[$(evil)]'", "test -v 'a[$(evil)]'", "printf -v 'a[$(evil)]' %s x", "read 'a[$(evil)]' <<< x", "a=(1); unset 'a[$(evil)0]'", "let 'a[$(evil)]=1'", "x='$(evil)'; echo ${x@P}", "x='a[$(evil)]'; echo ${!x}", "echo ${a[$(evil)0]}")
	case 18:
		return "trap '" + g.pick("evil", "good", "nasty x") + "' EXIT"
	case 19:
		return g.pick("command", "exec", "command -p", "exec -a good", "builtin", "command --") + " " + simple
	case 20:
		return "! " + g.script()
	case 21:
		return "time " + g.script()
	case 22:
		return "V=" + g.pick("good", "evil", "'good evil'") + "\n" + g.pick("$V", "$V x", "good $V", "false && V=evil; $V", "(V=evil); $V", "V=evil; $V", "unset V; $V evil")
	case 23:
		return "set -- " + g.pick("evil x", "good") + `; "$@"`
	case 24:
		return "while " + g.script() + "; do " + g.script() + "; break; done"
	case 25:
		return "coproc " + g.script() + "\nwait"
	case 26:
		return g.pick("bash", "sh") + " -c '" + strings.ReplaceAll(g.script(), "'", `'\''`) + "'"
	case 27:
		return "echo " + g.pick("evil", "good", "'evil x'") + " | " + g.pick("bash", "sh", "xargs -I{} {} x", "xargs env", "xargs good")
	case 28:
		return simple + " > /dev/null 2>&1"
	}
	return simple
}

func TestDifferential(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash on this machine")
	}
	wrappers := []string{"env", "nice", "timeout", "xargs", "find", "cat", "bash", "sh"}
	dir := stubs(t, []string{"good", "fine", "evil", "nasty"}, wrappers)
	work := t.TempDir()
	allowed := append([]string{"good", "fine", "true", "false", "echo", "printf", "eval", "command", "exec", "builtin", "trap", "set", "test", "read", "unset", "let", "declare", "wait", "break", "."}, wrappers...)
	policies := map[string]command.Config{
		"deny list":  {Denied: rulesOf([]string{"evil", "nasty"})},
		"allow list": {Allowed: rulesOf(allowed)},
	}
	compiled := map[string]*command.Policy{}
	for name, c := range policies {
		c.Path, c.Dir, c.Home = []string{dir}, work, work
		if compiled[name], err = command.Compile(c); err != nil {
			t.Fatal(err)
		}
	}
	g := &grammar{Rand: rand.New(rand.NewPCG(7, 11))}
	start, runs, allowedRuns := time.Now(), 0, 0
	for runs < 300 && time.Since(start) < 3*time.Second {
		script := g.script()
		runs++
		run := filepath.Join(work, fmt.Sprint(runs)) // a straggler must not write into the next log
		started := runStubs(t, bash, script, dir, run)
		for name, p := range compiled {
			v := p.Decide(command.Request{Command: script, Dir: run})
			if !v.Allowed {
				continue
			}
			allowedRuns++
			for _, s := range started {
				if s == "evil" || s == "nasty" {
					t.Errorf("%s: allowed, but it ran %s:\n%s", name, s, script)
				}
				if !slices.ContainsFunc(v.Argv, func(argv []string) bool { return filepath.Base(argv[0]) == s }) {
					t.Errorf("%s: ran %s, which the verdict does not list: %q\n%s", name, s, v.Argv, script)
				}
			}
		}
	}
	if runs < 100 || allowedRuns < runs/20 {
		t.Logf("only %d scripts ran, %d verdicts allowed: a slow machine", runs, allowedRuns)
	}
	t.Logf("%d scripts, %d verdicts allowed", runs, allowedRuns)
}

// runStubs runs the script in bash and returns the stubs that it started.
func runStubs(t *testing.T, bash, script, dir, work string) []string {
	t.Helper()
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(work, stubLog)
	if err := os.WriteFile(log, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, bash, "-c", script)
	cmd.Env, cmd.Dir, cmd.WaitDelay = []string{"PATH=" + dir}, work, 100*time.Millisecond
	_ = cmd.Run() // the exit status does not matter
	out, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

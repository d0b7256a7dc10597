package command

import (
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// TestUnescape compares what is decoded with what bash makes of the same strings.
func TestUnescape(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash on this machine")
	}
	r := rand.New(rand.NewPCG(3, 5))
	forms := []string{`\x`, `\x2`, `\x2e`, `\x{`, `\x{2e}`, `\x{12e`, `}`, `\0`, `\5`, `\56`, `\056`, `\0056`, `\u`, `\u2e`, `\u002e`, `\u002ee`, `\U`, `\U0000002e`, `\U2E`,
		`\c`, `\cA`, `\c[`, `\c?`, `\c\\`, `\ca`, `\a`, `\b`, `\e`, `\E`, `\f`, `\n`, `\r`, `\t`, `\v`, `\\`, `\'`, `\"`, `\?`, `\q`, `\8`, `\777`, `\x80`, `\xc3\xa9`,
		`\u00e9`, `\U0001F600`, `\u0000`, `\x00`, `\x{}`, `\1`, `.`, `e`, `n`, `v`, ` `, "\n", `é`, `"`, `$x`, "`"}
	var texts []string
	var script strings.Builder
	for range 4000 {
		var b strings.Builder
		for range 1 + r.IntN(5) {
			b.WriteString(forms[r.IntN(len(forms))])
		}
		texts = append(texts, b.String())
		script.WriteString("printf '%s\\0' a$'" + b.String() + "'b\n")
	}
	cmd := exec.Command(bash)
	cmd.Stdin, cmd.Env = strings.NewReader(script.String()), []string{"LC_ALL=C.UTF-8"}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	decoded := strings.Split(string(out), "\x00")
	c := newChecker(&Policy{}, "/", &variables{byName: map[string]*variable{}})
	for i, text := range texts {
		file, err := syntax.NewParser().Parse(strings.NewReader("x a$'"+text+"'b"), "")
		if err != nil {
			t.Fatal(err)
		}
		got := c.words(&shell{}, file.Stmts[0].Cmd.(*syntax.CallExpr).Args)[1].s
		if i >= len(decoded) || got != decoded[i] && (markAt(got) < 0 || !matches(got, decoded[i])) {
			t.Errorf("$'%s' is %q in bash, not %q", text, decoded[i], got)
		}
	}
}

package command_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolserver/toolserver/sandbox/command"
)

// FuzzDecide checks that no text makes Decide panic or hang, and that printing
// the parsed text again does not turn a refusal of what runs into permission.
func FuzzDecide(f *testing.F) {
	policies, rows := corpus(f)
	ws := workspace(f, furnished)
	var compiled []*command.Policy
	for _, id := range []string{"seed", "denyonly", "dev", "prefix"} {
		compiled = append(compiled, policies[id].compile(f, ws))
	}
	open, err := command.Compile(command.Config{Path: system(), Home: "/home/someone", Dir: ws, Paths: command.Paths{
		Forbidden: func(path string, write, strict bool) (rule, reason string) {
			if strings.HasSuffix(path, "/.env") {
				return "protected", "is protected"
			}
			return "", ""
		},
	}})
	if err != nil {
		f.Fatal(err)
	}
	for _, r := range rows {
		f.Add(r.Command)
	}
	for _, table := range []map[string][]string{refused, permitted} {
		for _, list := range table {
			for _, text := range list {
				f.Add(text)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		checkVerdict(t, open.Decide(command.Request{Command: text, Dir: ws}))
		again, ok := reprint(text)
		for i, p := range compiled {
			start := time.Now()
			v := p.Decide(command.Request{Command: text, Dir: ws})
			if d := time.Since(start); d > hangs {
				t.Errorf("policy %d took %v", i, d)
			}
			checkVerdict(t, v)
			if !ok {
				continue
			}
			if w := p.Decide(command.Request{Command: again, Dir: ws}); w.Allowed != v.Allowed && !limit(v) && !limit(w) {
				t.Errorf("policy %d: allowed %v (%s) for\n%q\nbut %v (%s) for\n%q", i, v.Allowed, v.Reason, text, w.Allowed, w.Reason, again)
			}
		}
	})
}

// limit reports whether the verdict is about the size or the characters of the
// text, which printing changes.
func limit(v command.Verdict) bool {
	return v.Rule == "malformed" || v.Rule == "too-complex" || v.Rule == "syntax" || v.Rule == "ambiguous"
}

// reprint parses and prints text, and reports whether the result means the
// same to the parser.
func reprint(text string) (string, bool) {
	parser := syntax.NewParser(syntax.Variant(syntax.LangBash))
	file, err := parser.Parse(strings.NewReader(text), "")
	if err != nil {
		return "", false
	}
	var b strings.Builder
	if err := syntax.NewPrinter().Print(&b, file); err != nil {
		return "", false
	}
	before := shape(file)
	again, err := parser.Parse(strings.NewReader(b.String()), "")
	if err != nil || shape(again) != before {
		return "", false
	}
	return b.String(), true
}

// shape writes the kinds of the nodes of a file and its literals.
func shape(file *syntax.File) string {
	var b strings.Builder
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			b.WriteString(n.Value)
		case *syntax.SglQuoted:
			b.WriteString(n.Value)
		}
		fmt.Fprintf(&b, "%T ", n)
		return true
	})
	return b.String()
}

// hangs is what no decision takes, on however busy a machine. What one promises
// is 50 ms, which the benchmarks show.
const hangs = 20 * time.Second

// TestWorstCases checks that texts made to be slow do not hang.
func TestWorstCases(t *testing.T) {
	policies, _ := corpus(t)
	ws := workspace(t, furnished)
	fill := func(s string) string { return strings.Repeat(s, (32<<10)/len(s)) }
	nest := func(a, b string, n int) string { return strings.Repeat(a, n) + "ls" + strings.Repeat(b, n) }
	for name, text := range map[string]string{
		"many commands": fill("ls;"), "many words": "cat " + fill("a "), "many globs": "cat " + fill("*?[a]"), "many paths": "cat " + fill("./a/b "),
		"braces": "echo " + fill("{a,b}"), "sequences": "echo " + fill("{1..99}"), "open brackets": fill("("), "open substitutions": fill("$("),
		"backquotes": fill("`"), "arithmetic": "(( " + fill("1+") + "1 ))", "parentheses": "((" + fill("(") + "))", "loops": strings.Repeat("for a in {1..30}; do ", 12) + "echo $a" + strings.Repeat("; done", 12),
		"functions": "f() { f; f; f; }; g() { f; f; }; h() { g; g; g; }; h; h; h", "doubling": "a() { b; b; }; b() { c; c; }; c() { d; d; }; d() { e; e; }; e() { g; g; }; g() { h; h; }; h() { i; i; }; i() { j; j; }; a",
		"evals": "eval " + fill("eval "), "nested sh": nest("sh -c '", "'", 8), "one word": "echo " + fill("a"), "quotes": fill(`"'`), "here": fill("cat <<E\n"), "sed": "sed '" + fill("s/[/]/x/;") + "'", "awk": "awk '" + fill("/a/ ") + "'",
		"assignments": fill("a=1 "), "taint": taintChain(), "stars": "cat " + strings.Repeat("*a", 400) + "/" + strings.Repeat("*a", 400), "pipes": "ls" + fill("|ls"), "filters": "ls" + fill("|sort"), "piped substitutions": "ls $(ls" + fill("|sort") + ")", "ands": "ls" + fill("&&ls"), "xargs": fill("xargs ") + "ls", "env": fill("env ") + "ls", "cds": fill("cd a;") + "ls", "cd chain": fill("cd a&&") + "ls", "ifs": strings.Repeat("if ls; then ", 2000) + strings.Repeat("fi;", 2000),
	} {
		for id, policy := range policies {
			p := policy.compile(t, ws)
			start := time.Now()
			checkVerdict(t, p.Decide(command.Request{Command: text[:min(len(text), 32<<10)], Dir: ws}))
			if took := time.Since(start); took > hangs {
				t.Errorf("%s under %s took %v", name, id, took)
			}
		}
	}
}

// taintChain assigns each of many variables from the next.
func taintChain() string {
	var b strings.Builder
	for b.Len() < 30<<10 {
		n := b.Len()
		b.WriteString("a" + strings.Repeat("x", n%7) + "=$b" + strings.Repeat("x", n%5) + ";")
	}
	return b.String()
}

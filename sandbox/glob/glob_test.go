package glob_test

import (
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/sandbox/glob"
)

func TestGlob(t *testing.T) {
	for _, c := range []struct{ pattern, yes, no string }{
		{"*", "a a/b .x", ""},
		{"a", "a x/a", "b ab a/b"},
		{"*.go", "a.go x/a.go .go", "a.gox go"},
		{"a*", "a abc x/ab", "ba"},
		{"a*b*c", "abc aXbYc abcbc", "ac ab abcb"},
		{"?", "a é 日 x/y", "ab"},
		{"[a-c]x", "ax bx", "dx x"},
		{"[!a-c]x", "dx éx", "ax x"},
		{"[^é]", "a e 日", "é"},
		{"[а-я]x", "жx", "zx"},
		{"*?é", "aé ééé", "é"},
		{"{a,b}", "a b x/a", "c {a,b}"},
		{"*.{go,{c,h}pp,t[xX]t}", "a.go a.cpp a.hpp a.tXt", "a.c a.pp"},
		{"{,x}a", "a xa", "ya"},
		{"{a}", "a", "{a}"},
		{`\{a\}\*`, "{a}*", "a {a}b"},
		{"src/*.go", "src/a.go", "a.go src/x/a.go y/src/a.go"},
		{"/a", "a", "x/a"},
		{"./a/*", "a/b", "x/a/b a"},
		{"**/*.go", "a.go x/a.go x/y/a.go", "a.c"},
		{"a/**", "a/b a/b/c", "a b"},
		{"a/**/b", "a/b a/x/b a/x/y/b", "ab a/bx x/a/b"},
		{"**/a/**/b.c", "a/b.c x/a/y/b.c", "a/b b.c"},
		{"a/*/c", "a/b/c", "a/c a/b/b/c"},
		{"a**b/c", "aXb/c ab/c", "a/b/c"},
		{"**", "a a/b", ""},
		{"{src,test}/**/*.{ts,js}", "src/a.ts test/x/y.js", "lib/a.ts src/a.go"},
		{"[[:digit:]]?", "1a", "a1"},
	} {
		g, err := glob.Compile(c.pattern)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, p := range strings.Fields(c.yes) {
			if !g.Match(p) {
				t.Errorf("%q does not match %q", c.pattern, p)
			}
		}
		for _, p := range strings.Fields(c.no) {
			if g.Match(p) {
				t.Errorf("%q matches %q", c.pattern, p)
			}
		}
	}
}

func TestGlobErrors(t *testing.T) {
	for _, c := range []struct{ pattern, want string }{
		{"", "empty"}, {"[a", "'[' without ']'"}, {"{a,b", "'{' without '}'"}, {"a}", "'}' without '{'"}, {`a\`, "escapes nothing"},
		{"[z-a]", "backwards"}, {"[[:nope:]]", "unknown set"}, {"src/", "src/**"}, {strings.Repeat("a", 5000), "most is 4096"},
		{strings.Repeat("{a,b}", 20), "more than 256"}, {strings.Repeat("{", 100) + strings.Repeat("}", 100), "more than 64 braces"},
	} {
		if _, err := glob.Compile(c.pattern); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.30q: got %v, want %q", c.pattern, err, c.want)
		}
	}
}

// Patterns on which a matcher that tries everything takes for ever.
func TestHostileGlobsEnd(t *testing.T) {
	deep := strings.Repeat(strings.Repeat("a", 200)+"/", 20) + "x"
	for _, pattern := range []string{
		strings.Repeat("a*", 100) + "b", strings.Repeat("*", 4000) + "b", strings.Repeat("**/", 500) + "b",
		strings.Repeat("**/a*", 300) + "b", strings.Repeat("?*", 500) + "b", strings.Repeat("*a/", 15) + "**/" + strings.Repeat("a*", 90) + "b",
	} {
		g, err := glob.Compile(pattern)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan bool, 1)
		go func() { done <- g.Match(deep) || g.Match(strings.Repeat("a", 4000)) }()
		select {
		case matched := <-done:
			if matched {
				t.Errorf("%.20q matched", pattern)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%.20q takes for ever", pattern)
		}
	}
}

// A pattern without slash, ** or braces means what path.Match says.
func FuzzGlob(f *testing.F) {
	for _, s := range []string{"a*b", "[a-c]?", `\*`, "[^a]*", "é?", "*[!x]日*", "{a,[}]}", "a/**/b", "[[:alpha:]]"} {
		f.Add(s, "aéb日")
		f.Add(s, "a/x/b")
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		g, err := glob.Compile(pattern)
		if err != nil {
			return
		}
		got := g.Match(name)
		if name == "" || strings.ContainsAny(pattern, "{}/![") || strings.Contains(name, "/") {
			return
		}
		if want, err := path.Match(pattern, name); err == nil && got != want && filepath.Separator == '/' {
			t.Errorf("%q %q: got %v, want %v", pattern, name, got, want)
		}
	})
}

package config

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolserver/toolserver/sandbox/command"
	"github.com/toolserver/toolserver/sandbox/pathguard"
)

func TestPathSlips(t *testing.T) {
	for entry, want := range map[string]string{
		"": "write .", "regex:.*": "glob", "re:x": "glob", `^secret`: "glob", `.*\.key$`: "glob", `\.key`: "wildcards only", `a\`: "wildcards only",
		"!keep": "other list", "a|b": "{a,b}", "file:///etc": "not a URL", "$HOME/x": "${NAME}", "~bob/x": "home directory", "a**b": "whole name",
		"***": "whole name", "/x/**.key": "whole name", "*/../x": "without", "*/./x": "without", "a*//b": "without", "[a": "']'", "{a,b": "'}'", "a}*": "'{'",
		"[z-a]": "backwards", "a\x00": "NUL", strings.Repeat("a", 5000): "longer than",
	} {
		if err := checkPath(entry); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", entry, err, want)
		}
	}
	for _, entry := range []string{
		".", "/", "..", "a b", "a{b}", "C#", "100%", "a+b", "price$", "@scope/x", "x(1)", "a,b", "a:b", "./~x", "./!x", "./$x", `\!x`, "été", "-x", "#x",
		"*.key", "**/*.key", "src/**/*.go", "/abs/**", "{a,b}/**/c", "{**/a,b/**}", ".*", `odd\[1\]`,
	} {
		if err := checkPath(entry); err != nil {
			t.Error(err)
		}
	}
}

func TestCommandSlips(t *testing.T) {
	for entry, want := range map[string]string{
		"": "program name", "  ": "program name", "git (": "plain words", "rm|ls": "plain words", "rm$": "plain words", "Bash(git:*)": "plain words", `\brm`: "plain words",
		"^rm": "regular expression", "rm.*": "regular expression", ".*": "regular expression", "regex:rm": "regular expression", " re:rm": "regular expression",
		"git push.*": "regular expression", "!rm": "other list", "git:*": `"git *"`, "git:* x": `"git *"`, "/rm/": "not a directory", "bin/": "not a directory",
		"/usr/*/rm": "write out the directory", "rm?": "only wildcard", "r[m]": "only wildcard", "{rm,ls}": "only wildcard", "git {push,pull}": "only wildcard", "* x": "stands alone",
	} {
		if err := checkCommand(entry); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", entry, err, want)
		}
	}
	for _, entry := range []string{
		"[", "[[", "test [", "g++", "python3.*", "git", "git *", "rm*", "./x", "/usr/bin/*", "go test ./...", "npm run test:*", "xargs -I {} echo", "7z", ".", ":", "a.b", "find -name *.go", "*", "* *", "!",
	} {
		if err := checkCommand(entry); err != nil {
			t.Error(err)
		}
	}
}

// FuzzCommandEntry: an entry that is accepted denies the words it consists of.
func FuzzCommandEntry(f *testing.F) {
	for _, s := range []string{"rm*", "git push*", "npm run test:*", "git *", "./x*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, entry string) {
		if checkCommand(entry) != nil || command.Words(entry)[0] == "*" {
			t.Skip()
		}
		p, err := command.Compile(command.Config{Denied: command.Rules(entry), Dir: "/"})
		if err != nil {
			t.Fatalf("%q is accepted and does not compile: %v", entry, err)
		}
		words := command.Words(entry)
		for i, w := range words {
			words[i] = "'" + strings.ReplaceAll(w, "*", "z") + "'"
		}
		if v := p.Decide(command.Request{Command: strings.Join(words, " "), Dir: "/"}); v.Allowed {
			t.Errorf("%q does not deny %q", entry, words)
		}
	})
}

// FuzzPathEntry: an entry that is accepted makes a guard, and one without wildcards denies
// what it names.
func FuzzPathEntry(f *testing.F) {
	for _, s := range []string{"*.key", "sub/**/*.key", "/abs/**", `a\*b`, "{a,b}/c", "**/x", "[!a]*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, entry string) {
		if checkPath(entry) != nil || !utf8.ValidString(entry) || len(entry) > 100 || strings.Count(entry, "{") > 2 {
			t.Skip()
		}
		g, err := pathguard.New("/w", pathguard.Rules{Deny: []string{entry}})
		if err != nil {
			t.Fatalf("%q is accepted and makes no guard: %v", entry, err)
		}
		if strings.ContainsAny(entry, `*?[{\`) {
			return
		}
		path := entry
		if !filepath.IsAbs(path) {
			path = filepath.Join("/w", path)
		}
		if _, denied := g.Denied(path); !denied {
			t.Errorf("%q does not deny itself", entry)
		}
	})
}

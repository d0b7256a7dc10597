package sandbox

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/sandbox/command"
)

// TestWords holds what words of a command name to the corpus: refused whatever
// the list of commands is, and not refused for nothing without one.
func TestWords(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths of commands are those of a POSIX shell")
	}
	dir := workspace(t)
	for name, content := range map[string]string{
		".env": "S=1", ".env.example": "S=", "sub/.env": "S=2", "a.txt": "a", "src/x.js": "1", "package.json": "{}", ".gitignore": "x", ".vscode/settings.json": "{}",
		"keys/id_rsa": "k", ".git/HEAD": "ref: refs/heads/main",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	corpus, err := os.ReadFile("../testdata/corpus/words.txt")
	if err != nil {
		t.Fatal(err)
	}
	paths := ToolPolicy{AllowedPaths: []string{dir}}
	policies := map[string]map[string]ToolPolicy{
		"no list":       {},
		"a deny list":   {"bash": {DeniedCommands: command.Rules("su"), InlineCode: "allow", OpaqueScripts: "allow"}},
		"an allow list": {"bash": {AllowedCommands: command.Rules("*"), InlineCode: "allow", OpaqueScripts: "allow"}},
		"all lists":     {"bash": {AllowedCommands: command.Rules("cat", "ls", "git log")}, "read_file": paths, "write_file": paths},
	}
	for name, tools := range policies {
		commands := newSandbox(t, Policy{WorkingDirectory: dir, Tools: tools}).For("bash").Commands()
		n := map[byte]int{}
		for line := range strings.Lines(string(corpus)) {
			sign, text := line[0], strings.ReplaceAll(strings.TrimSuffix(line[1:], "\n"), "⏎", "\n")
			if sign == '#' || sign == '+' && len(tools) > 0 {
				continue
			}
			n[sign]++
			v, _, err := commands.Decide(CommandRequest{Command: text})
			if err != nil || v.Allowed != (sign == '+') {
				t.Errorf("with %s: %s\nallowed %v (%s: %s), %v", name, text, v.Allowed, v.Rule, v.Reason, err)
			}
			if len(tools) == 0 && sign == '-' && v.Rule != "" && !strings.HasPrefix(v.Rule, "protected: ") {
				t.Errorf("with %s: %s: by %s: %s", name, text, v.Rule, v.Reason)
			}
		}
		if n['-'] < 200 || len(tools) == 0 && n['+'] < 60 {
			t.Errorf("only %d lines to refuse and %d not to", n['-'], n['+'])
		}
	}
}

//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// wordLines returns the lines of words.txt with this sign.
func wordLines(t *testing.T, sign byte) (commands []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "corpus", "words.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line[0] == sign {
			commands = append(commands, strings.ReplaceAll(strings.TrimSuffix(line[1:], "\n"), "⏎", "\n"))
		}
	}
	return commands
}

// TestWords runs commands that name a protected file, with the kernel's layers and
// where nothing but the text protects it, with lists of commands and without: each
// is refused. Commands whose words are text run.
func TestWords(t *testing.T) {
	t.Parallel()
	lists := map[string]string{
		"no list": "", "a deny list": "tools: {bash: {denied_commands: [su], inline_code: allow, opaque_scripts: allow}}\n",
		"an allow list": "tools: {bash: {allowed_commands: [cat, ls, grep, find, git]}}\n",
	}
	for _, without := range []string{"", "namespaces", "landlock,namespaces,seccomp"} {
		t.Run("without "+without, func(t *testing.T) {
			eachAccount(t, func(t *testing.T, who account) {
				for name, list := range lists {
					t.Run(name, func(t *testing.T) {
						g := newGround(t, who)
						for path, content := range map[string]string{
							".env": "S=" + fileSecret + "\n", ".env.example": "S=\n", "sub/.env": "S=" + fileSecret + "\n", "keys/id_rsa": fileSecret, "a.txt": "a\n", "src/x.js": "1\n",
							"package.json": "{}\n", ".gitignore": "x\n", ".git/HEAD": "ref: refs/heads/main\n", ".vscode/settings.json": "{}\n",
						} {
							g.file(path, content, 0o644)
						}
						b := g.open(setup{config: list, without: without})
						defer b.stop()
						for _, text := range wordLines(t, '-') {
							o := b.bash(text)
							if !o.failed || o.errorType != "denied" && o.errorType != "invalid_command" || strings.Contains(o.text, fileSecret) {
								t.Errorf("%s: %v", text, o)
							}
						}
						if list != "" {
							return
						}
						for _, text := range wordLines(t, '+') {
							if o := b.bash(text); o.errorType == "denied" || strings.Contains(o.text, fileSecret) {
								t.Errorf("%s: %v", text, o)
							}
						}
					})
				}
			})
		})
	}
}

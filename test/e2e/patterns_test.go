//go:build linux

package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A patternRow is an entry of a list, what it means, and what it does not: files below the
// working directory, or command lines. With neither, the entry is refused with its place,
// and the text says what to write. W is the working directory, O another one.
type patternRow struct{ entry, matched, others, says string }

var deniedPathRows = []patternRow{
	{entry: "*.key", matched: "a.key sub/deep/b.key .hidden/c.key", others: "a.txt sub/deep/b.txt"},
	{entry: "**/*.key", matched: "a.key sub/deep/b.key", others: "a.txt"},
	{entry: "W/*.key", matched: "a.key", others: "a.txt sub/deep/b.key"},
	{entry: "W/sub/**", matched: "sub/deep/b.key sub/deep/b.txt", others: "a.key a.txt"},
	{entry: "W/**/*.key", matched: "a.key sub/deep/b.key", others: "a.txt"},
	{entry: "a.key", matched: "a.key", others: "a.txt"},
	{entry: "./a.key", matched: "a.key", others: "a.txt"},
	{entry: "regex:.*", says: "write a glob"},
	{entry: "W/a.key", matched: "a.key", others: "a.txt"},
	{entry: "./*.key", matched: "a.key", others: "sub/deep/b.key"},
	{entry: "sub/", matched: "sub/deep/b.key", others: "a.key"},
	{entry: "sub", matched: "sub/deep/b.key", others: "a.key"},
	{entry: "sub/**/*.key", matched: "sub/deep/b.key", others: "a.key sub/deep/b.txt"},
	{entry: "sub/*/*.key", matched: "sub/deep/b.key", others: "a.key"},
	{entry: "s*", matched: "sub/deep/b.key sub/deep/b.txt", others: "a.key"},
	{entry: "**/deep", matched: "sub/deep/b.key", others: "a.key"},
	{entry: "d??p", matched: "sub/deep/b.txt", others: "a.txt"},
	{entry: "[a-b].key", matched: "a.key sub/deep/b.key", others: ".hidden/c.key"},
	{entry: "[!a].key", matched: "sub/deep/b.key", others: "a.key"},
	{entry: "*.{key,pem}", matched: "a.key sub/deep/b.key", others: "a.txt"},
	{entry: "{sub,none}/**", matched: "sub/deep/b.txt", others: "a.txt"},
	{entry: ".*", matched: ".hidden/c.key", others: "a.key"},
	{entry: "../work/*.key", matched: "a.key", others: "a.txt"},
	{entry: "odd\\\\{1\\\\}.txt", matched: "odd{1}.txt", others: "odd1.txt"},
	{entry: "*", matched: "a.key a.txt sub/deep/b.key"},
	{entry: "re:key", says: "write a glob"},
	{entry: "^.*key$", says: "write a glob"},
	{entry: ".*\\\\.key", says: "escapes wildcards only"},
	{entry: "!a.txt", says: "in the other list"},
	{entry: "a.key|b.key", says: "{a,b}"},
	{entry: "$HOME/a", says: "${NAME}"},
	{entry: "file:///a.key", says: "not a URL"},
	{entry: "**.key", says: "whole name"},
	{entry: "*/../a.key", says: "without ., .. and //"},
	{entry: "[a.key", says: "']'"},
	{entry: "{a,b.key", says: "'}'"},
	{entry: "", says: "write . for the working directory"},
}

var deniedCommandRows = []patternRow{
	{entry: "touch*", matched: "touch x;env touch x;COMPUTED touch", others: "ls"},
	{entry: "t*h", matched: "touch x;COMPUTED touch", others: "ls;tr a b < a.txt"},
	{entry: "touch *", matched: "touch x;COMPUTED touch", others: "ls"},
	{entry: "git push*", matched: "git push;git push origin main", others: "git --version;git status --short || ls"},
	{entry: "git push *", matched: "git push;git push origin main", others: "git --version"},
	{entry: "git push:*", matched: "git push", others: "git --version"},
	{entry: "npm run test:*", matched: "npm run test:unit;npm run test", others: "ls"},
	{entry: "git:*", says: `write "git *"`},
	{entry: "^touch", says: "not a regular expression"},
	{entry: "/touch/", says: "not a directory"},
	{entry: "regex:touch", says: "not a regular expression"},
	{entry: "touch.*", says: "not a regular expression"},
	{entry: "touch$", says: "plain words"},
	{entry: "git (", says: "plain words"},
	{entry: "t?uch", says: "only wildcard"},
	{entry: "!touch", says: "in the other list"},
	{entry: "*", says: "allowed_commands: []"},
	{entry: "", says: "write a program name"},
}

// TestDeniedPatterns: every spelling of a deny either denies what it means, to file tools, by
// the text of a command and to programs that compute names, or is refused. Each comes with a
// reload, as it does to an operator who tries.
func TestDeniedPatterns(t *testing.T) {
	t.Parallel()
	eachAccount(t, func(t *testing.T, who account) {
		for _, without := range []string{"", "namespaces"} {
			if without != "" && who.id == 0 {
				continue // nothing in it depends on rights
			}
			t.Run("without "+without, func(t *testing.T) {
				t.Parallel()
				g := newGround(t, who)
				for _, name := range []string{"a.key", "a.txt", "sub/deep/b.key", "sub/deep/b.txt", ".hidden/c.key", "odd{1}.txt", "odd1.txt"} {
					g.file(name, "content of "+name+"\n", 0o644)
				}
				p := &patterns{ground: g, file: filepath.Join(g.dir, "config.yaml"), without: without}
				g.configure(p.file, "")
				p.box = g.open(setup{file: p.file, without: without})
				for _, row := range deniedPathRows {
					p.paths(row)
				}
				for _, row := range deniedCommandRows {
					p.commands(row)
				}
				p.box.stop()
			})
		}
	})
}

type patterns struct {
	*ground
	box     *box
	file    string
	without string
	reloads int
}

// reload puts a configuration into force, unless it is refused with the place of the entry.
func (p *patterns) reload(key string, row patternRow, others string) bool {
	p.t.Helper()
	entry := strings.NewReplacer("W/", p.work+"/").Replace(row.entry)
	tool, list, _ := strings.Cut(key, ".")
	p.configure(p.file, fmt.Sprintf("tools: {%s: {%s: [\"%s\"]}%s}\n# %d\n", tool, list, entry, others, p.reloads))
	p.reloads++
	eventually(p.t, "the configuration is read", func() bool {
		return strings.Count(p.box.log(), "configuration reloaded")+strings.Count(p.box.log(), "the old one stays in force") >= p.reloads
	})
	if row.says == "" && p.without != "" {
		return true // what check says of what is accepted does not depend on layers, and takes its time
	}
	report, code := p.run(setup{file: p.file, without: p.without, command: []string{"check"}})
	if row.says != "" {
		if place := fmt.Sprintf("config.yaml:2:%d: tools.%s[0]: ", len("tools: {: {: [")+len(tool)+len(list)+1, key); code == 0 || !strings.Contains(report, place) || !strings.Contains(report, row.says) {
			p.t.Errorf("%s %q: want %q and %q, got %s", key, row.entry, place, row.says, report)
		}
		return false
	}
	if strings.Contains(report, "fail configuration") {
		p.t.Errorf("%s %q: %s", key, row.entry, report)
	}
	return true
}

func (p *patterns) paths(row patternRow) {
	p.t.Helper()
	if !p.reload("read_file.denied_paths", row, "") {
		return
	}
	for _, name := range slices.Concat(strings.Fields(row.matched), strings.Fields(row.others)) {
		denied := slices.Contains(strings.Fields(row.matched), name)
		content := "content of " + name
		if o := p.box.call("read_file", map[string]any{"path": name}); o.failed != denied || denied == strings.Contains(o.text, content) || denied && o.errorType != "denied" {
			p.t.Errorf("deny %q: read_file %s: %v", row.entry, name, o)
		}
		if o := p.box.bash("cat '" + name + "'"); o.failed != denied || denied == strings.Contains(o.text, content) {
			p.t.Errorf("deny %q: cat %s: %v", row.entry, name, o)
		}
		if _, code := p.run(setup{file: p.file, without: p.without, command: []string{"explain", "bash", "cat '" + name + "'"}}); (code != 0) != denied {
			p.t.Errorf("deny %q: explain bash cat %s: exit code %d", row.entry, name, code)
		}
		if p.without != "" {
			continue // only the mount namespace hides a file whose name is computed
		}
		if o := p.box.bash(fmt.Sprintf(`perl -e 'open F, "<", pack("H*", $ARGV[0]) or exit 1; print <F>' %x`, name)); o.failed != denied || denied == strings.Contains(o.text, content) {
			p.t.Errorf("deny %q: perl %s: %v", row.entry, name, o)
		}
	}
}

func (p *patterns) commands(row patternRow) {
	p.t.Helper()
	if !p.reload("bash.denied_commands", row, "") {
		return
	}
	for text := range strings.SplitSeq(row.matched+";"+row.others, ";") {
		denied := slices.Contains(strings.Split(row.matched, ";"), text)
		if program, computed := strings.CutPrefix(text, "COMPUTED "); computed {
			if p.without != "" {
				continue // only the mount namespace hides a program
			}
			p.reload("bash.denied_commands", row, ", execute_command: {inline_code: allow, opaque_scripts: allow}")
			text = fmt.Sprintf(`perl -e '$p = pack("H*", $ARGV[0]); exec {$p} $p, "made" or exit 1' %x`, program)
		} else if text == "" {
			continue
		} else if _, code := p.run(setup{file: p.file, without: p.without, command: []string{"explain", "bash", text}}); (code != 0) != denied {
			p.t.Errorf("deny %q: explain bash %s: exit code %d", row.entry, text, code)
		}
		if o := p.box.bash(text); o.failed != denied {
			p.t.Errorf("deny %q: %s: %v", row.entry, text, o)
		}
	}
}

// TestAllowedPatterns: an allow with wildcards allows what it means, also to a server whose
// configuration is elsewhere.
func TestAllowedPatterns(t *testing.T) {
	t.Parallel()
	eachAccount(t, func(t *testing.T, who account) {
		g := newGround(t, who)
		for _, name := range []string{"src/a/x.go", "src/y.go", "src/a/x.js", "docs/d.md", "e.txt", "lib/x.sh"} {
			g.file(name, "content of "+name+"\n", 0o644)
		}
		b := g.open(setup{config: `
tools:
  read_file: {allowed_paths: [src/**/*.go, "*.md"]}
  write_file: {allowed_paths: [output, "*.tmp"]}
  bash: {allowed_commands: ["git *", "npm run test:*", "go test ./...", "l*", cat]}
`})
		for name, want := range map[string]bool{"src/a/x.go": true, "src/y.go": true, "docs/d.md": true, "src/a/x.js": false, "e.txt": false, "lib/x.sh": false} {
			if o := b.call("read_file", map[string]any{"path": name}); o.failed == want {
				t.Errorf("read_file %s: %v", name, o)
			}
		}
		if o := b.call("grep", map[string]any{"pattern": "content"}); o.failed || !strings.Contains(o.text, "src/a/x.go") || !strings.Contains(o.text, "docs/d.md") || strings.Contains(o.text, "x.js") || strings.Contains(o.text, "e.txt") {
			t.Errorf("grep: %v", o)
		}
		if o := b.call("list_directory", map[string]any{"path": "."}); o.failed || !strings.Contains(o.text, "src") || strings.Contains(o.text, "e.txt") {
			t.Errorf("list_directory: %v", o)
		}
		for name, want := range map[string]bool{"output/x": true, "a/b.tmp": true, "src/z.go": false} {
			if o := b.call("write_file", map[string]any{"path": name, "content": "x"}); o.failed == want {
				t.Errorf("write_file %s: %v", name, o)
			}
		}
		for text, want := range map[string]bool{
			"git --version": true, "git stash --help | cat": true, "ls": true, "npm run build": false, "go test ./other": false, "rm e.txt": false,
			"cat src/a/x.go": true, "cat src/a/x.js": false, "cat src/a/*": false, "cat src/*/*.go": true, "cat e.txt": false, "ls > out.txt": false, "ls > out.tmp": true,
		} {
			text, code := text, 0
			if strings.HasPrefix(text, "git stash") {
				_, code = g.run(setup{file: filepath.Join(g.dir, "config.yaml"), command: []string{"explain", "bash", text}})
				if code != 0 {
					t.Errorf("explain bash %s: exit code %d", text, code)
				}
				continue
			}
			if o := b.bash(text); o.failed == want {
				t.Errorf("%s: %v", text, o)
			}
		}
		b.stop()
	})
}

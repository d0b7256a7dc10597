//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A workedPolicy is a policy of docs/policies.md, and the calls that show it.
type workedPolicy struct {
	name  string
	yaml  string
	calls []workedCall
}

// A workedCall is a row of its table.
type workedCall struct {
	tool, argument string
	result         string // allowed; refused, so that nothing runs; or stopped, which ran and failed
	says           string // part of the answer, unless it is allowed
}

var (
	workedRow  = regexp.MustCompile("^\\| (\\w+) \\| `(.+)` \\| (allowed|refused|stopped) \\| (?:`(.+)` )?\\|$")
	workedHead = regexp.MustCompile(`^\| tool \||^\|---\|`)
)

// workedPolicies reads the policies from the page, so that it cannot say what is
// not so. It takes no row that it does not understand for prose.
func workedPolicies(t *testing.T) (list []*workedPolicy) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "policies.md"))
	if err != nil {
		t.Fatal(err)
	}
	var p *workedPolicy
	inYAML := false
	for line := range strings.Lines(string(page)) {
		text := strings.TrimSuffix(line, "\n")
		title, isTitle := strings.CutPrefix(text, "## ")
		switch row := workedRow.FindStringSubmatch(text); {
		case inYAML && text == "```":
			inYAML = false
		case inYAML:
			p.yaml += line
		case text == "```yaml":
			inYAML = true
		case isTitle:
			p = &workedPolicy{name: title}
			list = append(list, p)
		case row != nil:
			p.calls = append(p.calls, workedCall{row[1], strings.ReplaceAll(row[2], `\|`, "|"), row[3], row[4]})
		case strings.Contains(text, "|") && !workedHead.MatchString(text):
			t.Errorf("not understood: %s", text)
		}
	}
	return list
}

// workedFiles are those that the page speaks of, below /srv, and a home directory of
// somebody who has set up git.
var workedFiles = map[string]string{
	"project/README.md":          "# Project\n",
	"project/.env":               "TOKEN=1\n",
	"project/.gitignore":         ".env\n",
	"project/docs/notes.md":      "a note\n",
	"project/docs/archive/2024":  "old\n",
	"project/data/sales.csv":     "month,sum\nmay,1\njune,2\n",
	"project/results/.keep":      "",
	"project/build/.keep":        "",
	"project/fetch.py":           "import urllib.request\nurllib.request.urlopen('http://192.0.2.1/')\n",
	"project/leak.py":            "print(open('.env').read())\n",
	"project/spawn.py":           "import subprocess\nsubprocess.run(['/bin/rm', 'README.md'], check=True)\n",
	"project/stray.py":           "open('docs/stray.txt', 'w')\n",
	"project/go.mod":             "module example\n\ngo 1.21\n",
	"project/add.go":             "package example\n\nfunc Add(a, b int) int { return a + b }\n",
	"project/hello/hello.c":      "#include <stdio.h>\n\nint main(void) { return puts(\"hello\") < 0; }\n",
	"project/test.js":            "require('assert').equal(1 + 1, 2)\n",
	"project/build.js":           "const fs = require('fs')\nfs.mkdirSync('dist', {recursive: true})\nfs.writeFileSync('dist/out.js', '')\n",
	"project/fetch.js":           "fetch('http://192.0.2.1/')\n",
	"project/migrations/001.sql": "create table t (a int);\n",
	"project/scripts/deploy.sh":  "#!/bin/sh\necho deployed\n",
	"project/scripts/install.sh": "#!/bin/sh\nsu -c ls\n",
	"data/sales.csv":             "month,sum\n",
	"data/customers/list.csv":    "name\n",
	"project/total.py": `import csv
total = sum(int(row['sum']) for row in csv.DictReader(open('data/sales.csv')))
open('results/total.txt', 'w').write(f'{total}\n')
`,
	"project/add_test.go": `package example

import "testing"

func TestAdd(t *testing.T) {
	if Add(1, 2) != 3 {
		t.Fatal("wrong")
	}
}
`,
	"project/package.json": `{
  "name": "example", "version": "1.0.0", "private": true,
  "scripts": {"test": "node test.js", "build": "node build.js"}
}
`,
	"project/serve.js": `const http = require('http')
const server = http.createServer((request, answer) => answer.end('served'))
server.listen(0, '127.0.0.1', () => http.get({port: server.address().port}, () => server.close()).on('error', e => { throw e }))
`,
	"home/.gitconfig":  "[include]\n\tpath = git/more\n[core]\n\texcludesFile = ~/git/ignored\n",
	"home/git/more":    "[alias]\n\tst = status --short\n",
	"home/git/ignored": "*.bak\n",
	"project/Makefile": `build/hello: hello/hello.c
	cc -o $@ $<
migrate:
	echo "drop table t" >> migrations/001.sql
customers:
	cp ../data/customers/list.csv build/
`,
}

// workedGround makes what the page calls /srv. It is not below /tmp, which one of
// the policies lets tools write.
func workedGround(t *testing.T) string {
	t.Helper()
	srv, err := os.MkdirTemp("/var/tmp", "policies")
	if err == nil {
		t.Cleanup(func() { os.RemoveAll(srv) })
		srv, err = filepath.EvalSymlinks(srv)
	}
	for name, text := range workedFiles {
		path, mode := filepath.Join(srv, name), os.FileMode(0o644)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o755
		}
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o755)
		}
		if err == nil {
			err = os.WriteFile(path, []byte(text), mode)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"init", "-q", "."}, {"config", "user.name", "Somebody"}, {"config", "user.email", "somebody@example.com"},
		{"add", "README.md", ".gitignore"}, {"commit", "-qm", "first"},
	} {
		git := exec.Command("git", args...)
		git.Dir, git.Env = filepath.Join(srv, "project"), workedEnv(srv)
		if b, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, b)
		}
	}
	return srv
}

// workedEnv is the environment of the server.
func workedEnv(srv string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(srv, "home")}
}

// workedCommand runs a command of the binary, with the policy in file.
func workedCommand(t *testing.T, file string, args ...string) (output string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary(), append([]string{"--config", file, "--dir", filepath.Dir(file)}, args...)...)
	cmd.Dir, cmd.Env = "/", workedEnv(filepath.Dir(filepath.Dir(file)))
	b, err := cmd.CombinedOutput()
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		t.Fatal(err)
	}
	return string(b), cmd.ProcessState.ExitCode()
}

// TestPolicies does what docs/policies.md shows, with the policies as they stand
// there, and compares what explain says beforehand. It takes long because go test compiles
// the standard library in the sandbox, where no cache of others is.
func TestPolicies(t *testing.T) {
	t.Parallel()
	list := workedPolicies(t)
	if len(list) != 10 {
		t.Fatalf("docs/policies.md has %d policies", len(list))
	}
	bare := filepath.Join(t.TempDir(), "toolserver.yaml")
	if err := os.WriteFile(bare, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if report, code := workedCommand(t, bare, "check"); code != 0 {
		t.Skipf("not every layer is in force here:\n%s", report)
	}
	for _, p := range list {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.test(t)
		})
	}
}

func (p *workedPolicy) test(t *testing.T) {
	results := map[string]int{}
	for _, c := range p.calls {
		results[c.result]++
		if (c.result == "allowed") != (c.says == "") {
			t.Errorf("%s %s is %s and says %q", c.tool, c.argument, c.result, c.says)
		}
	}
	if p.yaml == "" || results["allowed"] == 0 || results["refused"] == 0 {
		t.Fatalf("a policy needs YAML, and calls that are allowed and refused: %v", results)
	}
	if n := strings.Count(p.yaml, "\n"); n > 20 {
		t.Errorf("the YAML has %d lines: nobody reads so much", n)
	}
	srv := workedGround(t)
	note := filepath.Join("/tmp", filepath.Base(srv)+".txt")
	t.Cleanup(func() { os.Remove(note) })
	here := strings.NewReplacer("/srv/", srv+"/", "/tmp/note.txt", note)
	project := filepath.Join(srv, "project")
	file := filepath.Join(project, "toolserver.yaml")
	if err := os.WriteFile(file, []byte(here.Replace(p.yaml)), 0o600); err != nil {
		t.Fatal(err)
	}
	if report, code := workedCommand(t, file, "check"); code != 0 {
		t.Fatalf("this machine has every layer, but not for this policy:\n%s", report)
	}
	s := startAs(t, binary(), workedEnv(srv), "--config", file, project)
	late := time.AfterFunc(20*time.Minute, func() {
		t.Error("the server does not answer")
		s.cmd.Process.Kill()
	})
	defer late.Stop()
	for _, c := range p.calls {
		c.argument, c.says = here.Replace(c.argument), here.Replace(c.says)
		c.explained(t, file)
		c.made(s)
	}
	for _, name := range []string{"project/.env", "project/migrations/001.sql", "data/sales.csv", "data/customers/list.csv"} {
		if b, err := os.ReadFile(filepath.Join(srv, name)); err != nil || string(b) != workedFiles[name] {
			t.Errorf("%s has changed: %q, %v", name, b, err)
		}
	}
}

// arguments returns those of the call, and the same for the command line.
func (c workedCall) arguments() (arguments map[string]any, line []string) {
	switch c.tool {
	case "bash", "execute_command":
		return map[string]any{"command": c.argument, "timeout": 600}, []string{"--command", c.argument}
	case "write_file", "append_file":
		return map[string]any{"path": c.argument, "content": "1\n"}, []string{"--path", c.argument, "--content", "1"}
	}
	return map[string]any{"path": c.argument}, []string{"--path", c.argument}
}

// explained holds explain to the row: it knows what is allowed and refused, and
// not what a program will run into.
func (c workedCall) explained(t *testing.T, file string) {
	t.Helper()
	_, line := c.arguments()
	text, code := workedCommand(t, file, append([]string{"explain", c.tool}, line...)...)
	verdict, says, want := "verdict:  allowed", "", 0
	if c.result == "refused" {
		verdict, says, want = "verdict:  denied", c.says, 1
	}
	if code != want || !strings.Contains(text, verdict) || !strings.Contains(text, says) {
		t.Errorf("explain %s %s: exit code %d, want %d, %s, %q:\n%s", c.tool, c.argument, code, want, verdict, says, text)
	}
}

// made makes the call.
func (c workedCall) made(s *toolClient) {
	s.t.Helper()
	arguments, _ := c.arguments()
	a := s.call(c.tool, arguments)
	all, err := json.Marshal(a)
	if err != nil {
		s.t.Fatal(err)
	}
	got := "allowed"
	switch errorType, _ := a.Result.StructuredContent["error_type"].(string); {
	case a.Error != nil && a.Error.Code == -32004, errorType == "denied":
		got = "refused"
	case errorType == "exit_status":
		got = "stopped"
	case a.Error != nil || a.Result.IsError:
		got = "broken"
	}
	if got != c.result || !strings.Contains(a.text(), c.says) {
		s.t.Errorf("%s %s is %s, want %s that says %q:\n%s", c.tool, c.argument, got, c.result, c.says, all)
	}
}

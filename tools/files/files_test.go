package files_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/files"
)

// bench is a working directory with the tools over it.
type bench struct {
	dir   string // canonical
	tools map[string]domain.Tool
}

// newBench returns tools that may use a new directory; change may widen or
// narrow that.
func newBench(t testing.TB, from declare.From[files.Options], change func(*sandbox.Policy)) bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	p := sandbox.Policy{WorkingDirectory: work, Tools: map[string]sandbox.ToolPolicy{}}
	if change != nil {
		change(&p)
	}
	b := bench{dir: work, tools: map[string]domain.Tool{}}
	from.Sandbox = tooltest.Sandbox(t, p, files.Family().Declared())
	for _, tool := range tooltest.Tools(t, files.Family(), from) {
		tool.Disabled = false // as delete_file is by default
		b.tools[tool.Name] = tool
	}
	return b
}

// deny adds denied paths, relative to the working directory, for all tools.
func deny(paths ...string) func(*sandbox.Policy) {
	return func(p *sandbox.Policy) {
		var denied []string
		for _, path := range paths {
			denied = append(denied, filepath.Join(p.WorkingDirectory, path))
		}
		for _, tool := range []string{"read_file", "write_file"} {
			p.Tools[tool] = sandbox.ToolPolicy{DeniedPaths: denied}
		}
	}
}

// put writes files, given as name and content in turn; a name that ends in a
// slash makes a directory.
func (b bench) put(t testing.TB, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		path := filepath.Join(b.dir, pairs[i])
		if strings.HasSuffix(pairs[i], "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(pairs[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (b bench) get(t testing.TB, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func (b bench) call(t testing.TB, tool, args string) domain.ToolResult {
	t.Helper()
	return tooltest.Call(t, b.tools[tool], args)
}

func (b bench) run(t *testing.T, tool string, cases []tooltest.Case) {
	t.Helper()
	tooltest.Run(t, b.tools[tool], cases)
}

func TestTools(t *testing.T) {
	for _, create := range []bool{false, true} {
		b := newBench(t, declare.From[files.Options]{Settings: declare.Settings{"write_file": &files.WriteSettings{CreateDirs: &create}}}, nil)
		if len(b.tools) != 13 {
			t.Errorf("%d tools; want 13", len(b.tools))
		}
		for _, tool := range b.tools {
			if tool.Category != "file" {
				t.Errorf("%s: category %s", tool.Name, tool.Category)
			}
		}
		for _, p := range b.tools["write_file"].Input.Params() {
			if p.Name == "create_dirs" && p.Default != create {
				t.Errorf("create_dirs: default %v; want %v", p.Default, create)
			}
		}
	}
}

// TestGuarded calls every tool with paths that lead out of what is allowed.
func TestGuarded(t *testing.T) {
	b := newBench(t, declare.From[files.Options]{}, deny("secret"))
	b.put(t, "in.txt", "in\n", "secret/key", "TOP SECRET\n", "../outside/out.txt", "TOP SECRET\n", "../work-evil/x", "TOP SECRET\n")
	for name, target := range map[string]string{"out": "../outside", "out.txt": "../outside/out.txt", "key": "secret/key", "abs": b.dir + "/in.txt"} {
		if err := os.Symlink(target, filepath.Join(b.dir, name)); err != nil {
			t.Skip(err)
		}
	}
	args := map[string]string{
		"read_file": ``, "list_directory": ``, "search_files": ``, "grep": `,"pattern":"SECRET"`,
		"write_file": `,"content":"x"`, "append_file": `,"content":"x"`, "edit_file": `,"edits":[{"old_text":"TOP","new_text":"x"}]`,
		"create_directory": ``,
	}
	for _, path := range []string{
		"../outside/out.txt", "out/out.txt", "out.txt", "secret/key", "secret", "key", "secret/none", "../work-evil/x",
		"../work-evil", "/etc/passwd", "/nonexistent", "..", "../../../../../../etc/passwd", b.dir + "-evil/x", "/proc/self/environ", "/dev/zero",
	} {
		for tool, more := range args {
			res := b.call(t, tool, `{"path":"`+path+`"`+more+`}`)
			text := tooltest.Text(res)
			if res.ErrorType() != "denied" {
				t.Errorf("%s(%s): %q is no refusal: %s", tool, path, res.ErrorType(), text)
			}
			if strings.Contains(text, "TOP") {
				t.Errorf("%s(%s) leaks: %s", tool, path, text)
			}
		}
	}
	b.run(t, "read_file", []tooltest.Case{
		{Name: "link inside", Args: `{"path":"abs"}`, Exact: "in\n"},
		{Name: "what is allowed", Args: `{"path":"/etc/passwd"}`, Wants: []string{"outside the allowed paths", b.dir}, ErrorType: "denied"},
		{Name: "rule", Args: `{"path":"secret/key"}`, Wants: []string{"denied by the rule", b.dir + "/secret"}, ErrorType: "denied"},
	})
	if got := b.get(t, "../outside/out.txt") + b.get(t, "secret/key"); got != "TOP SECRET\nTOP SECRET\n" {
		t.Errorf("a file that is denied was changed: %q", got)
	}
	for tool, args := range map[string]string{
		"list_directory": `{"recursive":true}`, "search_files": `{"pattern":"**"}`, "grep": `{"pattern":"SECRET"}`,
	} {
		text := tooltest.Text(b.call(t, tool, args))
		for _, hidden := range []string{`"secret"`, `"path":"secret`, `"secret/key",`, "TOP"} {
			if strings.Contains(text, hidden) {
				t.Errorf("%s shows %s, which is denied: %s", tool, hidden, text)
			}
		}
	}
}

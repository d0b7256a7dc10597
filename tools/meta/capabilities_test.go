package meta_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/meta"
)

type refreshTest struct {
	dir   string
	tools []*domain.Tool
	c     meta.Refresh
}

func newRefreshTest(t *testing.T) *refreshTest {
	t.Helper()
	r := &refreshTest{dir: t.TempDir()}
	box := tooltest.Sandbox(t, sandbox.Policy{WorkingDirectory: r.dir}, meta.Family(meta.Server{}).Declared())
	for _, tool := range []domain.Tool{
		{Name: "read_file", Category: "file", Ability: "read text, Word and Excel files and images"}, {Name: "grep", Category: "file", Ability: "search the content of files"},
		{Name: "bash", Category: "shell", Ability: "run shell commands within the sandbox, also in the background"}, {Name: "own_thing", Category: "custom"},
		{Name: "mail__send_it", Category: "mcp"}, {Name: "mail__list_all", Category: "mcp"}, {Name: "chat__post", Category: "mcp"},
	} {
		tool.Description = "Does things: " + tool.Name
		r.tools = append(r.tools, &tool)
	}
	r.c = meta.Refresh{Catalog: func(domain.Principal) []*domain.Tool { return r.tools }, Files: box.For(meta.RefreshName).Writer(), Headings: map[string]string{"file": "Files", "shell": "Commands"}}
	return r
}

func (r *refreshTest) file(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(r.dir, "capabilities.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (r *refreshTest) write(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, "capabilities.md"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const internalLines = `## Internal capabilities

- **Custom** — 1 tool(s)
- **Files** — search the content of files; read text, Word and Excel files and images
- **Commands** — run shell commands within the sandbox, also in the background
`

func TestRefresh(t *testing.T) {
	r := newRefreshTest(t)
	tool := meta.RefreshTool(r.c)
	res := tooltest.Call(t, tool, `{}`)
	first := r.file(t)
	if !strings.HasPrefix(first, "---\nloading: always\nagent-modification: true\n---\n\n# Capabilities\n\n*Generated ") ||
		!strings.HasSuffix(first, internalLines+"\n## External capabilities (MCP servers)\n\n- **chat** — 1 tool(s)\n- **mail** — 2 tool(s)\n") {
		t.Errorf("file:\n%s", first)
	}
	for _, tool := range r.tools {
		if strings.Contains(first, tool.Name) {
			t.Errorf("the summary names %s", tool.Name)
		}
	}
	if text := res.Content[0].Text; !strings.HasPrefix(text, "Summarized 7 tool(s) in capabilities.md.\n\n# Capabilities\n") {
		t.Errorf("text:\n%s", text)
	}
	other := newRefreshTest(t)
	tooltest.Call(t, meta.RefreshTool(other.c), `{}`)
	tooltest.Call(t, tool, `{}`)
	if again := r.file(t); again != first || other.file(t) != first {
		t.Errorf("the same catalog gives another file:\n%s", again)
	}
	tooltest.Call(t, tool, `{"include_mcp":false}`)
	if without := r.file(t); strings.Contains(without, "External") || !strings.HasSuffix(without, internalLines) {
		t.Errorf("without other servers:\n%s", without)
	}
}

func TestFrontMatter(t *testing.T) {
	for name, test := range map[string]struct{ old, matter string }{
		"kept":      {"---\nloading: never # mine\nx: [1,\n 2]\n---\nold text\n", "---\nloading: never # mine\nx: [1,\n 2]\n---\n"},
		"windows":   {"---\r\na: 1\r\n---\r\n\r\nold", "---\r\na: 1\r\n---\r\n\r\n"},
		"only":      {"---\na: 1\n---", "---\na: 1\n---\n"},
		"dots":      {"---\na: 1\n...\n\n\nold", "---\na: 1\n...\n\n\n"},
		"bom":       {"\ufeff---\na: 1\n---\nold", "\ufeff---\na: 1\n---\n"},
		"empty":     {"", "---\nloading: always\nagent-modification: true\n---\n\n"},
		"ours":      {"# Capabilities\n\nold\n", "---\nloading: always\nagent-modification: true\n---\n\n"},
		"a comment": {"---\n# Capabilities\n---\nx", "---\n# Capabilities\n---\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRefreshTest(t)
			r.write(t, test.old)
			tooltest.Call(t, meta.RefreshTool(r.c), `{}`)
			got := r.file(t)
			if !strings.HasPrefix(got, test.matter+"# Capabilities\n") || strings.Contains(got, "old") {
				t.Errorf("%q", got)
			}
			tooltest.Call(t, meta.RefreshTool(r.c), `{}`)
			if r.file(t) != got {
				t.Errorf("not the same twice: %q", r.file(t))
			}
		})
	}
}

func TestForeignFile(t *testing.T) {
	r := newRefreshTest(t)
	r.write(t, "my notes\n")
	tooltest.Run(t, meta.RefreshTool(r.c), []tooltest.Case{
		{Name: "not ours", Fail: true, ErrorType: "already_exists", Want: "nothing was written"},
	})
	if r.file(t) != "my notes\n" {
		t.Errorf("%q", r.file(t))
	}
	r.c.File = filepath.Join(r.dir, "capabilities.md")
	tooltest.Call(t, meta.RefreshTool(r.c), `{}`)
	if !strings.Contains(r.file(t), "# Capabilities") {
		t.Error("a file that is configured was not written")
	}
	r.c.File = filepath.Join(filepath.Dir(r.dir), "outside.md")
	tooltest.Run(t, meta.RefreshTool(r.c), []tooltest.Case{{Name: "outside", Fail: true, ErrorType: "denied", Want: "outside.md"}})
}

func TestWording(t *testing.T) {
	const good = `Here: {"internal":[{"theme":"Reading","summary":"Reads and finds things."}],"external":{"mail":[{"theme":"Post","summary":"Sends letters."}]}}`
	for name, test := range map[string]struct {
		answer, wording, want string
		err                   error
	}{
		"model":         {answer: good, wording: "model", want: "- **Reading** — Reads and finds things.\n\n## External capabilities (MCP servers)\n\n- **chat** — 1 tool(s)\n### mail\n\n- **Post** — Sends letters.\n"},
		"names a tool":  {answer: `{"internal":[{"theme":"x","summary":"Use read_file."}]}`, wording: "static", want: "- **Files**"},
		"bare name":     {answer: `{"internal":[{"theme":"x","summary":"Use send_it now"}]}`, wording: "static", want: "- **Files**"},
		"ordinary word": {answer: `{"internal":[{"theme":"x","summary":"Can post things."}]}`, wording: "model", want: "Can post things."},
		"our own word":  {answer: `{"internal":[{"theme":"x","summary":"Can Grep things."}]}`, wording: "static", want: "- **Files**"},
		"lines":         {answer: `{"internal":[{"theme":"x","summary":"a\n## b"}]}`, wording: "static", want: "- **Files**"},
		"long":          {answer: `{"internal":[{"theme":"x","summary":"` + strings.Repeat("a", 301) + `"}]}`, wording: "static", want: "- **Files**"},
		"nothing":       {answer: `{}`, wording: "static", want: "- **Files**"},
		"no json":       {answer: `I will not`, wording: "static", want: "- **Files**"},
		"error":         {err: errors.New("overloaded"), wording: "static", want: "- **Files**"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRefreshTest(t)
			asked := 0
			r.c.Ask = func(_ context.Context, system, message string) (string, error) {
				asked++
				if !strings.Contains(message, "mail__send_it") || system == "" {
					t.Errorf("asked %q", message)
				}
				return test.answer, test.err
			}
			res := tooltest.Call(t, meta.RefreshTool(r.c), `{}`)
			first := r.file(t)
			if !strings.Contains(first, test.want) || !strings.Contains(fmt.Sprintf("%+v", res.Results), "Wording:"+test.wording) {
				t.Errorf("%+v\n%s", res.Results, first)
			}
			tooltest.Call(t, meta.RefreshTool(r.c), `{}`)
			if r.file(t) != first {
				t.Error("not the same twice")
			}
			if test.wording == "model" && asked != 1 {
				t.Errorf("the model was asked %d times for one catalog", asked)
			}
		})
	}
}

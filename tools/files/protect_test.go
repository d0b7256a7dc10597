package files_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/files"
)

// TestProtected has no rule but those that are always there.
func TestProtected(t *testing.T) {
	b := newBench(t, declare.From[files.Options]{}, nil)
	b.put(t, ".env", "needle\n", "sub/.env.local", "needle\n", ".ssh/id", "needle\n", "a.txt", "needle\n", ".env.example", "needle\n", ".git/hooks/x.sample", "needle\n")
	const refused = "denied"
	b.run(t, "grep", []tooltest.Case{
		{Name: "tree", Args: `{"pattern":"needle","mode":"files","include_hidden":true,"gitignore":false}`,
			Exact: ".env.example\n.git/hooks/x.sample\na.txt\n[3 protected files or directories were not searched]"},
		{Name: "not hidden", Args: `{"pattern":"needle","mode":"files"}`, Exact: "a.txt"},
		{Name: "file", Args: `{"pattern":"needle","path":".env"}`, Want: "is protected: .env (the operator can allow it with", ErrorType: refused},
	})
	b.run(t, "read_file", []tooltest.Case{
		{Name: "secret", Args: `{"path":".env"}`, Want: "is protected: .env", ErrorType: refused},
		{Name: "template", Args: `{"path":".env.example"}`, Want: "needle"},
		{Name: "control file", Args: `{"path":".git/hooks/x.sample"}`, Want: "needle"},
	})
	for _, tool := range []string{"write_file", "append_file"} {
		b.run(t, tool, []tooltest.Case{
			{Name: tool, Args: `{"path":".git/hooks/pre-commit","content":"x"}`, Want: "is protected: .git/hooks", ErrorType: refused},
			{Name: tool + " in a new directory", Args: `{"path":"new/.vscode/tasks.json","content":"x"}`, Want: "is protected: .vscode", ErrorType: refused},
		})
	}
	for _, tool := range []string{"copy_file", "move_file"} {
		b.run(t, tool, []tooltest.Case{{Name: tool + " makes no repository", Args: `{"source":"a.txt","destination":"new/.git/HEAD"}`, Want: "is protected: .git (", ErrorType: refused}})
	}
	b.run(t, "write_file", []tooltest.Case{
		{Name: "makes no repository", Args: `{"path":"new/.git/HEAD","content":"x"}`, Want: "is protected: .git (", ErrorType: refused},
		{Name: "in a repository", Args: `{"path":".git/info/exclude","content":"x"}`, Want: "exclude"},
	})
	b.run(t, "create_directory", []tooltest.Case{
		{Name: "repository", Args: `{"path":"new/.git"}`, Want: "is protected: .git (", ErrorType: refused},
		{Name: "in a repository", Args: `{"path":"new/.git/objects"}`, Want: "is protected: .git (", ErrorType: refused},
	})
	b.run(t, "edit_file", []tooltest.Case{
		{Name: "edit", Args: `{"path":".env","edits":[{"old_text":"needle","new_text":"x"}],"dry_run":true}`, Want: "is protected: .env", ErrorType: refused},
	})
	b.run(t, "list_directory", []tooltest.Case{
		{Name: "names", Args: `{"recursive":true}`, Wants: []string{".env\t7\n", "\nsub/.env.local\t7", "\n.ssh/\na"}},
		{Name: "directory", Args: `{"path":".ssh"}`, Want: "is protected: .ssh", ErrorType: refused},
	})
	b.run(t, "search_files", []tooltest.Case{
		{Name: "names", Args: `{"pattern":"**/{.*,id}","include_hidden":true,"gitignore":false}`, Wants: []string{`".env"`, `"sub/.env.local"`, `".ssh"`}},
	})
	if _, err := os.Stat(filepath.Join(b.dir, "new")); err == nil {
		t.Error("a refused write has made a directory")
	}
}

func TestHardlinks(t *testing.T) {
	for _, mode := range []string{"", "allow"} {
		b := newBench(t, declare.From[files.Options]{}, func(p *sandbox.Policy) {
			p.Tools["read_file"] = sandbox.ToolPolicy{AllowedPaths: []string{p.WorkingDirectory}, Hardlinks: mode}
			p.Tools["write_file"] = sandbox.ToolPolicy{Hardlinks: mode}
		})
		b.put(t, "one", "needle\n", "two", "needle\n")
		if err := os.Link(filepath.Join(b.dir, "two"), filepath.Join(b.dir, "three")); err != nil {
			t.Skip(err)
		}
		if mode == "allow" {
			b.run(t, "grep", []tooltest.Case{{Name: "allowed", Args: `{"pattern":"needle","mode":"files"}`, Exact: "one\nthree\ntwo"}})
			b.run(t, "append_file", []tooltest.Case{{Name: "allowed", Args: `{"path":"two","content":"x"}`, Want: "ppended"}})
			continue
		}
		b.run(t, "grep", []tooltest.Case{
			{Name: "denied", Args: `{"pattern":"needle","mode":"files"}`, Exact: "one\n[2 files were not searched because they have several names (hard links)]"},
			{Name: "denied file", Args: `{"pattern":"needle","path":"two"}`, Want: "has 2 names", ErrorType: "denied"},
		})
		b.run(t, "read_file", []tooltest.Case{{Name: "denied", Args: `{"path":"two"}`, Want: "has 2 names", ErrorType: "denied"}})
		b.run(t, "write_file", []tooltest.Case{{Name: "denied", Args: `{"path":"two","content":"x"}`, Want: "has 2 names", ErrorType: "denied"}})
		b.run(t, "list_directory", []tooltest.Case{{Name: "names", Exact: "one\t7\nthree\t7\ntwo\t7"}})
	}
}

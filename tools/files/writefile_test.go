package files_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/files"
)

// structured returns the structured content of a result as JSON.
func structured(t testing.TB, res domain.ToolResult) string {
	t.Helper()
	b, err := json.Marshal(res.Structured())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func hasStructured(want string) func(*testing.T, domain.ToolResult) {
	return func(t *testing.T, res domain.ToolResult) {
		t.Helper()
		if got := structured(t, res); got != want {
			t.Errorf("structured content is %s; want %s", got, want)
		}
	}
}

func TestWriteFile(t *testing.T) {
	b := newBench(t, declare.From[files.Options]{}, nil)
	b.put(t, "old.txt", "old", "sub/", "", "link-target", "t")
	if err := os.Symlink("link-target", filepath.Join(b.dir, "link")); err != nil {
		t.Skip(err)
	}
	holds := func(name, want string) func(*testing.T, domain.ToolResult) {
		return func(t *testing.T, _ domain.ToolResult) {
			if got := b.get(t, name); got != want {
				t.Errorf("%s has %q; want %q", name, got, want)
			}
		}
	}
	b.run(t, "write_file", []tooltest.Case{
		{Name: "new", Args: `{"path":"new.txt","content":"grün\n"}`, Exact: "Successfully wrote 6 bytes to new.txt",
			Check: hasStructured(`{"path":"new.txt","bytes":6,"created":true}`)},
		{Name: "again", Args: `{"path":"new.txt","content":"x"}`, Check: hasStructured(`{"path":"new.txt","bytes":1,"created":false}`)},
		{Name: "empty", Args: `{"path":"new.txt","content":""}`, Check: holds("new.txt", "")},
		{Name: "directories", Args: `{"path":"a/b/c.txt","content":"x"}`, Check: holds("a/b/c.txt", "x")},
		{Name: "base64", Args: `{"path":"bin","content":"","content_base64":"AAH/"}`, Check: holds("bin", "\x00\x01\xff")},
		{Name: "base64 unpadded", Args: `{"path":"bin","content":"","content_base64":"AA"}`, Check: holds("bin", "\x00")},
		{Name: "through a link", Args: `{"path":"link","content":"new"}`, Check: holds("link-target", "new")},
		{Name: "no base64", Args: `{"path":"bin","content":"","content_base64":"?"}`, Want: "content_base64 is not base64", Code: domain.CodeInvalidParams},
		{Name: "both", Args: `{"path":"x","content":"x","content_base64":"AA=="}`, Want: "content_base64 is given, and so is content", Code: domain.CodeInvalidParams},
		{Name: "neither", Args: `{"path":"x"}`, Want: "content is required", Code: domain.CodeInvalidParams},
		{Name: "conflict", Args: `{"path":"old.txt","content":"x","on_conflict":"error"}`, Wants: []string{"old.txt already exists"}, ErrorType: "already_exists"},
		{Name: "no conflict", Args: `{"path":"fresh.txt","content":"x","on_conflict":"error"}`, Check: holds("fresh.txt", "x")},
		{Name: "unknown on_conflict", Args: `{"path":"x","content":"x","on_conflict":"eror"}`, Want: "did you mean error?", Code: domain.CodeInvalidParams},
		{Name: "only a name of a directory", Args: `{"path":"newdir/","content":"x"}`, Want: "names a directory", ErrorType: "invalid_path"},
		{Name: "directory", Args: `{"path":"sub","content":"x"}`, Wants: []string{"is a directory", `list_directory(path="sub")`}, ErrorType: "not_a_file"},
		{Name: "below a file", Args: `{"path":"old.txt/x","content":"x"}`, ErrorType: "not_a_directory"},
		{Name: "no directory", Args: `{"path":"none/x","content":"x","create_dirs":false}`,
			Wants: []string{"none/x was not written", "parent directory does not exist"}, ErrorType: "not_found"},
	})
	if got := b.get(t, "old.txt"); got != "old" {
		t.Errorf("old.txt was changed: %q", got)
	}
	plain := newBench(t, declare.From[files.Options]{Settings: declare.Settings{"write_file": &files.WriteSettings{CreateDirs: new(false)}}}, nil)
	plain.run(t, "write_file", []tooltest.Case{
		{Name: "no directories by default", Args: `{"path":"none/x","content":"x"}`, ErrorType: "not_found"},
		{Name: "on request", Args: `{"path":"none/x","content":"x","create_dirs":true}`, Exact: "Successfully wrote 1 bytes to none/x"},
	})
}

func TestAppendFile(t *testing.T) {
	b := newBench(t, declare.From[files.Options]{}, nil)
	b.put(t, "log.txt", "one\n", "sub/", "")
	b.run(t, "append_file", []tooltest.Case{
		{Name: "append", Args: `{"path":"log.txt","content":"two\n"}`, Exact: "Successfully appended to log.txt",
			Check: hasStructured(`{"path":"log.txt","appended_bytes":4,"size_bytes":8}`)},
		{Name: "nothing", Args: `{"path":"log.txt","content":""}`, Check: hasStructured(`{"path":"log.txt","appended_bytes":0,"size_bytes":8}`)},
		{Name: "missing", Args: `{"path":"lag.txt","content":"x"}`, ErrorType: "not_found",
			Exact: "Error: file does not exist: lag.txt. Use write_file to create it first.",
			Check: func(t *testing.T, res domain.ToolResult) {
				if s := structured(t, res); !strings.Contains(s, "Files like it: log.txt.") {
					t.Errorf("the hint does not name log.txt: %s", s)
				}
			}},
		{Name: "directory", Args: `{"path":"sub","content":"x"}`, ErrorType: "not_a_file"},
	})
	if got := b.get(t, "log.txt"); got != "one\ntwo\n" {
		t.Errorf("log.txt has %q", got)
	}
}

// TestConcurrentWrites appends and edits from many calls at once; nothing of it
// may be lost.
func TestConcurrentWrites(t *testing.T) {
	const writers, rounds = 8, 10
	b := newBench(t, declare.From[files.Options]{}, nil)
	b.put(t, "log", "counter 0\n")
	exec := tooltest.Executor(t, b.tools["append_file"], b.tools["edit_file"])
	var wg sync.WaitGroup
	call := func(tool, args string) {
		res, err := exec.Call(t.Context(), call.ExecuteToolCommand{Tool: tool, Arguments: json.RawMessage(args)})
		if err != nil || res.IsError {
			t.Errorf("%s: %v %s", tool, err, tooltest.Text(res))
		}
	}
	for w := range writers {
		wg.Go(func() {
			for i := range rounds {
				call("append_file", fmt.Sprintf(`{"path":"log","content":"line %d-%d %s\n"}`, w, i, strings.Repeat("x", 500)))
				if w == 0 {
					call("edit_file", fmt.Sprintf(`{"path":"log","edits":[{"old_text":"counter %d\n","new_text":"counter %d\n"}]}`, i, i+1))
				}
			}
		})
	}
	wg.Wait()
	lines := strings.Split(strings.TrimSuffix(b.get(t, "log"), "\n"), "\n")
	if lines[0] != fmt.Sprint("counter ", rounds) || len(lines) != 1+writers*rounds {
		t.Errorf("%q and %d lines; want %d", lines[0], len(lines), 1+writers*rounds)
	}
	for w := range writers {
		for i := range rounds {
			if want := fmt.Sprintf("line %d-%d %s", w, i, strings.Repeat("x", 500)); !slices.Contains(lines, want) {
				t.Errorf("line %d-%d is lost", w, i)
			}
		}
	}
}

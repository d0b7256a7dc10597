package files_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/files"
)

// notations are paths as people, shells, browsers and other systems write them, and what was
// meant if that is sure.
func notations(dir string) map[string]string {
	return map[string]string{
		"$HOME/a.txt": "~/a.txt", "${HOME}/a.txt": "~/a.txt", "$env:USERPROFILE/a.txt": "~/a.txt", `%USERPROFILE%\a.txt`: "~/a.txt", "$HOME": "~",
		"$TMPDIR/x": "", "${workspaceFolder}/x": "", "$(pwd)/x": "", "`pwd`/x": "", "%TEMP%/x": "", "~bob/x": "",
		"file://" + dir + "/new.txt": dir + "/new.txt", "file://localhost" + dir + "/a%20b.txt": dir + "/a b.txt", "file:" + dir + "/new.txt": dir + "/new.txt",
		"FILE://" + dir + "/new.txt": dir + "/new.txt", "file:new.txt": "new.txt", "file://other" + dir + "/x": "", "file:///%zz": "", "https://example.com/x": "",
		`"q.txt"`: "q.txt", `'q.txt'`: "q.txt", "`q.txt`": "q.txt", "“q.txt”": "q.txt", `"` + dir + `/q.txt"`: dir + "/q.txt", "\"src/q.txt\"\n": "src/q.txt",
		"new.txt\n": "new.txt", "new.txt\r\n": "new.txt", " sp.txt": "sp.txt", "sp.txt ": "sp.txt", "src/ sp.txt": "src/sp.txt", "src /sp.txt": "src/sp.txt",
		"\tnew.txt": "new.txt", "\u00A0new.txt": "new.txt", dir + "/new.txt\n": dir + "/new.txt", " " + dir + "/new.txt": dir + "/new.txt",
		"\u200bz.txt": "z.txt", "a\u202eb.txt": "ab.txt", "<path>": "", `["a.txt"]`: "", `{"path":"a.txt"}`: "",
		"a\nb.txt": "", "a\x1bb.txt": "", `C:\Users\ann\a.txt`: "", "C:/Users/ann/a.txt": "", `c:\a.txt`: "",
		`src\new.py`: "src/new.py", `.\src\new.py`: "./src/new.py", `src\deep\new.py`: "src/deep/new.py", `~\new.py`: "~/new.py", dir + `/src\new.py`: dir + "/src/new.py",
	}
}

// tree returns the paths of what is below a directory.
func tree(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		paths = append(paths, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// writers are the tools that change files, each with what it makes of a path that is there.
var writers = map[string]string{
	"write_file": `{"path":%s,"content":"x"}`, "append_file": `{"path":%s,"content":"x"}`, "edit_file": `{"path":%s,"edits":[{"old_text":"old","new_text":"new"}]}`,
	"create_directory": `{"path":%s}`, "copy_file": `{"source":"there.txt","destination":%s,"overwrite":true}`, "move_file": `{"source":"there.txt","destination":%s,"overwrite":true}`,
	"copy_file from": `{"source":%s,"destination":"copy.txt"}`, "move_file from": `{"source":%s,"destination":"moved.txt"}`, "delete_file": `{"path":%s}`,
}

func TestNotationsOfWriters(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths are of Unix")
	}
	t.Setenv("HOME", filepath.Join(t.TempDir(), "home"))
	missing := newBench(t, declare.From[files.Options]{}, nil)
	missing.put(t, "there.txt", "old")
	before := tree(t, missing.dir)
	for path, meant := range notations(missing.dir) {
		quoted, err := json.Marshal(path)
		if err != nil {
			t.Fatal(err)
		}
		for writer, args := range writers {
			tool, _, _ := strings.Cut(writer, " ")
			res := missing.call(t, tool, fmt.Sprintf(args, quoted))
			text := tooltest.Text(res)
			if !res.IsError || !strings.Contains(text, "give "+meant) && !strings.Contains(text, "leave it out") || meant != "" && !strings.HasSuffix(text, "give "+meant) {
				t.Errorf("%s %q: %s\nwant something with %q", writer, path, text, "give "+meant)
			}
			if after := tree(t, missing.dir); !slices.Equal(before, after) {
				t.Fatalf("%s %q: the files are %q", writer, path, after)
			}
		}
		if text := tooltest.Text(missing.call(t, "read_file", fmt.Sprintf(`{"path":%s}`, quoted))); !strings.Contains(text, "give ") && !strings.Contains(text, "leave it out") {
			t.Errorf("read_file %q: %s", path, text)
		}
	}
	for path := range notations(missing.dir) {
		if path[0] == '/' || strings.Contains(path, missing.dir) {
			continue // not below the directory of another bench
		}
		for writer, args := range writers {
			if writer == "create_directory" {
				continue
			}
			tool, _, _ := strings.Cut(writer, " ")
			there := newBench(t, declare.From[files.Options]{}, nil)
			there.put(t, "there.txt", "old", path, "old")
			quoted, _ := json.Marshal(path)
			if res := there.call(t, tool, fmt.Sprintf(args, quoted)); res.IsError {
				t.Errorf("%s %q, which exists: %s", writer, path, tooltest.Text(res))
			}
		}
	}
}

// TestHome has ~ as the home directory, where no directory has that name.
func TestHome(t *testing.T) {
	b := newBench(t, declare.From[files.Options]{}, nil)
	for _, name := range []string{"HOME", "USERPROFILE"} {
		t.Setenv(name, b.dir)
	}
	b.put(t, "a.txt", "old\n")
	b.run(t, "read_file", []tooltest.Case{{Name: "read", Args: `{"path":"~/a.txt"}`, Exact: "old\n"}})
	b.run(t, "list_directory", []tooltest.Case{{Name: "list", Args: `{"path":"~"}`, Want: "a.txt"}})
	b.run(t, "write_file", []tooltest.Case{{Name: "write", Args: `{"path":"~/sub/b.txt","content":"x"}`, Exact: "Successfully wrote 1 bytes to ~/sub/b.txt"}})
	if got := b.get(t, "sub/b.txt"); got != "x" {
		t.Errorf("~/sub/b.txt has %q", got)
	}
	b.put(t, "~/a.txt", "itself")
	b.run(t, "read_file", []tooltest.Case{{Name: "itself", Args: `{"path":"~/a.txt"}`, Exact: "itself"}})
	for _, name := range []string{"HOME", "USERPROFILE"} {
		t.Setenv(name, filepath.Dir(b.dir))
	}
	if err := os.RemoveAll(filepath.Join(b.dir, "~")); err != nil {
		t.Fatal(err)
	}
	b.run(t, "write_file", []tooltest.Case{
		{Name: "outside", Args: `{"path":"~/c.txt","content":"x"}`, ErrorType: "denied", Want: "~/c.txt is outside the allowed paths"},
		{Name: "the name itself", Args: `{"path":"./~/c.txt","content":"x"}`, Want: "Successfully"},
		{Name: "a wildcard", Args: `{"path":"*.md","content":"x"}`, ErrorType: "invalid_path", Want: "give one name"},
	})
	b.run(t, "grep", []tooltest.Case{
		{Name: "a wildcard", Args: `{"pattern":"x","path":"sub/*.txt"}`, ErrorType: "invalid_path", Want: "a directory and a glob (glob of grep,"},
		{Name: "directories", Args: `{"pattern":"x","path":"**/*.txt"}`, ErrorType: "invalid_path", Want: "a directory and a glob"},
	})
	b.run(t, "read_file", []tooltest.Case{
		{Name: "a wildcard", Args: `{"path":"sub/*.txt"}`, ErrorType: "invalid_path", Want: "pattern of search_files)"},
	})
}

package files_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/files"
)

func TestMoveFile(t *testing.T) {
	b := newBench(t, declare.From[files.Options]{}, nil)
	b.put(t, "a.txt", "A", "b.txt", "B", "dir/x", "X", "dir/y/z", "Z", ".env", "SECRET", "withenv/.env", "SECRET", "withenv/a", "A")
	b.run(t, "move_file", []tooltest.Case{
		{Name: "into a new directory", Args: `{"source":"a.txt","destination":"new/a.txt"}`, Exact: "Moved a.txt to new/a.txt",
			Check: hasStructured(`{"source":"a.txt","destination":"new/a.txt","replaced":false}`)},
		{Name: "exists", Args: `{"source":"new/a.txt","destination":"b.txt"}`, Want: "b.txt already exists and was left as it is", ErrorType: "already_exists"},
		{Name: "onto a directory", Args: `{"source":"b.txt","destination":"dir","overwrite":true}`, Want: `give destination="dir/b.txt"`, ErrorType: "already_exists"},
		{Name: "replaces", Args: `{"source":"new/a.txt","destination":"b.txt","overwrite":true}`, Check: hasStructured(`{"source":"new/a.txt","destination":"b.txt","replaced":true}`)},
		{Name: "directory", Args: `{"source":"dir","destination":"moved/dir"}`, Exact: "Moved dir to moved/dir"},
		{Name: "missing", Args: `{"source":"b.tx","destination":"c"}`, Wants: []string{"b.tx does not exist", "did you mean b.txt"}, ErrorType: "not_found"},
		{Name: "into itself", Args: `{"source":"moved","destination":"moved/in"}`, Want: "lies below the source", ErrorType: "invalid_path"},
		{Name: "protected", Args: `{"source":".env","destination":"env.txt"}`, Want: "protected: .env", ErrorType: "denied"},
		{Name: "to a protected name", Args: `{"source":"b.txt","destination":".env"}`, Want: "protected: .env", ErrorType: "denied"},
		{Name: "protected below", Args: `{"source":"withenv","destination":"other"}`, Want: "withenv/.env is protected: .env", ErrorType: "denied"},
		{Name: "outside", Args: `{"source":"b.txt","destination":"../b.txt"}`, Want: "outside the allowed paths", ErrorType: "denied"},
		{Name: "everything", Args: `{"source":".","destination":"../w"}`, ErrorType: "denied"},
	})
	if got := b.get(t, "b.txt") + b.get(t, "moved/dir/y/z"); got != "AZ" {
		t.Errorf("moved %q", got)
	}
}

func TestCopyFile(t *testing.T) {
	b := newBench(t, declare.From[files.Options]{}, nil)
	b.put(t, "a.sh", "A", "b.txt", "B", "dir/x", "X", "dir/y/z", "ZZ", "dir/.env", "SECRET", "dir/.git/HEAD", "ref", "dir/.git/hooks/h", "HOOK", "conf/config.yaml", "C")
	if err := os.Chmod(filepath.Join(b.dir, "a.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	_ = os.Symlink("x", filepath.Join(b.dir, "dir/l"))
	b.run(t, "copy_file", []tooltest.Case{
		{Name: "file", Args: `{"source":"a.sh","destination":"new/a.sh"}`, Exact: "Copied a.sh to new/a.sh (1 bytes)",
			Check: hasStructured(`{"source":"a.sh","destination":"new/a.sh","files":1,"bytes":1,"replaced":false}`)},
		{Name: "exists", Args: `{"source":"a.sh","destination":"b.txt"}`, ErrorType: "already_exists"},
		{Name: "replaces", Args: `{"source":"a.sh","destination":"b.txt","overwrite":true}`, Want: "Copied"},
		{Name: "directory", Args: `{"source":"dir","destination":"copy"}`, Wants: []string{"Copied dir to copy (3 files, 6 bytes)", "2 entries not copied: dir/.env (protected: .env), dir/.git/hooks (protected: .git/hooks)]"},
			Check: hasStructured(`{"source":"dir","destination":"copy","files":3,"bytes":6,"replaced":false,"left_out":2}`)},
		{Name: "all of it refused", Args: `{"source":"conf","destination":"toolserver"}`, Exact: "Copied conf to toolserver (0 files, 0 bytes)\n[1 entry not copied: conf/config.yaml (protected: toolserver/config.yaml)]"},
		{Name: "directory over a directory", Args: `{"source":"dir","destination":"copy","overwrite":true}`, Want: `give destination="copy/dir"`, ErrorType: "already_exists"},
		{Name: "into itself", Args: `{"source":"dir","destination":"dir/in"}`, Want: "which is the same or lies below it", ErrorType: "invalid_path"},
		{Name: "protected", Args: `{"source":"dir/.env","destination":"env.txt"}`, ErrorType: "denied"},
		{Name: "outside", Args: `{"source":"/etc/passwd","destination":"p"}`, ErrorType: "denied"},
	})
	if info, err := os.Stat(filepath.Join(b.dir, "new/a.sh")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the copy has %v, %v", info, err)
	}
	if got := b.get(t, "b.txt") + b.get(t, "copy/y/z") + b.get(t, "copy/.git/HEAD") + b.get(t, "copy/l"); got != "AZZrefX" {
		t.Errorf("copied %q", got)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "copy/.env")); err == nil {
		t.Error("a protected file was copied")
	}
}

func TestCreateAndDelete(t *testing.T) {
	b := newBench(t, declare.From[files.Options]{}, nil)
	b.put(t, "a.txt", "A", "keep/.env", "SECRET", "keep/x", "X")
	b.run(t, "create_directory", []tooltest.Case{
		{Name: "new", Args: `{"path":"x/y/z"}`, Exact: "Created the directory x/y/z", Check: hasStructured(`{"path":"x/y/z","created":true}`)},
		{Name: "again", Args: `{"path":"x/y/z"}`, Exact: "The directory x/y/z exists already"},
		{Name: "file", Args: `{"path":"a.txt"}`, Want: "is a regular file", ErrorType: "already_exists"},
		{Name: "protected", Args: `{"path":".git/hooks/x"}`, ErrorType: "denied"},
	})
	b.run(t, "delete_file", []tooltest.Case{
		{Name: "file", Args: `{"path":"a.txt"}`, Exact: "Deleted a.txt", Check: hasStructured(`{"path":"a.txt","deleted":1}`)},
		{Name: "missing", Args: `{"path":"a.txt"}`, ErrorType: "not_found"},
		{Name: "not empty", Args: `{"path":"x"}`, Want: "recursive is false", ErrorType: "not_empty"},
		{Name: "directory", Args: `{"path":"x","recursive":true}`, Exact: "Deleted x and 2 entries below it"},
		{Name: "protected below", Args: `{"path":"keep","recursive":true}`, Want: "keep/.env is protected", ErrorType: "denied"},
		{Name: "all", Args: `{"path":".","recursive":true}`, ErrorType: "denied"},
	})
	if got := b.get(t, "keep/x"); got != "X" {
		t.Errorf("what is refused was deleted in part: %q", got)
	}
}

// TestExplainEnds asks about both ends of a move.
func TestExplainEnds(t *testing.T) {
	b := newBench(t, declare.From[files.Options]{}, nil)
	b.put(t, "a.txt", "A", ".env", "SECRET")
	for args, want := range map[[2]string]string{{"a.txt", "b"}: "", {".env", "b"}: "protected: .env", {"a.txt", ".env"}: "protected: .env", {"a.txt", "/etc/x"}: "outside"} {
		for _, tool := range []string{"move_file", "copy_file"} {
			e, err := b.tools[tool].Explain(t.Context(), domain.Arguments{"source": args[0], "destination": args[1]})
			if err != nil || e.Allowed != (want == "") || !strings.Contains(e.Reason, want) {
				t.Errorf("%s %v: %+v %v", tool, args, e, err)
			}
		}
	}
}

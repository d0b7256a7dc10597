package pathguard_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// asOrdinaryUser gives root and what is below it to a user other than root, and
// makes the file system treat the test as that user until it ends.
func asOrdinaryUser(t *testing.T, root string) {
	if os.Geteuid() != 0 {
		return
	}
	const nobody = 65534
	do(t, filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	}))
	do(t, os.Chmod(filepath.Dir(root), 0o755)) // of t.TempDir
	runtime.LockOSThread()
	if _, err := unix.SetfsuidRetUid(nobody); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = unix.SetfsuidRetUid(0)
		runtime.UnlockOSThread()
	})
}

func TestReplaceReadOnly(t *testing.T) {
	root := tree(t, "file w/a A")
	do(t, os.Chmod(root+"/w/a", 0o444))
	asOrdinaryUser(t, root)
	if _, err := write(guard(t, pathguard.New, root, []string{"w"}, nil), "a", "B", pathguard.ReplaceOptions{}); kindOf(err) != pathguard.KindIO {
		t.Error(err)
	}
}

// TestUnreadableDirectory writes in a directory that is writable and not readable.
func TestUnreadableDirectory(t *testing.T) {
	root := tree(t, "file w/drop/a A")
	do(t, os.Chmod(root+"/w/drop", 0o300))
	asOrdinaryUser(t, root)
	if _, err := os.ReadDir(root + "/w/drop"); err == nil {
		t.Fatal("the directory is readable")
	}
	g := guard(t, pathguard.New, root, []string{"w"}, nil)
	for _, path := range []string{"drop/new", "drop/a", "drop/made/new"} {
		if _, err := write(g, path, "B", pathguard.ReplaceOptions{CreateDirs: true}); err != nil {
			t.Error(err)
		}
		mustRead(t, g, path, "B", "")
	}
	if err := g.Append("drop/a", []byte("C")); err != nil {
		t.Error(err)
	}
	mustRead(t, g, "drop/a", "BC", "")
}

// TestNoTemporaryName checks that content without its name has none, so that a
// process that is killed leaves nothing.
func TestNoTemporaryName(t *testing.T) {
	root := tree(t, "file w/a A")
	fd, err := unix.Open(root, unix.O_TMPFILE|unix.O_RDWR, 0o600)
	if err != nil {
		t.Skipf("this file system has no O_TMPFILE: %v", err)
	}
	unix.Close(fd)
	g := guard(t, pathguard.New, root, []string{"w"}, nil)
	for _, name := range []string{"a", "b"} {
		before := func(string) error {
			onlyNames(t, root+"/w", "a")
			return nil
		}
		_, err := write(g, name, "x", pathguard.ReplaceOptions{Before: before})
		do(t, err)
	}
	onlyNames(t, root+"/w", "a", "b")
}

//go:build unix

package pathguard_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolserver/toolserver/sandbox/pathguard"
)

type constructor func(dir string, rules pathguard.Rules) (*pathguard.Guard, error)

// everyWay runs a test on each implementation.
func everyWay(t *testing.T, run func(t *testing.T, build constructor)) {
	t.Run("platform", func(t *testing.T) { run(t, pathguard.New) })
	t.Run("portable", func(t *testing.T) { run(t, pathguard.NewPortable) })
}

// tree is a fresh directory, free of links, with the entries that setup names:
// "dir P", "file P CONTENT", "symlink P TARGET", "hardlink P TARGET", "fifo P",
// relative to it.
func tree(t testing.TB, setup ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range setup {
		plant(t, root, line)
	}
	return root
}

func plant(t testing.TB, root, line string) {
	t.Helper()
	verb, rest, _ := strings.Cut(line, " ")
	path, arg, _ := strings.Cut(rest, " ")
	path = filepath.Join(root, path)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		switch verb {
		case "dir":
			err = os.MkdirAll(path, 0o755)
		case "file":
			err = os.WriteFile(path, []byte(arg), 0o644)
		case "symlink":
			err = os.Symlink(strings.ReplaceAll(arg, "$", root), path)
		case "hardlink":
			err = os.Link(filepath.Join(root, arg), path)
		case "fifo":
			err = syscall.Mkfifo(path, 0o644)
		default:
			err = errors.New("unknown verb")
		}
	}
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
}

// guard builds a Guard whose working directory is root/w; rules are relative
// to root.
func guard(t testing.TB, build constructor, root string, allow, deny []string) *pathguard.Guard {
	t.Helper()
	g, err := build(filepath.Join(root, "w"), pathguard.Rules{Allow: under(root, allow), Deny: under(root, deny)})
	if err != nil {
		t.Fatal(err)
	}

	return g
}

func under(root string, rel []string) []string {
	var abs []string
	for _, r := range rel {
		abs = append(abs, filepath.Join(root, r))
	}
	return abs
}

func kindOf(err error) pathguard.Kind {
	var e *pathguard.Error
	if errors.As(err, &e) {
		return e.Kind
	}
	if err != nil {
		return pathguard.Kind("untyped: " + err.Error())
	}
	return ""
}

func read(g *pathguard.Guard, path string) (string, error) {
	f, err := g.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	return string(b), err
}

// replaced is what a replacement did.
type replaced struct {
	Real    string
	Created bool
}

func write(g *pathguard.Guard, path, content string, o pathguard.ReplaceOptions) (r replaced, err error) {
	before := o.Before
	o.Before = func(real string) error {
		r.Real = real
		if before != nil {
			return before(real)
		}
		return nil
	}
	if r.Created, err = g.Replace(path, []byte(content), o); err != nil {
		return replaced{}, err
	}
	return r, nil
}

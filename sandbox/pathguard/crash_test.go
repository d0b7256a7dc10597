//go:build unix

package pathguard_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// childDir makes the test binary a writer that is going to be killed.
const childDir, childPortable = "PATHGUARD_TEST_DIR", "PATHGUARD_TEST_PORTABLE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		build := pathguard.New
		if os.Getenv(childPortable) != "" {
			build = pathguard.NewPortable
		}
		os.Exit(writeForEver(dir, build))
	}
	os.Exit(m.Run())
}

func version(letter byte) string { return strings.Repeat(string(letter), 64<<10) }

// writeForEver replaces dir/w/f over and over until the process is killed.
func writeForEver(dir string, build constructor) int {
	g, err := build(filepath.Join(dir, "w"), pathguard.Rules{Allow: []string{filepath.Join(dir, "w")}})
	if err != nil {
		return 1
	}
	for letter := byte('a'); ; letter = 'a' + (letter+1-'a')%26 {
		if _, err := write(g, "f", version(letter), pathguard.ReplaceOptions{}); err != nil {
			return 1
		}
		if _, err := os.Stdout.Write([]byte{letter}); err != nil {
			return 1
		}
	}
}

// TestKill kills a writer at random moments. What is there is always one
// version, whole, and never older than the last one that was committed.
func TestKill(t *testing.T) {
	everyWay(t, func(t *testing.T, build constructor) {
		env := childPortable + "=" + map[bool]string{true: "1"}[strings.HasSuffix(t.Name(), "portable")]
		root := tree(t, "file w/f "+version('a'))
		kills := 60
		if testing.Short() {
			kills = 10
		}
		for range kills {
			committed := killOnce(t, root, env)
			content, err := os.ReadFile(root + "/w/f")
			if err != nil {
				t.Fatal(err)
			}
			if len(content) != 64<<10 || len(bytes.Trim(content, string(content[:1]))) != 0 {
				t.Fatalf("%d bytes, %.8q ... %.8q: not one whole version", len(content), content, content[len(content)-8:])
			}
			if next := 'a' + (committed+1-'a')%26; committed != 0 && content[0] != committed && content[0] != next {
				t.Fatalf("version %c after %c was committed", content[0], committed)
			}
		}
		abandoned := 0
		entries, err := os.ReadDir(root + "/w")
		do(t, err)
		past := time.Now().Add(-2 * time.Hour)
		for _, e := range entries {
			if e.Name() != "f" {
				abandoned++
				do(t, os.Chtimes(filepath.Join(root, "w", e.Name()), past, past))
			}
		}
		t.Logf("%d kills left %d temporary files", kills, abandoned)
		if _, err := write(guard(t, build, root, []string{"w"}, nil), "f", "x", pathguard.ReplaceOptions{}); err != nil {
			t.Fatal(err)
		}
		onlyNames(t, root+"/w", "f")
	})
}

// killOnce runs a writer, waits for a random number of versions, kills it at
// some moment of the next one and returns the last version it reported.
func killOnce(t *testing.T, root, env string) (committed byte) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+root, env)
	out, err := cmd.StdoutPipe()
	do(t, err, cmd.Start())
	stuck := time.AfterFunc(30*time.Second, func() { cmd.Process.Kill() })
	defer stuck.Stop()
	seen := make([]byte, 1+rand.N(8))
	if _, err := io.ReadFull(out, seen); err != nil {
		t.Fatalf("the writer ended by itself: %v", err)
	}
	for range rand.N(1 << 16) { // a random moment: spins for up to a version's time
		_ = time.Now()
	}
	do(t, cmd.Process.Kill())
	rest, err := io.ReadAll(out)
	do(t, err)
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		t.Fatalf("the writer was not killed: %v", err)
	}
	all := append(seen, rest...)
	return all[len(all)-1]
}

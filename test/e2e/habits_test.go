//go:build linux

package e2e

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed testdata/habits.txt
var habits string

// TestHabits makes the calls of a list as models make them by habit. Each works or is answered
// with what to call instead.
func TestHabits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name, content string) {
		must(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	put("notes.txt", "1\n2\n3\n4\n5\n")
	put("README.md", "# x\n")
	put("src/app.py", "def main():\n    print('hello')\n")
	put("src/util.ts", "export {}\n")
	for i := range 12 {
		put(fmt.Sprintf("e%d.txt", i), "alpha\n")
	}
	for _, name := range strings.Fields("m1 m2 c1 a1") {
		put(name+".txt", "x\n")
	}
	c := start(t, httpConfig(t, dir, "")...)
	calls := 0
	for line := range strings.Lines(strings.ReplaceAll(habits, "DIR", dir)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		call, want, mended := strings.Cut(line, " | ")
		tool, args, _ := strings.Cut(call, " ")
		a := c.call(tool, json.RawMessage(args))
		if calls++; mended && !strings.Contains(whole(a), want) || !mended && a.failed() {
			t.Errorf("%s\n got %s\nwant something with %q", call, whole(a), want)
		}
	}
	if calls < 190 {
		t.Errorf("%d calls", calls)
	}
}

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// bothSummaries returns the two states of a file that is refreshed with and
// without other servers, each of which has the front matter.
func bothSummaries(t *testing.T, c *toolClient, file, matter string) map[string]bool {
	t.Helper()
	must(t, os.WriteFile(file, []byte(matter), 0o644))
	whole := map[string]bool{}
	for _, with := range []bool{true, false} {
		c.refresh("include_mcp", with)
		text := read(t, file)
		if !strings.HasPrefix(text, matter) {
			t.Fatalf("the front matter is lost: %.200q", text)
		}
		whole[text] = true
	}
	if len(whole) != 2 {
		t.Fatal("the summary is the same without other servers")
	}
	return whole
}

// longMatter makes writing the file take a while.
var longMatter = "---\n" + strings.Repeat("a: line of a long front matter\n", 10_000) + "---\n\n"

// TestCapabilitiesAtomic reads the file during many refreshes, by several calls
// at a time: it is whole whenever it is read.
func TestCapabilitiesAtomic(t *testing.T) {
	t.Parallel()
	c, dir := openTools(t, "")
	file := filepath.Join(dir, "capabilities.md")
	whole := bothSummaries(t, c, file, longMatter)
	stop, reads := make(chan struct{}), make(chan int, 1)
	go func() {
		n := 0
		defer func() { reads <- n }()
		for ended := false; !ended; n++ {
			select {
			case <-stop:
				ended = true
			default:
			}
			if b, err := os.ReadFile(file); err != nil || !whole[string(b)] {
				t.Errorf("reading %d gives %d bytes, %v", n, len(b), err)
				return
			}
		}
	}()
	defer func() {
		close(stop)
		if n := <-reads; n < 10 {
			t.Errorf("the file was read %d times", n)
		}
	}()
	for range 40 {
		var calls []*pending
		for i := range 8 {
			calls = append(calls, c.begin("capabilities_refresh", arguments("include_mcp", i%2 == 0)))
		}
		for _, call := range calls {
			if a := c.finish(call); a.failed() {
				t.Errorf("%+v %s", a.Error, a.text())
			}
		}
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) != 2 { // the configuration, and the file
		t.Errorf("there is %v", entries)
	}
	c.ping()
}

// TestCapabilitiesKilled kills the server in the midst of refreshes, which leaves
// a whole file.
func TestCapabilitiesKilled(t *testing.T) {
	t.Parallel()
	config, dir := configured(t, "logging: {level: warn}\n")
	file := filepath.Join(dir, "capabilities.md")
	whole := bothSummaries(t, serveTools(t, config), file, longMatter)
	for round := range 12 {
		c := serveTools(t, config)
		c.refresh()
		var calls []*pending
		for i := range 100 {
			calls = append(calls, c.begin("capabilities_refresh", arguments("include_mcp", i%2 == 0)))
		}
		c.finish(calls[round])                                    // so that some are done, and more are not
		time.Sleep(time.Duration(round) * 300 * time.Microsecond) // at any point of one
		c.kill()
		if text := read(t, file); !whole[text] {
			t.Fatalf("round %d leaves %d bytes: %.200q", round, len(text), text)
		}
	}
	c := serveTools(t, config)
	c.refresh()
	if !whole[read(t, file)] {
		t.Error("the file cannot be refreshed afterwards")
	}
}

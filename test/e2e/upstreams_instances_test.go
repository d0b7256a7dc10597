//go:build unix

package e2e

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/upstream/mcpclient"
)

// TestUpstreamsInstances gives each principal a server of their own, beside one that all share, and ends it with their workspace.
func TestUpstreamsInstances(t *testing.T) {
	t.Parallel()
	work, name := t.TempDir(), rand.Text()
	file, _ := configured(t, withTokens("ann", "anns", "bob", "bobs")+
		fmt.Sprintf("state_directory: %s\nprofiles: [{name: each, working_directory: '%s/{principal}'}]\n", t.TempDir(), work)+
		gateway(entry("own", ", instance: principal", upstreamBinary(t), "--name", name), entry("all", "", upstreamBinary(t), "--name", "all")))
	s := launchHTTP(t, nil, binary(), "--config", file)
	connected := func(token string) *mcpclient.Client {
		c, err := mcpclient.ConnectHTTP(t.Context(), http.DefaultClient, s.url, http.Header{"Authorization": {"Bearer " + token}},
			mcpclient.Options{Name: "t", Version: "1", Protocol: modernVersion, ConnectTimeout: patience})
		must(t, err)
		t.Cleanup(c.Close)
		return c
	}
	ann, bob := connected("anns"), connected("bobs")
	says := func(c *mcpclient.Client, tool string) (said string) {
		t.Helper()
		eventually(t, tool+" answers", func() bool {
			said = comesTo(c, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":{}}`, tool))
			return strings.HasSuffix(said, "<nil>") && !strings.Contains(said, `"isError":true`)
		})
		return said
	}
	start := func(c *mcpclient.Client, tool string) string { // the directory
		return regexp.MustCompile(`cwd\\+":\\+"([^"\\]+)`).FindStringSubmatch(says(c, tool))[1]
	}
	if a, b := start(ann, "all__env"), start(bob, "all__env"); a != b {
		t.Errorf("what all share starts in %q and %q", a, b)
	}
	for who, c := range map[string]*mcpclient.Client{"ann": ann, "bob": bob} {
		homes, err := filepath.Glob(filepath.Join(work, who+"-*"))
		if at := start(c, "own__env"); err != nil || len(homes) != 1 || at != homes[0] {
			t.Errorf("that of %s starts in %q, not in %v", who, at, homes)
		}
	}
	if processesWith(t, name) == 0 {
		t.Error("the test does not see them run")
	}
	must(t, s.cmd.Process.Signal(os.Interrupt))
	<-s.exited
	if n := processesWith(t, name); n > 0 {
		t.Errorf("%d go on", n)
	}
}

// processesWith returns how many processes have an argument.
func processesWith(t *testing.T, argument string) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(t, err)
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), argument) {
			n++
		}
	}
	return n
}

//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A command, a job and a confined MCP server, of root and of others, with and without
// namespaces, find every way closed into every process that is not their own: those of the
// machine, the server, the supervisors and each of their threads.
func TestProcessesOfOthers(t *testing.T) {
	probe := built(t, "probe") + " doors "
	eachAccount(t, func(t *testing.T, who account) {
		for _, without := range []string{"", "namespaces"} {
			t.Run("without "+without, func(t *testing.T) {
				t.Parallel()
				g := newGround(t, who)
				shut := func(what, text string) {
					t.Helper()
					found := slices.DeleteFunc(lines(text, "open:"), func(line string) bool { // numbers, which /proc lists to their user and to root
						return (without != "" || who.id == 0) && strings.HasSuffix(line, "/fd")
					})
					if len(found) > 0 || !strings.Contains(text, "tried ") || strings.Contains(text, "tried 0") {
						t.Errorf("%s: %s\n%.300s", what, strings.Join(found, "\n"), text)
					}
				}
				config := "mcp_servers:\n  other:\n    command: sh\n    args: [-c, '" + probe + "$$ > served; exec sleep 60']\n    sandbox: true\n"
				b := g.open(setup{config: config, without: without})
				defer b.stop()
				if o := b.call("bash", map[string]any{"command": "sleep 60", "background": true}); o.failed {
					t.Fatal(o)
				}
				shut("command", b.bash(probe+"all").text)
				if o := b.call("bash", map[string]any{"command": probe + "$$ > job", "background": true}); o.failed {
					t.Fatal(o)
				}
				for _, name := range []string{"job", "served"} {
					text := []byte(nil)
					for wait := time.Now().Add(patience); !strings.Contains(string(text), "tried ") && time.Now().Before(wait); time.Sleep(10 * time.Millisecond) {
						text, _ = os.ReadFile(filepath.Join(g.work, name))
					}
					shut(name, string(text))
				}
			})
		}
	})
}

// A command by root has no capability but those by which root uses files, and cannot get
// one back.
func TestCapabilitiesLeft(t *testing.T) {
	eachAccount(t, func(t *testing.T, who account) {
		b := newGround(t, who).open(setup{})
		defer b.stop()
		o := b.bash("grep ^Cap /proc/self/status")
		most := map[bool]string{true: "00000000000004fb", false: "0000000000000000"}[who.id == 0]
		for _, set := range []string{"CapInh:\t0000000000000000", "CapAmb:\t0000000000000000", "CapPrm:\t" + most, "CapEff:\t" + most, "CapBnd:\t" + most} {
			contain(t, "the status of a command", o.text, set)
		}
	})
}

//go:build linux

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// manyInterfaces makes interfaces and starts a program beside them.
const manyInterfaces = `{
	echo link set lo up
	for i in $(seq 149); do echo link add x$i type bridge; echo link set x$i up; done
	for i in $(seq 100); do echo addr add 10.9.0.$i/24 dev x1; done
} | ip -batch - && exec "$@"`

// TestSystemLists reads the interfaces of a machine that has 150, and one of them 101 addresses,
// with ordinary results and the shortest.
func TestSystemLists(t *testing.T) {
	t.Parallel()
	unshare := []string{"unshare", "--user", "--map-root-user", "--net", "bash", "-c", manyInterfaces, "interfaces"}
	if out, err := exec.Command(unshare[0], append(unshare[1:], "true")...).CombinedOutput(); err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok || errors.Is(err, exec.ErrNotFound) {
			t.Skipf("no interfaces can be made here: %v, %s", exit, out)
		}
		t.Fatal(err)
	}
	for _, most := range []int{1000, 40_000} {
		config, _ := configured(t, fmt.Sprintf("limits: {max_result_chars: %d}\n", most))
		s := connect(t, append(unshare, binary(), "serve", "--stdio", "--config", config)...)
		for tool, of := range map[string][2]string{"network_info": {"interfaces", "name"}, "disk_info": {"drives", "mountpoint"}} {
			list := listCall(func(args map[string]any) (string, map[string]any) {
				a := s.call(tool, args)
				return joined(a), a.Result.StructuredContent
			})
			texts, pages := list.pages(t, map[string]any{}, most)
			names := entriesOf(pages, of[0], of[1])
			var said []string
			for line := range strings.Lines(strings.Join(texts, "\n")) {
				name, _, _ := strings.Cut(line, ", ")
				said = append(said, name)
			}
			if !slices.IsSorted(names) || !slices.Equal(said, names) || pages[0]["total"] != float64(len(names)) || tool == "network_info" && len(names) != 150 {
				t.Errorf("%s: %d in structured content of %v, %d in the text", tool, len(names), pages[0]["total"], len(said))
			}
			want := fmt.Sprintf("at offset 9,999: there are %d]", len(names))
			if text, _ := list(map[string]any{"offset": 9999}); !strings.HasSuffix(text, want) {
				t.Errorf("%s beyond the end: %s", tool, text)
			}
			a := s.call(tool, map[string]any{"offset": "x"})
			if raw, _ := json.Marshal(a.Error); !strings.Contains(string(raw), "offset must be an integer") {
				t.Errorf("%s: %s", tool, raw)
			}
			for _, page := range pages {
				if n := entriesOf([]map[string]any{page}, of[0], "note"); tool == "network_info" && slices.Contains(entriesOf([]map[string]any{page}, of[0], of[1]), "x1") &&
					!slices.ContainsFunc(n, func(note string) bool { return strings.HasSuffix(note, "addresses") }) {
					t.Errorf("nothing says that addresses of x1 are left out: %q", n)
				}
			}
		}
	}
}

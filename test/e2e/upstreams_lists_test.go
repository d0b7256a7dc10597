package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestUpstreamsLists reads the list of 3,000 tools of another server, of two that are too long
// for it, and of none.
func TestUpstreamsLists(t *testing.T) {
	t.Parallel()
	for _, most := range []int{1000, 40_000} {
		s := openGateway(t, fmt.Sprintf("limits: {max_result_chars: %d}\n", most)+gateway(entry("u", "", upstreamBinary(t), "--offer", "long", "--tools", "3000")))
		s.awaits("u__mixes")
		list := listCall(func(args map[string]any) (string, map[string]any) {
			a := s.call("mcp_list_tools", args)
			return joined(a), a.Result.StructuredContent
		})
		texts, pages := list.pages(t, map[string]any{}, most)
		names := entriesOf(pages, "tools", "tool")
		if len(names) != 3002 || !slices.IsSorted(names) || pages[0]["total"] != 3002.0 {
			t.Errorf("%d names, %v in all", len(names), pages[0]["total"])
		}
		var said []string
		for line := range strings.Lines(strings.Join(texts, "\n")) {
			if name, _, ok := strings.Cut(strings.TrimPrefix(line, "  "), ": "); ok {
				said = append(said, name)
			}
		}
		if !slices.Equal(said, names) {
			t.Errorf("%d names in the text, %d in structured content", len(said), len(names))
		}
		if text, _ := list(map[string]any{"offset": 4000}); text != "[no tools of other servers at offset 4,000: there are 3,002]" {
			t.Error(text)
		}
		found := listCall(func(args map[string]any) (string, map[string]any) {
			a := s.call("mcp_search", args)
			return joined(a), a.Result.StructuredContent
		})
		for query, want := range map[string]string{
			"paint a wall": "server u, tool paints(", "mix dyes": "arguments: a schema of ",
		} {
			text, structured := found(map[string]any{"query": query, "limit": 1})
			if len(entriesOf([]map[string]any{structured}, "tools", "tool")) != 1 || !strings.Contains(text, want) || len(text) > most {
				t.Errorf("%s: %.500s: %.500v", query, text, structured)
			}
		}
	}
	s := openGateway(t, gateway(entry("u", "", upstreamBinary(t), "--offer", "none")))
	a := s.call("mcp_list_tools", map[string]any{})
	if joined(a) != "[no tools of other servers]" || a.Result.StructuredContent["total"] != 0.0 {
		t.Errorf("%+v", a.Result)
	}
}

package gmail

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/tools/google/api"
)

func TestScopes(t *testing.T) {
	const base = "https://www.googleapis.com/auth/gmail."
	for _, c := range []struct {
		tools string
		want  []string
	}{
		{"", nil},
		{"gmail_search gmail_read", []string{base + "readonly"}},
		{"gmail_send", []string{base + "compose"}},
		{"gmail_search gmail_read gmail_send", []string{base + "compose", base + "readonly"}},
		{"gmail_send gmail_draft", []string{base + "compose"}},
		{"gmail_labels", []string{base + "labels"}},
		{"gmail_labels gmail_read_thread", []string{base + "readonly"}},
		{"gmail_search gmail_send gmail_draft gmail_labels gmail_modify_labels gmail_save_attachment", []string{base + "modify"}},
		{"calendar_list_events unknown", nil},
	} {
		enabled := func(e api.Tool) bool { return slices.Contains(strings.Fields(c.tools), e.Tool) }
		if got := Family(nil).Scopes(enabled); !slices.Equal(got, c.want) {
			t.Errorf("Scopes(%s) = %v; want %v", c.tools, got, c.want)
		}
	}
}

func TestTiers(t *testing.T) {
	s, _ := box(t, sandbox.Policy{}, nil)
	tools := Family(newClient()).Tools
	names := func(full bool) (list []string) {
		for _, e := range tools {
			if e.Full && !full {
				continue
			}
			tool := e.Make(s.For(e.Tool))
			list = append(list, tool.Name)
			if !tool.Annotations.OpenWorld || tool.Input == nil || (tool.Preview != nil) != (e.Reads != "") {
				t.Errorf("%s: %s, %+v", tool.Name, tool.Category, tool.Annotations)
			}
		}
		return list
	}
	if got := names(false); !slices.Equal(got, []string{"gmail_search", "gmail_read", "gmail_send"}) {
		t.Errorf("tools %v", got)
	}
	var declared []string
	for _, d := range Family(nil).Tools {
		declared = append(declared, d.Tool)
	}
	if got := names(true); !slices.Equal(got, declared) || len(got) != 10 {
		t.Errorf("tools of the full tier %v; declared %v", got, declared)
	}
	send := tools[2].Make(s.For(tools[2].Tool)).Annotations
	if send != (domain.Annotations{OpenWorld: true}) {
		t.Errorf("gmail_send: %+v", send)
	}
}

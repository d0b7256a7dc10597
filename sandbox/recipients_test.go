package sandbox

import (
	"errors"
	"strings"
	"testing"
)

func TestRecipients(t *testing.T) {
	owners := []Owner{{Tool: "send", Mails: "send"}, {Tool: "invite", Mails: "send"}, {Tool: "other"}}
	for _, tt := range []struct {
		name            string
		lists           ToolPolicy
		allowed, denied []string
	}{
		{"no lists", ToolPolicy{}, []string{"a@example.com", "b@x.example"}, nil},
		{"nobody", ToolPolicy{AllowedRecipients: []string{}}, nil, []string{"a@example.com"}},
		{
			"domain", ToolPolicy{AllowedRecipients: []string{"@example.com"}}, []string{"a@example.com", "A@EXAMPLE.COM"},
			[]string{"a@sub.example.com", "a@example.com.evil.example", "a@evilexample.com", "@example.com@evil.example", "a@b@evil.example", "example.com", ""},
		},
		{"below", ToolPolicy{AllowedRecipients: []string{"*@*.example.com"}}, []string{"a@x.example.com", "a@y.x.example.com"}, []string{"a@example.com", "a@xexample.com"}},
		{"address", ToolPolicy{AllowedRecipients: []string{"Bob@Example.com"}}, []string{"bob@example.com"}, []string{"bobby@example.com", "xbob@example.com", "bob@example.org"}},
		{"international", ToolPolicy{AllowedRecipients: []string{"@bücher.example"}}, []string{"a@bücher.example", "a@xn--bcher-kva.example", "a@BÜCHER.example"}, []string{"a@bucher.example"}},
		{
			"deny overrides", ToolPolicy{AllowedRecipients: []string{"@example.com"}, DeniedRecipients: []string{"ceo@example.com", "@*.example.com"}},
			[]string{"a@example.com"}, []string{"ceo@example.com", "CEO@example.com", "a@x.example.com"},
		},
		{
			"other writings of a denied domain", ToolPolicy{DeniedRecipients: []string{"@evil.example"}}, []string{"a@example.com", "a@xn--bcher-kva.example"},
			[]string{"x@evil.example.", "x@evil.example。", "x@evil.example．", "x@evil。example", "x@ｅvil.example", "x@evil\u200d.example", "x@EVIL.example.", "evil.example", "x@"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := New(Policy{WorkingDirectory: t.TempDir(), Owners: owners, Tools: map[string]ToolPolicy{"send": tt.lists}}, newKernel(t))
			if err != nil {
				t.Fatal(err)
			}
			for _, tool := range []string{"send", "invite"} { // of one family
				for _, address := range tt.allowed {
					if err := s.For(tool).Recipients().Check(address); err != nil {
						t.Errorf("%s: %v", tool, err)
					}
				}
				for _, address := range tt.denied {
					err := s.For(tool).Recipients().Check(append(tt.allowed[:len(tt.allowed):len(tt.allowed)], address)...)
					refused, ok := errors.AsType[*RecipientError](err)
					if !ok || refused.Address != address || !strings.Contains(err.Error(), "tools.send.") {
						t.Errorf("%s %q: %v", tool, address, err)
					}
				}
			}
			if s.For("other").Recipients().Check("a@example.com") == nil {
				t.Error("a tool mails that does not declare it")
			}
		})
	}
	for _, entry := range []string{"", "example.com", "*", "a b@example.com", "a*@example.com", "a@", "@", "a@exa mple.com", "a,b@example.com"} {
		if CheckRecipientEntry(entry) == nil {
			t.Errorf("%q is accepted", entry)
		}
	}
}

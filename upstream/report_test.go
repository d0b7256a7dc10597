package upstream

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/toolserver/toolserver/domain"
)

// TestApprove pins the tools that are named, as they are in the list whose differences are
// known, and no others.
func TestApprove(t *testing.T) {
	s := testServer(t, "s", Settings{URL: "https://example.com", Pin: pinQuarantine})
	list := func(description string) catalog {
		return catalog{Protocol: "2025-11-25", Tools: []json.RawMessage{
			json.RawMessage(`{"name":"a","description":"` + description + `"}`), json.RawMessage(`{"name":"b.c","description":"` + description + `"}`),
			json.RawMessage(`{"name":"same"}`),
		}}
	}
	differ := func() (names []string) {
		for _, d := range s.Differences() {
			names = append(names, d.Tool)
		}
		return names
	}
	if s.Known() {
		t.Error("a server that was never connected is known")
	}
	s.adopt(list("before"))
	if !s.Known() || len(s.Offer().Tools) != 3 || len(differ()) != 0 {
		t.Fatalf("%v, %v", s.Offer(), differ())
	}
	s.adopt(list("now"))
	if got := differ(); !slices.Equal(got, []string{"a", "b.c"}) || len(s.Offer().Tools) != 1 || s.Report().Changed != 2 {
		t.Fatalf("%v, %v", got, s.Offer())
	}
	if err := s.Approve([]string{"a", "none"}); err == nil || len(differ()) != 2 {
		t.Errorf("%v, %v", err, differ())
	}
	if err := s.Approve([]string{"b.c"}); err != nil {
		t.Fatal(err)
	}
	if got := differ(); !slices.Equal(got, []string{"a"}) || len(s.Offer().Tools) != 2 {
		t.Errorf("%v, %v", got, s.Offer())
	}
	if s.adopt(list("later")); len(differ()) != 2 {
		t.Errorf("%v", differ())
	}
}

func TestMayOffer(t *testing.T) {
	long := "a23456789012345678901234567890123456789012345678901234567890abcd"
	for _, test := range []struct {
		server, name string
		want         bool
	}{
		{"pdf", "pdf__merge", true}, {"pdf", "pdf_merge", true}, {"pdf", "pdfs__merge", false}, {"pdf", "merge", false}, {"pdf", "pdf", false},
		{"my.server", "my_server__x", true}, {"pdf_secret", "pdf__x", false}, {"pdf", "pdf_secret__x", true},
		{long, OfferedName(long, "tool"), true}, {long, alias(long, "tool"), true},
	} {
		if got := MayOffer(test.server, test.name); got != test.want {
			t.Errorf("%s %s: %v", test.server, test.name, got)
		}
	}
}

// TestReportAllowed has servers shown to those who may use them.
func TestReportAllowed(t *testing.T) {
	access := domain.Access{Levels: map[string]domain.Level{"low": {}, "high": {AllowedWith: []string{"low"}}}}
	s := testServer(t, "s", Settings{Command: []string{"x"}, Groups: []string{" Staff "}, ComplianceLevel: "high"})
	off := Disabled("off", Settings{Command: []string{"x"}, Groups: []string{"staff"}, ComplianceLevel: "high"})
	for _, test := range []struct {
		p    domain.Principal
		want bool
	}{
		{domain.Principal{Groups: []string{"staff"}, ComplianceLevel: "high"}, true},
		{domain.Principal{Groups: []string{"staff"}, ComplianceLevel: "low"}, false},
		{domain.Principal{ComplianceLevel: "high"}, false},
	} {
		r := s.Report()
		if r.Allowed(access, test.p) != test.want || off.Allowed(access, test.p) != test.want {
			t.Errorf("%+v: %v", test.p, !test.want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	s.Settle(ended, "") // does not wait for a server that nobody has started
}

func TestOwnName(t *testing.T) {
	if s := (&Settings{URL: "https://example.com/mcp"}); len(s.Check(BuiltIn)) != 1 || len(s.Check("other")) != 0 {
		t.Errorf("%v, %v", s.Check(BuiltIn), s.Check("other"))
	}
}

package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/domain"
)

func TestLines(t *testing.T) {
	for _, test := range []struct{ json, want string }{
		{``, ""},
		{`"one\ntwo\n\n  three"`, "one\ntwo\n\n  three\n"},
		{`"a\u001b[2Kb\rc\u202ed"`, `a\u001b[2Kb\u000dc\u202ed` + "\n"},
		{`{"type":"object","required":["x"]}`, "{\n  \"required\": [\n    \"x\"\n  ],\n  \"type\": \"object\"\n}\n"},
		{`{"description":"a\u200bb <c>"}`, "{\n  \"description\": \"a\\u200bb <c>\"\n}\n"},
		{`true`, "true\n"},
	} {
		var raw json.RawMessage
		if test.json != "" {
			raw = json.RawMessage(test.json)
		}
		if got := lines(raw); got != test.want {
			t.Errorf("%s: %q; want %q", test.json, got, test.want)
		}
	}
}

func TestAbout(t *testing.T) {
	for _, test := range []struct {
		line string
		want bool
	}{
		{"2026-11-23T12:11:50Z\tinfo\tstderr\t{\"server\": \"u\", \"line\": \"x {y}\"}", true},
		{`{"level":"info","msg":"stderr","server":"u","line":"x"}`, true},
		{`{"level":"info","msg":"stderr","server":"v","line":"\"server\": \"u\""}`, false},
		{"2026-11-23T12:11:50Z\tinfo\tconfiguration", false},
		{`{"server":"u"`, false},
	} {
		if got := about(test.line, "u"); got != test.want {
			t.Errorf("%s: %v", test.line, got)
		}
	}
}

// TestPrintedByOthers shows nothing of a server that a terminal would obey.
func TestPrintedByOthers(t *testing.T) {
	const evil = "x\x1b]0;title\x07\u202e"
	var out bytes.Buffer
	l := app.Listed{}
	l.Name, l.Reason, l.Problems = "u", evil, []string{evil}
	l.Server = json.RawMessage(`{"name":"x\u001b[1m","version":"\u0007"}`)
	l.Left = append(l.Left, domain.Missing{Kind: domain.KindTool, Name: evil, Reason: evil})
	if err := printServers(&out, []app.Listed{l}); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.ContainsAny(text, "\x1b\x07\u202e") || strings.Count(text, `x\u001b`) != 5 {
		t.Errorf("%q", text)
	}
	if text := visibleLines("  one\n" + evil + "\n"); text != "  one\n"+`x\u001b]0;title\u0007\u202e`+"\n" {
		t.Errorf("%q", text)
	}
}

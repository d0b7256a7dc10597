package server

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// metaOf returns the _meta of each tool as a client gets it; "" for none.
func metaOf(t *testing.T, s *Server, client string, modern bool) map[string]string {
	t.Helper()
	send := request(`1`, "tools/list", `{}`, true)
	send = strings.Replace(send, `"name":"t"`, fmt.Sprintf(`"name":%q`, client), 1)
	if !modern {
		send = strings.Replace(initialize("2025-11-25"), `"name":"t"`, fmt.Sprintf(`"name":%q`, client), 1) + "\n" + request(`1`, "tools/list", `{}`, false)
	}
	answers := play(t, s, send)
	var r struct {
		Result struct{ Tools []json.RawMessage }
	}
	if err := json.Unmarshal([]byte(answers[len(answers)-1]), &r); err != nil || r.Result.Tools == nil {
		t.Fatalf("%v: %s", err, answers)
	}
	all := map[string]string{}
	for _, tool := range r.Result.Tools {
		name, _ := rawjson.String(rawjson.Member(tool, "name"))
		if strings.Count(string(tool), `"_meta"`) > 1 {
			t.Errorf("%s has _meta twice: %s", name, tool)
		}
		all[name] = string(rawjson.Member(tool, "_meta"))
	}
	return all
}

// TestHints has Claude Code, and nobody else, get the hints that it obeys, over both kinds of protocol versions.
func TestHints(t *testing.T) {
	s, registry := fixture(t)
	own := func(tool domain.Tool) domain.Tool {
		tool.Description = "A tool."
		return domain.Define(tool, func(context.Context, noInput) (domain.ToolResult, error) { return domain.Text(""), nil })
	}
	input, err := schema.Parse([]byte(`{"type":"object"}`))
	if err != nil {
		t.Fatal(err)
	}
	foreign := func(name, meta string) domain.Tool {
		listed := fmt.Sprintf(`{"name":%q,"description":"Foreign.","inputSchema":{"type":"object"}%s}`, name, meta)
		return domain.Tool{Name: "up__" + name, Description: "Foreign.", Category: "up", Input: input, Origin: domain.Origin{Server: "up", Tool: name},
			Listing: domain.ListedIfFew, Listed: json.RawMessage(listed), RunRaw: func(context.Context, json.RawMessage) (domain.ToolResult, error) { return domain.ToolResult{}, nil }}
	}
	add(s, own(domain.Tool{Name: "plain"}), own(domain.Tool{Name: "reads", Category: "file", Ability: "read \"files\""}),
		own(domain.Tool{Name: "sends", Category: "mail", Final: true, Annotations: domain.Annotations{OpenWorld: true}}), own(domain.Tool{Name: "asks", Confirm: true}),
		own(domain.Tool{Name: "sends_freely", Final: true}), own(domain.Tool{Name: "long", MaxResultChars: 60_000}), own(domain.Tool{Name: "longest", MaxResultChars: 900_000}),
		own(domain.Tool{Name: "usual", MaxResultChars: 50_000}), own(domain.Tool{Name: "next", Listing: domain.ListedAlways}), own(domain.Tool{Name: "finds", Listing: domain.ListedToSearch}),
		own(domain.Tool{Name: "data", Output: schema.OutputOf[struct{}]()}),
		foreign("none", ``), foreign("own", `,"_meta":{"a/b":1.50,"anthropic/requiresUserInteraction":false,"anthropic/maxResultSizeChars":7}`),
		foreign("quiet", `,"_meta":{"a/b":{"c":[]}}`), foreign("zero", `,"_meta":null`), foreign("list", `,"_meta":[]`), foreign("text", `,"_meta":"x"`), foreign("empty", `,"_meta":{}`))
	const ask = `"anthropic/requiresUserInteraction":true`
	theirs := map[string]string{ // whatever the client is
		"up__none": ``, "up__own": `{"a/b":1.50,"anthropic/requiresUserInteraction":false,"anthropic/maxResultSizeChars":7}`, "up__quiet": `{"a/b":{"c":[]}}`, "up__empty": `{}`,
	}
	plain := map[string]string{"plain": ``, "reads": `{"toolserver/category":"file"}`, "sends": `{"toolserver/category":"mail"}`, "asks": ``, "long": ``, "next": ``}
	claude := map[string]string{
		"plain": ``, "reads": `{"toolserver/category":"file","anthropic/searchHint":"read \"files\""}`, "sends": `{"toolserver/category":"mail",` + ask + `}`, "asks": `{` + ask + `}`,
		"sends_freely": ``, "long": `{"anthropic/maxResultSizeChars":60000}`, "longest": `{"anthropic/maxResultSizeChars":900000}`, "usual": ``, "data": ``,
		"next": `{"anthropic/alwaysLoad":true}`, "finds": ``,
	}
	for i, test := range []struct {
		settings domain.Settings
		client   string
		want     []map[string]string
	}{
		{domain.Settings{}, "t", []map[string]string{plain, theirs}},
		{domain.Settings{}, "claude-code-sdk", []map[string]string{plain, theirs}},
		{domain.Settings{}, "claude-code", []map[string]string{claude, theirs}},
		{domain.Settings{Discovery: domain.Discovery{Mode: domain.DiscoverSearch}}, "claude-code", []map[string]string{{"next": claude["next"], "finds": `{"anthropic/alwaysLoad":true}`}}},
		{domain.Settings{Limits: domain.Limits{MaxResultChars: 70_000}, StructuredContent: domain.FormText}, "claude-code",
			[]map[string]string{{"long": `{"anthropic/maxResultSizeChars":70000}`, "data": `{"anthropic/maxResultSizeChars":70000}`, "up__none": `{"anthropic/maxResultSizeChars":70000}`, "up__own": theirs["up__own"],
				"up__quiet": `{"a/b":{"c":[]},"anthropic/maxResultSizeChars":70000}`}}},
		{domain.Settings{Limits: domain.Limits{MaxResultChars: 30_000}}, "claude-code", []map[string]string{{"long": ``}}}, // the operator wants less
		{domain.Settings{StructuredContent: domain.FormBoth}, "claude-code", []map[string]string{{"data": `{"anthropic/maxResultSizeChars":80000}`, "plain": ``}}},
		{domain.Settings{Tools: map[string]domain.Override{"up__none": {Confirm: new(true)}, "up__own": {Confirm: new(true)}, "up__quiet": {Confirm: new(true)}, "up__zero": {Confirm: new(true)},
			"up__list": {Confirm: new(true)}, "up__text": {Confirm: new(true)}, "sends": {Confirm: new(false)}, "reads": {Confirm: new(true)}}}, "claude-code",
			[]map[string]string{{"up__none": `{` + ask + `}`, "up__own": `{"a/b":1.50,` + ask + `,"anthropic/maxResultSizeChars":7}`, "up__quiet": `{"a/b":{"c":[]},` + ask + `}`, "up__zero": `{` + ask + `}`,
				"up__list": `{` + ask + `}`, "up__text": `{` + ask + `}`, "sends": `{"toolserver/category":"mail"}`, "reads": `{"toolserver/category":"file",` + ask + `,"anthropic/searchHint":"read \"files\""}`}}},
	} {
		tools := map[string]domain.Override{"sends_freely": {Confirm: new(false)}}
		for name, o := range test.settings.Tools {
			tools[name] = o
		}
		test.settings.Tools = tools
		if test.settings.Discovery.Mode == "" {
			test.settings.Discovery.Mode = domain.DiscoverAll
		}
		registry.Configure(test.settings)
		for _, modern := range []bool{false, true} {
			got := metaOf(t, s, test.client, modern)
			for _, want := range test.want {
				for name, meta := range want {
					if got[name] != meta {
						t.Errorf("case %d, %s, modern %t: %s has %s; want %s", i, test.client, modern, name, got[name], meta)
					}
				}
			}
		}
	}
}

// TestHintsChange notifies clients of a list whose hints, schemas or tools change with the configuration, and of no other.
func TestHintsChange(t *testing.T) {
	s, registry := fixture(t)
	add(s, domain.Define(domain.Tool{Name: "sends", Description: "Sends.", Final: true}, func(context.Context, noInput) (domain.ToolResult, error) { return domain.Text(""), nil }))
	registry.Configure(domain.Settings{})
	changed := false
	defer registry.OnChange(func(c domain.Change) { changed = c.Tools })()
	for _, step := range []struct {
		settings domain.Settings
		want     bool
	}{
		{domain.Settings{}, false},
		{domain.Settings{Tools: map[string]domain.Override{"echo": {Confirm: new(true)}}}, true},
		{domain.Settings{Tools: map[string]domain.Override{"echo": {Confirm: new(true)}, "sends": {Confirm: new(false)}}}, true},
		{domain.Settings{Tools: map[string]domain.Override{"echo": {Confirm: new(false)}, "sends": {Confirm: new(false)}}}, true},
		{domain.Settings{Tools: map[string]domain.Override{"sends": {Confirm: new(false)}}}, false},
		{domain.Settings{}, true},
		{domain.Settings{Limits: domain.Limits{MaxResultChars: 90_000}}, true},
		{domain.Settings{Limits: domain.Limits{MaxResultChars: 90_000, PerTool: 7}}, false},
		{domain.Settings{StructuredContent: domain.FormText}, true},
	} {
		changed = false
		registry.Configure(step.settings)
		if changed != step.want {
			t.Errorf("%+v: changed %t", step.settings, changed)
		}
	}
}

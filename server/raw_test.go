package server

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/schema"
)

// TestVerbatim checks that what another server says reaches the client as it
// was: arguments, blocks, _meta, members of lists, error codes and data.
func TestVerbatim(t *testing.T) {
	s, _ := fixture(t)
	schema, err := schema.Parse([]byte(`{"type":"object","properties":{"a":{"type":"string","default":"x"}},"allOf":[{"required":["z"]}],"x-own":1}`))
	if err != nil {
		t.Fatal(err)
	}
	const (
		listed   = `{"icons":[{"src":"https://e.example/i.png"}],"annotations":{"readOnlyHint":true},"_meta":{"z":1,"ui":{"a":2}}}`
		block    = `{"type":"image","data":"aGk=","mimeType":"image/png","annotations":{"priority":0.5},"_meta":{"b":1,"a":2}}`
		contents = `{"uri":"up://doc","mimeType":"text/x","text":"doc","_meta":{"z":1}}`
	)
	add(s, domain.Tool{
		Name: "up__tool", Description: "Is another server's.", Input: schema, Listed: json.RawMessage(listed),
		RunRaw: func(_ context.Context, args json.RawMessage) (domain.ToolResult, error) {
			if strings.Contains(string(args), "fail") {
				return domain.ToolResult{}, &domain.Error{Code: -32042, Message: "sign in first", Verbatim: true, RawData: json.RawMessage(`{"z":[1],"a":2}`)}
			}
			return domain.ToolResult{
				Content: []domain.Content{{Type: domain.ImageContent, Raw: json.RawMessage(block)}},
				Results: json.RawMessage(`{"z":1,"a":{"y":2,"b":3}}`), Meta: args,
			}, nil
		},
	})
	s.exec.Registry.Register(domain.FixedSource("up", domain.Offer{
		Resources: []domain.Resource{{URI: "up://doc", Name: "doc", Listed: json.RawMessage(`{"size":3}`), Read: func(context.Context, domain.Location) ([]domain.Content, error) {
			return []domain.Content{{Type: domain.ResourceContent, Raw: json.RawMessage(contents)}}, nil
		}}},
		Prompts: []domain.Prompt{{Name: "p", Listed: json.RawMessage(`{"_meta":{"k":1}}`), Get: func(context.Context, map[string]string) (domain.PromptResult, error) {
			return domain.PromptResult{Messages: []domain.PromptMessage{{Role: "user", Content: domain.Content{Type: domain.ImageContent, Raw: json.RawMessage(block)}}}}, nil
		}}},
	}, nil))
	for _, modern := range []bool{false, true} {
		for transport, talk := range map[string]conversation{"stdio": overStdio(t, s), "http": overHTTP(t, s, modern, nil)} {
			if !modern {
				talk(t, initialize("2025-11-25"))
			}
			for _, asResults := range []bool{false, true} {
				s.ErrorsAsResults.Store(asResults)
				for _, test := range []struct{ method, params, want string }{
					{"tools/list", `{}`, `"x-own":1},"icons":[{"src":"https://e.example/i.png"}],"annotations":{"readOnlyHint":true},"_meta":{"z":1,"ui":{"a":2}}}`},
					{"tools/call", `{"name":"up__tool","arguments":{"z": 1.0, "b":{"q":1,"a":2}}}`, `{"content":[` + block + `],"structuredContent":{"z":1,"a":{"y":2,"b":3}}`},
					{"tools/call", `{"name":"up__tool","arguments":{"z": 1.0, "b":{"q":1,"a":2}}}`, `"_meta":{"z": 1.0, "b":{"q":1,"a":2}`},
					{"tools/call", `{"name":"up__tool","arguments":{"z":"fail"}}`, `"error":{"code":-32042,"message":"sign in first","data":{"z":[1],"a":2}}`},
					{"resources/list", `{}`, `{"name":"doc","uri":"up://doc","size":3}`},
					{"resources/read", `{"uri":"up://doc"}`, `{"contents":[` + contents + `]`},
					{"prompts/list", `{}`, `{"name":"p","_meta":{"k":1}}`},
					{"prompts/get", `{"name":"p"}`, `"content":` + block},
				} {
					if got := talk(t, request("1", test.method, test.params, modern)); !strings.Contains(got, test.want) {
						t.Errorf("%s, modern %v: %s %s\n got %s\nwant %s", transport, modern, test.method, test.params, got, test.want)
					}
				}
			}
			s.ErrorsAsResults.Store(false)
		}
	}
}

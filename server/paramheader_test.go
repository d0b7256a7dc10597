package server

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/schema"
)

// TestParamHeaders holds a header that repeats an argument to the one that the call gets.
func TestParamHeaders(t *testing.T) {
	s, _ := fixture(t)
	input, err := schema.Parse([]byte(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	add(s, domain.Tool{Name: "look", Description: "A tool.", Input: input, Run: func(_ context.Context, args domain.Arguments) (domain.ToolResult, error) {
		shown, err := args.JSON()
		return domain.Text(string(shown)), err
	}})
	url := httpFixture(t, s, nil).URL + "/mcp"
	for _, test := range []struct{ members, want string }{
		{`"arguments":{"region":"us"}`, `{\"region\":\"us\"}`},
		{`"arguments":{"region":"eu"}`, "-32020"},
		{`"arguments":{"region":"eu"},"Arguments":{"region":"us"}`, "-32020"},
		{`"arguments":{"region":"eu","Region":"us"}`, "-32020"},
		{`"arguments":{"region":"us","region":"eu"}`, "-32020"},
		{`"Arguments":{"region":"us"}`, "-32020"},
	} {
		resp := post(t, url, "", request("1", "tools/call", `{"name":"look",`+test.members+`}`, true), true, map[string]string{"Mcp-Param-Region": "us"})
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if !strings.Contains(string(body), test.want) {
			t.Errorf("%s: %s; want %s", test.members, body, test.want)
		}
	}
}

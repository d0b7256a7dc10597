package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/schema"
)

// shows are capabilities of a client that shows views.
const shows = `"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}`

// withViews adds tools that have a view, whose results have structured content or not.
func withViews(s *Server) {
	none := func(context.Context, noInput) (domain.ToolResult, error) { return domain.Text(""), nil }
	add(s, domain.Define(domain.Tool{Name: "drawn", Description: "A tool.", Category: "file", View: "chart"}, none),
		domain.Define(domain.Tool{Name: "drawn_data", Description: "A tool.", View: "chart", Output: schema.OutputOf[struct{}]()}, none))
}

// TestViews tells clients that show views of them, over both kinds of protocol versions, and gives all others what they got before.
func TestViews(t *testing.T) {
	s, registry := fixture(t)
	withViews(s)
	list := func(capabilities, client string, modern bool) string {
		send := strings.Replace(request(`1`, "tools/list", `{}`, true), `clientCapabilities":{}`, `clientCapabilities":{`+capabilities+`}`, 1)
		if !modern {
			send = strings.Replace(initialize("2025-11-25"), `"capabilities":{}`, `"capabilities":{`+capabilities+`}`, 1) + "\n" + request(`1`, "tools/list", `{}`, false)
		}
		answers := play(t, s, strings.Replace(send, `"name":"t"`, fmt.Sprintf(`"name":%q`, client), 1))
		return answers[len(answers)-1]
	}
	const view = `"ui":{"resourceUri":"ui://toolserver/chart","visibility":["model","app"]},"ui/resourceUri":"ui://toolserver/chart"`
	for _, modern := range []bool{false, true} {
		plain := list("", "t", modern)
		if strings.Contains(plain, `"ui`) {
			t.Errorf("modern %t: %s", modern, plain)
		}
		for _, odd := range []string{
			`"extensions":{}`, `"extensions":null`, `"extensions":[]`, `"extensions":{"io.modelcontextprotocol/ui":{}}`, `"extensions":{"io.modelcontextprotocol/ui":null}`,
			`"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":"text/html;profile=mcp-app"}}`, `"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":[]}}`,
			`"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":[null,1,{},"text/html"]}}`, `"elicitation":{}`, `"extensions":"io.modelcontextprotocol/ui"`,
		} {
			if got := list(odd, "t", modern); got != plain {
				t.Errorf("modern %t: with %s the list is another one", modern, odd)
			}
		}
		for _, known := range []string{shows, strings.Replace(shows, `["`, `[null,"text/plain","`, 1), `"elicitation":{},"roots":{},` + shows} {
			got := list(known, "t", modern)
			if n := strings.Count(got, view); n != 2 || !strings.Contains(got, `"_meta":{"toolserver/category":"file",`+view+`}`) || !strings.Contains(got, `"_meta":{`+view+`}`) {
				t.Errorf("modern %t: %d views in %s", modern, n, got)
			}
			if strings.ReplaceAll(strings.ReplaceAll(got, `,"_meta":{`+view+`}`, ""), ","+view, "") != plain {
				t.Errorf("modern %t: more than views in %s", modern, got)
			}
		}
		if got := list(shows, "claude-code", modern); strings.Count(got, view) != 1 { // it gets no structured content
			t.Errorf("modern %t: Claude Code got %s", modern, got)
		}
		registry.Configure(domain.Settings{StructuredContent: domain.FormText})
		if got := list(shows, "t", modern); strings.Count(got, view) != 1 {
			t.Errorf("modern %t: text only got %s", modern, got)
		}
		registry.Configure(domain.Settings{})
		s.Offer(Protocol{})
		if got := list(shows, "t", modern); got != plain {
			t.Errorf("modern %t: without the extension got %s", modern, got)
		}
		s.Offer(DefaultProtocol())
	}
}

// TestViewsOfReplicas has a replica know of the client of another one that it shows views.
func TestViewsOfReplicas(t *testing.T) {
	urls, servers := twoReplicas(t)
	for _, s := range servers {
		withViews(s)
	}
	ann := map[string]string{"Authorization": "Bearer ann-token"}
	for capabilities, want := range map[string]int{"": 0, shows: 2} {
		resp := post(t, urls[0], "", strings.Replace(initialize("2025-11-25"), `"capabilities":{}`, `"capabilities":{`+capabilities+`}`, 1), false, ann)
		resp.Body.Close()
		for _, url := range urls {
			list := post(t, url, resp.Header.Get(sessionHeader), request(`2`, "tools/list", `{}`, false), false, ann)
			body, err := io.ReadAll(list.Body)
			list.Body.Close()
			if err != nil || list.StatusCode != http.StatusOK || strings.Count(string(body), `"ui":{`) != want {
				t.Errorf("%q: status %d, %v: %s", capabilities, list.StatusCode, err, body)
			}
		}
	}
}

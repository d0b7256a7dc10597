//go:build linux

package e2e

import (
	"strings"
	"testing"

	"github.com/toolserver/toolserver/wire/rawjson"
)

// TestServerCard has strangers get the card of a server that lets nobody in without a token, the same one after a reload.
func TestServerCard(t *testing.T) {
	t.Parallel()
	settings := func(name string) string {
		return "server: {public_url: 'https://tools.example.com/team', tokens: [" + tokenEntry(name, "a-secret-token") + "]}\n"
	}
	args := httpConfig(t, t.TempDir(), settings("ann"))
	s := launchHTTP(t, nil, binary(), args...)
	if r := s.do(t, "GET", "/mcp", "", nil); r.status != 401 {
		t.Errorf("the endpoint without a token: %d", r.status)
	}
	card := s.do(t, "GET", "/mcp/server-card", "", map[string]string{"Host": "elsewhere.example"})
	name, _ := rawjson.String(rawjson.Member([]byte(card.body), "name"))
	if remotes := string(rawjson.Member([]byte(card.body), "remotes")); card.status != 200 || name != "com.example.tools/toolserver" || !strings.Contains(remotes, `"https://tools.example.com/team/mcp"`) {
		t.Errorf("%d %s", card.status, card.body)
	}
	if r := s.do(t, "GET", "/.well-known/ai-catalog.json", "", nil); !strings.Contains(r.body, `"https://tools.example.com/team/mcp/server-card"`) {
		t.Errorf("the catalog is %s", r.body)
	}
	s.reloaded(t, args[1], settings("bob"))
	if r := s.do(t, "GET", "/mcp/server-card", "", map[string]string{"If-None-Match": card.header.Get("ETag")}); r.status != 304 || r.body != "" {
		t.Errorf("after a reload: %d %s", r.status, r.body)
	}
}

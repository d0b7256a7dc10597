//go:build linux

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
)

// TestUnusedKeys keeps keys of services out of answers that are in the environment and not in use, because the file has others.
func TestUnusedKeys(t *testing.T) {
	t.Parallel()
	var env []string
	all, i := "", 0
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_ADMIN_API_KEY", "BRAVE_API_KEY", "TAVILY_API_KEY", "GOOGLE_CLIENT_SECRET"} {
		i++
		env = append(env, fmt.Sprintf("%s=unused-key-%d-0123456789 ", name, i))
		all += fmt.Sprintf("unused-key-%d-0123456789 used-key-%d-0123456789\n", i, i)
	}
	page := newStandIn(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, all) }))
	g := newGround(t, account{"own", os.Geteuid()})
	b := g.open(setup{env: env, config: opened(page) + `anthropic: {api_key: used-key-1-0123456789, admin_api_key: used-key-2-0123456789}
web: {search: {brave: {api_key: used-key-3-0123456789}, tavily: {api_key: used-key-4-0123456789}}}
google: {client_id: x, client_secret: used-key-5-0123456789}
`})
	for name, o := range map[string]outcome{
		"web_fetch": b.fetch(page.url), "echo": b.call("echo", map[string]any{"message": all}),
		"bash": b.call("bash", map[string]any{"command": "echo '" + all + "'"}),
	} {
		if said := fmt.Sprint(o); strings.Contains(said, "used-key-") || !strings.Contains(said, "[redacted] [redacted]") {
			t.Errorf("%s: %s", name, said)
		}
	}
	b.stop()
}

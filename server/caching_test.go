package server

import (
	"strings"
	"testing"
)

// TestCaching has every result that a client may keep say that it must not be used again, and no other result say anything of it.
func TestCaching(t *testing.T) {
	s, _ := fixture(t)
	offer(t, s)
	const hint = `,"ttlMs":0,"cacheScope":"private","resultType":"complete"`
	for method, params := range map[string]string{
		"server/discover": `{}`, "tools/list": `{}`, "prompts/list": `{}`, "resources/list": `{}`, "resources/templates/list": `{}`,
		"resources/read": `{"uri":"doc:text"}`,
	} {
		for _, meta := range []string{`"name":"t"`, `"name":"t"},"toolserver/category":"custom","x":{"y":1`, `"name":"claude-code"`} {
			if got := play(t, s, strings.Replace(request(`1`, method, params, true), `"name":"t"`, meta, 1))[0]; strings.Count(got, hint) != 1 || strings.Count(got, "ttlMs") != 1 {
				t.Errorf("%s with %s: got %s", method, meta, got)
			}
		}
		if got := play(t, s, request(`1`, method, params, false))[0]; strings.Contains(got, "ttlMs") || strings.Contains(got, "cacheScope") {
			t.Errorf("%s in a session: got %s", method, got)
		}
	}
	for method, params := range map[string]string{"prompts/get": `{"name":"greet","arguments":{"who":"Ann","how":"warmly"}}`, "tools/call": `{"name":"echo"}`} {
		if got := play(t, s, request(`1`, method, params, true))[0]; strings.Contains(got, "ttlMs") {
			t.Errorf("%s: got %s", method, got)
		}
	}
}

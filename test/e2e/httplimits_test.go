package e2e

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var rateHeader = regexp.MustCompile(`^"principal";r=(\d+);t=(\d+)$`)

// TestHTTPRateHeaders calls as often as the limit allows, and once more: each answer
// says what is left, and the last one when to call again. All the rest goes on.
func TestHTTPRateHeaders(t *testing.T) {
	for _, form := range []string{"jsonrpc", "result"} {
		for _, version := range []string{"2025-11-25", modernVersion} {
			t.Run(form+" "+version, func(t *testing.T) {
				t.Parallel()
				s := startHTTP(t, binary(), httpConfig(t, t.TempDir(), "errors: "+form+"\nlimits: {rate_per_minute: 3}\n")...)
				p := s.newPeer(t, version, "")
				call := func(id string) reply {
					return p.post(t, p.callMessage(id, "echo", map[string]any{"message": "x"}, ""), nil)
				}
				for i := range 3 {
					r := call("1")
					m := rateHeader.FindStringSubmatch(r.header.Get("RateLimit"))
					if r.status != http.StatusOK || m == nil || m[1] != fmt.Sprint(2-i) || r.header.Get("RateLimit-Policy") != `"principal";q=3;w=60` || r.header.Get("Retry-After") != "" {
						t.Errorf("call %d: %d %v", i+1, r.status, r.header)
					}
				}
				r := call("9")
				m := rateHeader.FindStringSubmatch(r.header.Get("RateLimit"))
				after, err := strconv.Atoi(r.header.Get("Retry-After"))
				if r.status != http.StatusOK || m == nil || m[1] != "0" || err != nil || after < 1 || after > 20 {
					t.Errorf("one call more: %d %v", r.status, r.header)
				}
				for _, want := range []string{`"id":9`, "over 3 calls a minute; try again in ", `"reason":"rate_limited"`, `"retryAfterMs":`, `"limit":3`} {
					if !strings.Contains(r.body, want) {
						t.Errorf("%s is not in %s", want, r.body)
					}
				}
				if isResult := strings.Contains(r.body, `"isError":true`); isResult != (form == "result") {
					t.Errorf("got %s", r.body)
				}
				others := map[string]string{"list": p.message("1", "tools/list", "", "")}
				if p.modern {
					others["discover"] = p.message("1", "server/discover", "", "")
				} else {
					others["ping"] = p.message("1", "ping", "", "")
					others["cancellation"] = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
				}
				for name, msg := range others {
					if r := p.post(t, msg, nil); r.status > http.StatusAccepted || strings.Contains(r.body, `"error":{"code"`) || r.header.Get("RateLimit") != "" {
						t.Errorf("%s: %d %v %.300s", name, r.status, r.header, r.body)
					}
				}
				s.running(t)
			})
		}
	}
	t.Run("without a limit", func(t *testing.T) {
		t.Parallel()
		p := startHTTP(t, binary(), t.TempDir()).newPeer(t, "2025-11-25", "")
		if r := p.post(t, p.callMessage("1", "echo", map[string]any{"message": "x"}, ""), nil); r.header.Get("RateLimit")+r.header.Get("RateLimit-Policy") != "" {
			t.Errorf("got %v", r.header)
		}
	})
	t.Run("invalid arguments count", func(t *testing.T) {
		t.Parallel()
		p := startHTTP(t, binary(), httpConfig(t, t.TempDir(), "limits: {rate_per_minute: 2}\n")...).newPeer(t, "2025-11-25", "")
		for i, want := range []int{invalid, noTool, overRate} {
			tool := []string{"echo", "no_tool", "echo"}[i]
			if a := p.call(t, tool, map[string]any{"no": "argument"}); a.Error == nil || a.Error.Code != want {
				t.Errorf("call %d: %+v; want %d", i+1, a, want)
			}
		}
	})
}

// TestHTTPAccept asks for the forms of an answer by their quality.
func TestHTTPAccept(t *testing.T) {
	t.Parallel()
	s := startHTTP(t, binary(), t.TempDir())
	for _, version := range []string{"2025-11-25", modernVersion} {
		p := s.newPeer(t, version, "")
		for accept, want := range map[string]string{
			"text/event-stream":                           "text/event-stream",
			"application/json;q=0, text/event-stream":     "text/event-stream",
			"*/*, application/json;q=0.0":                 "text/event-stream",
			"application/json, text/event-stream":         "application/json",
			"application/json; q=0.1, text/event-stream":  "application/json",
			"application/*":                               "application/json",
			"*/*;q=0.5":                                   "application/json",
			"*/*;q=0":                                     "406",
			"application/json;q=0, text/event-stream;q=0": "406",
			"text/html":                                   "406",
		} {
			r := p.post(t, p.callMessage("1", "echo", map[string]any{"message": "x"}, ""), map[string]string{"Accept": accept})
			if want == "406" && r.status == http.StatusNotAcceptable {
				continue
			}
			if r.status != http.StatusOK || r.header.Get("Content-Type") != want || !strings.Contains(r.last(), "Echo: x") {
				t.Errorf("%s: %d %s %s; want %s", accept, r.status, r.header.Get("Content-Type"), r.body, want)
			}
		}
	}
}

// TestHTTPUnknownVersion names protocol versions there are not.
func TestHTTPUnknownVersion(t *testing.T) {
	t.Parallel()
	p := startHTTP(t, binary(), t.TempDir()).newPeer(t, "2025-11-25", "")
	for _, version := range []string{"x", "2099-01-01"} {
		r := p.post(t, p.message("1", "ping", "", ""), map[string]string{"MCP-Protocol-Version": version})
		if r.status != http.StatusBadRequest || !strings.Contains(r.body, "protocol version "+version+" is not supported") || !strings.Contains(r.body, `"code":-32022`) {
			t.Errorf("%s: %d %s", version, r.status, r.body)
		}
	}
}

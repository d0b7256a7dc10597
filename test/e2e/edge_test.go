//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// TestPingWhenFull has as many requests in flight as the session may, and pings and
// cancels.
func TestPingWhenFull(t *testing.T) {
	t.Parallel()
	config, dir := configured(t, "server: {max_in_flight: 3}\n")
	w := open(t, binary(), "--config", config)
	w.handshake("2025-11-25")
	for i := range 3 {
		w.send(bash(fmt.Sprint(i+1), fmt.Sprintf("touch begun%d; sleep 1000", i)))
		appears(t, filepath.Join(dir, fmt.Sprintf("begun%d", i)))
	}
	w.send(request("4", "tools/list", "{}"))
	if r := w.answer("4"); r.code() != badLetter {
		t.Errorf("one request more: %.200s", r.Raw)
	}
	w.ping()
	w.send(cancel("1"))
	eventually(t, "there is room again", func() bool {
		w.send(bash("5", "echo hi"))
		return w.answer("5").code() == 0
	})
}

// TestCancelByValue spells ids differently in requests and in their cancellation, as
// proxies do that read and write JSON.
func TestCancelByValue(t *testing.T) {
	t.Parallel()
	for _, ids := range [][2]string{{`"\u00e9"`, `"é"`}, {`"é"`, `"\u00E9"`}, {"1.0", "1"}, {"1", "1e0"}, {"-0.0", "0"}, {`"\/"`, `"/"`}, {"9007199254740993", "9007199254740993"}} {
		exe, marker := own(t, binary()), newMarker()
		w := open(t, exe, t.TempDir())
		w.handshake("2025-11-25")
		w.send(bash(ids[0], detached(marker)+"sleep 1000."+marker))
		sleeping(t, marker, 4)
		w.send(cancel(ids[1]))
		gone(t, marker)
		w.ping()
	}
}

// TestRepeatedHeaders sends headers twice by which a proxy in between may choose the
// other one.
func TestRepeatedHeaders(t *testing.T) {
	t.Parallel()
	s := startHTTP(t, binary(), t.TempDir())
	p := s.newPeer(t, modernVersion, "")
	msg := p.callMessage("1", "echo", map[string]any{"message": "x"}, "")
	for _, test := range []struct {
		name   string
		values []string
		status int
		code   string
	}{
		{"Mcp-Name", []string{"echo", "bash"}, 400, "-32020"},
		{"Mcp-Name", []string{"echo", "echo"}, 400, "-32020"},
		{"Mcp-Method", []string{"tools/call", "tools/list"}, 400, "-32020"},
		{"Origin", []string{s.url[:len(s.url)-len("/mcp")], "http://evil.example"}, 403, "Origin"},
		{"MCP-Protocol-Version", []string{modernVersion, "2025-11-25"}, 400, "-32020"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, strings.NewReader(msg))
		must(t, err)
		for name, value := range p.headers(msg, map[string]string{"Content-Type": "application/json", "Accept": "*/*"}) {
			req.Header.Set(name, value)
		}
		req.Header[http.CanonicalHeaderKey(test.name)] = test.values
		resp, err := s.client.Do(req)
		must(t, err)
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != test.status || !strings.Contains(string(body), test.code) {
			t.Errorf("%s %q: %d %s", test.name, test.values, resp.StatusCode, body)
		}
	}
}

// TestNoDescriptors runs many commands with few descriptors. What there is no room
// for is told as busy, and the server recovers.
func TestNoDescriptors(t *testing.T) {
	t.Parallel()
	w := launch(t, "bash", "-c", `ulimit -n 64; exec "$@"`, "bash", binary(), "serve", "--stdio", t.TempDir())
	w.handshake("2025-11-25")
	const calls = 100
	for i := range calls {
		w.send(bash(fmt.Sprint(i+1), "sleep 0.2; echo hi"))
	}
	good, turnedAway := 0, 0
	for range calls {
		r := w.receive()
		var result struct {
			IsError           bool
			StructuredContent struct {
				ErrorType string `json:"error_type"`
			}
			Content []struct{ Text string }
		}
		_ = json.Unmarshal(r.Result, &result)
		switch {
		case r.Error == nil && !result.IsError && result.Content[0].Text == "hi": // nothing is said of a layer that is missing
			good++
		case result.StructuredContent.ErrorType == "busy" && strings.Contains(result.Content[0].Text, "too many open files") || r.code() == busy:
			turnedAway++
		default:
			t.Errorf("got %.400s", r.Raw)
		}
	}
	t.Logf("%d good, %d busy", good, turnedAway)
	if good == 0 || turnedAway == 0 {
		t.Errorf("%d good, %d busy: that says nothing", good, turnedAway)
	}
	w.send(bash(`"after"`, "echo hi"))
	if r := w.answer(`"after"`); !strings.Contains(string(r.Result), `"hi"`) {
		t.Errorf("after that: %.300s", r.Raw)
	}
}

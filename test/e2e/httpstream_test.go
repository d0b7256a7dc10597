package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

var eras = []string{"2025-11-25", modernVersion}

// checkEventHeaders checks what keeps proxies from holding events back.
func checkEventHeaders(t *testing.T, name string, h http.Header) {
	t.Helper()
	if h.Get("X-Accel-Buffering") != "no" || !strings.Contains(h.Get("Cache-Control"), "no-cache") || h.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%s: headers %v", name, h)
	}
}

// TestHTTPProgressComplete makes 1,000 calls of each era that report progress
// and end at once. Each must show all of it, in order, before its answer.
func TestHTTPProgressComplete(t *testing.T) {
	t.Parallel()
	s := startHTTP(t, fixtureBinary(t), t.TempDir())
	const workers, calls, steps = 8, 125, 5
	for _, version := range eras {
		var wg sync.WaitGroup
		for worker := range workers {
			p := s.newPeer(t, version, "")
			wg.Go(func() {
				for i := range calls {
					id := fmt.Sprint(worker*calls + i)
					token := `"of \"` + id + `\" \u00e9"`
					r := <-p.send(t.Context(), p.callMessage(id, "fixture_progress", map[string]any{"steps": steps}, token))
					if err := checkProgress(r, id, token, steps); err != nil {
						t.Errorf("%s, call %s: %v", version, id, err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
}

func checkProgress(r reply, id, token string, steps int) error {
	messages := r.messages()
	if r.status != http.StatusOK || len(messages) != steps+1 || r.header.Get("X-Accel-Buffering") != "no" {
		return fmt.Errorf("%d with %d messages: %s", r.status, len(messages), r.body)
	}
	var want string
	if err := json.Unmarshal([]byte(token), &want); err != nil {
		return err
	}
	for i, msg := range messages[:steps] {
		var n struct {
			Method string
			Params struct {
				ProgressToken   string
				Progress, Total float64
			}
		}
		if err := json.Unmarshal([]byte(msg), &n); err != nil || n.Method != "notifications/progress" ||
			n.Params.ProgressToken != want || n.Params.Progress != float64(i+1) || n.Params.Total != float64(steps) {
			return fmt.Errorf("message %d is %s", i, msg)
		}
	}
	if last := messages[steps]; !strings.Contains(last, `"id":`+id+`,"result":`) {
		return fmt.Errorf("the answer is %s", last)
	}
	return nil
}

// TestHTTPNoEvents answers clients that take JSON only with JSON, whatever
// there is to report.
func TestHTTPNoEvents(t *testing.T) {
	t.Parallel()
	s := startHTTP(t, fixtureBinary(t), t.TempDir())
	for _, version := range eras {
		p := s.newPeer(t, version, "")
		r := p.post(t, p.callMessage("1", "fixture_progress", map[string]any{}, "1"), map[string]string{"Accept": "application/json"})
		if r.status != http.StatusOK || r.header.Get("Content-Type") != "application/json" || !strings.Contains(r.body, `"text":"done"`) {
			t.Errorf("%s: %d %v %s", version, r.status, r.header, r.body)
		}
	}
}

// TestHTTPBrokenTools gets an answer of tools that panic or take too long, and
// leaves the server whole.
func TestHTTPBrokenTools(t *testing.T) {
	t.Parallel()
	s := startHTTP(t, fixtureBinary(t), t.TempDir())
	for _, version := range eras {
		p := s.newPeer(t, version, "")
		if a := p.call(t, "fixture_panic", map[string]any{}); a.Error == nil || a.Error.Code != -32005 {
			t.Errorf("%s: panic: %+v", version, a)
		}
		if a := p.call(t, "fixture_sleep", map[string]any{"seconds": 600}); a.Error == nil || a.Error.Code != -32006 {
			t.Errorf("%s: timeout: %+v", version, a)
		}
	}
	s.running(t)
}

// TestHTTPKeepAlive waits for the comments that keep streams open on which
// nothing happens: those of changes of both eras, and that of a long call.
func TestHTTPKeepAlive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startHTTP(t, binary(), dir)
	var wg sync.WaitGroup
	for i, version := range eras {
		p := s.newPeer(t, version, "")
		changes := p.listenOrSubscribe(t)
		wg.Go(func() {
			name := fmt.Sprintf("call%d", i)
			call, err := p.tryListen(t.Context(), "POST", p.callMessage("1", "bash", gate(name, "0"), ""))
			if err != nil {
				t.Errorf("%s: %v", version, err)
				return
			}
			checkEventHeaders(t, version+" call", call.header)
			if _, more := call.next(": keep-alive"); !more {
				t.Errorf("%s: the call has ended", version)
			}
			touch(t, dir+"/"+name+".go")
			if data, _ := call.next("data: "); !strings.Contains(data, name+" done") {
				t.Errorf("%s: the answer is %q", version, data)
			}
		})
		wg.Go(func() {
			checkEventHeaders(t, version+" changes", changes.header)
			if _, more := changes.next(": keep-alive"); !more {
				t.Errorf("%s: the stream of changes has ended", version)
			}
		})
	}
	wg.Wait()
}

// TestHTTPIDs gets ids back to the letter.
func TestHTTPIDs(t *testing.T) {
	t.Parallel()
	s := startHTTP(t, binary(), t.TempDir())
	for _, version := range eras {
		p := s.newPeer(t, version, "")
		for _, id := range []string{
			"0", "-1", "9007199254740993", "123456789012345678901234567890123456789", "1.50", "1e3", "-0", `""`, `"1"`,
			`"\"\\\/\b\f\n\r\t"`, `"\u00e9\ud83d\ude00é"`, `"\ud800"`, `"<script>&"`, `"` + strings.Repeat("i", 1000) + `"`,
		} {
			for _, method := range []string{"tools/list", "no/such"} {
				if r := p.post(t, p.message(id, method, "", ""), nil); !strings.HasPrefix(r.body, `{"jsonrpc":"2.0","id":`+id+`,"`) {
					t.Errorf("%s %s: id %s: %d %.100s", version, method, id, r.status, r.body)
				}
			}
		}
	}
}

// TestHTTPBatch answers batches of the one version that has them.
func TestHTTPBatch(t *testing.T) {
	t.Parallel()
	s := startHTTP(t, fixtureBinary(t), t.TempDir())
	p := s.newPeer(t, "2025-03-26", "")
	one := p.callMessage("9007199254740993", "echo", map[string]any{"message": "one"}, "")
	r := p.post(t, "["+one+","+p.message(`"b"`, "ping", "", "")+`,{"jsonrpc":"2.0","method":"notifications/x"},{"id":3}]`, nil)
	var answers []struct{ ID, Result, Error json.RawMessage }
	if err := json.Unmarshal([]byte(r.body), &answers); err != nil || r.status != http.StatusOK || len(answers) != 3 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	got := map[string]bool{}
	for _, a := range answers {
		got[string(a.ID)] = a.Result != nil && a.Error == nil
	}
	if !got["9007199254740993"] || !got[`"b"`] || got["3"] {
		t.Errorf("got %s", r.body)
	}
	if r := p.post(t, `[{"jsonrpc":"2.0","method":"notifications/x"}]`, nil); r.status != http.StatusAccepted || r.body != "" {
		t.Errorf("notifications only: %d %s", r.status, r.body)
	}
	for _, wrong := range []string{"[]", "[", "[1", "[" + strings.Repeat("{},", 1000) + "{}]"} {
		if r := p.post(t, wrong, nil); r.status != http.StatusBadRequest || !strings.Contains(r.body, `"error"`) {
			t.Errorf("%.20s: %d %s", wrong, r.status, r.body)
		}
	}
	r = p.post(t, "["+p.callMessage("1", "fixture_progress", map[string]any{"steps": 3}, "7")+"]", nil)
	if messages := r.messages(); len(messages) != 4 || !strings.HasPrefix(messages[3], `[{"jsonrpc":"2.0","id":1,"result":`) {
		t.Errorf("with progress: %s", r.body)
	}
	for _, version := range []string{"2025-06-18", "2025-11-25"} {
		p := s.newPeer(t, version, "")
		if r := p.post(t, "["+p.message("1", "ping", "", "")+"]", nil); r.status != http.StatusBadRequest || !strings.Contains(r.body, `"code":-32600`) {
			t.Errorf("%s: %d %s", version, r.status, r.body)
		}
	}
}

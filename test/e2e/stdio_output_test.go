package e2e

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestStdioProgress checks that what a call reports comes before its answer,
// all of it and in order, in 1,000 calls at a time.
func TestStdioProgress(t *testing.T) {
	const calls, steps = 1000, 3
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			w := open(t, fixtureBinary(t), t.TempDir())
			if era == "legacy" {
				w.handshake("2025-11-25")
			}
			var input strings.Builder
			for i := range calls {
				meta := "" // tokens are strings and numbers
				if i%2 == 0 {
					meta = fmt.Sprintf(`"progressToken":%d`, i)
				} else {
					meta = fmt.Sprintf(`"progressToken":"%d"`, i)
				}
				if era == "modern" {
					meta += "," + modernMeta
				}
				params := fmt.Sprintf(`{"name":"fixture_progress","arguments":{"steps":%d},"_meta":{%s}}`, steps, meta)
				input.WriteString(request(fmt.Sprint(i), "tools/call", params) + "\n")
			}
			go io.WriteString(w.in, input.String()) // the answers are to be read meanwhile; if it fails they do not come
			seen, answered := map[string]int{}, 0
			for answered < calls {
				r := w.receive()
				if r.Method == "notifications/progress" {
					token := strings.Trim(string(r.Params.Token), `"`)
					if seen[token]++; r.Params.Progress != float64(seen[token]) {
						t.Fatalf("notification %d of call %s: %s", seen[token], token, r.Raw)
					}
					continue
				}
				answered++
				if id := string(r.ID); seen[id] != steps || !strings.Contains(string(r.Result), `"text":"done"`) {
					t.Fatalf("after %d notifications call %s is answered with %s", seen[id], id, r.Raw)
				}
			}
			w.in.Close()
			for _, r := range w.rest() {
				t.Errorf("after all answers: %s", r.Raw)
			}
		})
	}
}

// TestStdioOutput checks that nothing but protocol comes out, whoever prints.
func TestStdioOutput(t *testing.T) {
	w := open(t, fixtureBinary(t), t.TempDir())
	w.send(request("1", "tools/call", `{"name":"fixture_print"}`))
	if r := w.answer("1"); r.Error != nil || strings.Contains(string(r.Raw), "fixture prints") {
		t.Errorf("got %s", r.Raw)
	}
	// Commands have descriptors of their own. The parent's are those of the
	// server or of a supervisor.
	w.send(bash("2", `echo stray; echo stray >&2; for n in 1 2 3 4 5 6 7 8 9; do for p in $PPID 1 self; do
		( [ -e /proc/$p/fd/$n ] && echo stray >/proc/$p/fd/$n ) 2>/dev/null; done; done; true`))
	if r := w.answer("2"); !strings.Contains(string(r.Result), "stray") {
		t.Errorf("got %s", r.Raw)
	}
	w.send(request("3", "tools/call", `{"name":"fixture_panic"}`))
	if r := w.answer("3"); r.code() != -32005 {
		t.Errorf("got %s", r.Raw)
	}
	w.ping()
	w.in.Close()
	w.end()
	for _, r := range append(w.before, w.rest()...) {
		t.Errorf("got %s", r.Raw)
	}
	for _, by := range []string{"fmt", "half a line", "descriptor 1", "a child"} {
		if want := "fixture prints by " + by; !strings.Contains(w.log(), want) {
			t.Errorf("standard error has no %q", want)
		}
	}
}

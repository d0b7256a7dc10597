//go:build linux

package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

const modernEcho = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo",` +
	`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`

// TestTraffic feeds the checks with what a server must not send.
func TestTraffic(t *testing.T) {
	const ok = `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}`
	const progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":2}}`
	const changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed",` +
		`"params":{"_meta":{"io.modelcontextprotocol/subscriptionId":3}}}`
	const canceled = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
	for _, test := range []struct{ name, sent, received, want string }{
		{"right", modernEcho, progress + "\n" + ok, ""},
		{"answered twice", modernEcho, ok + "\n" + ok, "which is not open"},
		{"another id", modernEcho, strings.Replace(ok, "1", "2", 1), "not open"},
		{"id as a text", modernEcho, strings.Replace(ok, ":1", `:"1"`, 1), "not open"},
		{"answered after the cancellation", modernEcho + "\n" + canceled, ok, "which was canceled"},
		{"progress after the cancellation", modernEcho + "\n" + canceled, progress, ""},
		{"progress that does not grow", modernEcho, progress + "\n" + progress, "progress 2 after 2"},
		{"progress after the answer", modernEcho, ok + "\n" + progress, "not open"},
		{"no resultType", modernEcho, `{"jsonrpc":"2.0","id":1,"result":{}}`, "without resultType"},
		{"no resultType with a handshake", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, ""},
		{"result and error", modernEcho, `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`, "no response"},
		{"a request", "", `{"jsonrpc":"2.0","id":7,"method":"roots/list"}`, "a request of the server"},
		{"change without subscription", "", changed, "not open"},
		{"a log message", "", `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`, "unexpected notification"},
		{"part of a message", "", `{"jsonrpc":"2.0"`, "is no message"},
	} {
		t.Run(test.name, func(t *testing.T) {
			traffic := newTraffic(nil, "")
			for line := range strings.Lines(test.sent) {
				traffic.sent([]byte(line), nil)
			}
			var errs []string
			in := &tap{
				ReadCloser: io.NopCloser(strings.NewReader(test.received)),
				fail:       func(err error) { errs = append(errs, err.Error()) },
				check:      func(line []byte) error { _, err := traffic.received(line); return err },
			}
			if got, err := io.ReadAll(in); err != nil || !bytes.Equal(got, []byte(test.received)) {
				t.Errorf("the tap passed on %q, %v", got, err)
			}
			if got := strings.Join(errs, "\n"); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q instead of %q", got, test.want)
			}
		})
	}
}

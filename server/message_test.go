package server

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzMessage checks that what is taken for a message is one by encoding/json
// as well, and that an id is found where it is.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{
		request(`"\u0041"`, "tools/call", `{"name":"echo","arguments":{}}`, true), initialize("2025-11-25"),
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","method":7,"id":1}`, `{"id":1,"id":2,"jsonrpc":"2.0","method":"a","params":{"name":1},"params":{"uri":2}}`,
		`7`, `{"jsonrpc":"2.0","id":`, "\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, wrong := parseMessage(raw)
		var want struct {
			JSONRPC string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Params  json.RawMessage `json:"params"`
		}
		if wrong != nil {
			if wrong.code == 0 || wrong.message == "" {
				t.Errorf("%q is refused without a reason", raw)
			}
			return
		}
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatalf("%q is taken for a message: %v", raw, err)
		}
		if m.id != nil && !bytes.Contains(raw, m.id) || (m.id == nil) != m.isNotification() {
			t.Errorf("%q has the id %q", raw, m.id)
		}
		if m.params != nil && !json.Valid(m.params) {
			t.Errorf("%q has the parameters %q", raw, m.params)
		}
	})
}

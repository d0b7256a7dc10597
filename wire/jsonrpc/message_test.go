package jsonrpc

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzParse checks that what is taken for a message is one by encoding/json
// as well, and that an id is found where it is.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":"\u0041","method":"tools/call","params":{"name":"echo","arguments":{},"_meta":{}}}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":[1]}}`, `{"jsonrpc":"2.0","method":7,"id":1}`, `{"id":1,"id":2,"jsonrpc":"2.0","method":"a","params":{"name":1},"params":{"uri":2}}`,
		`7`, `{"jsonrpc":"2.0","id":`, "\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		params := 0
		m, wrong := Parse(raw, func(_, _ []byte) error { params++; return nil })
		var want struct {
			JSONRPC string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Params  json.RawMessage `json:"params"`
		}
		if wrong != nil {
			if wrong.Code == 0 || wrong.Message == "" {
				t.Errorf("%q is refused without a reason", raw)
			}
			return
		}
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatalf("%q is taken for a message: %v", raw, err)
		}
		if m.ID != nil && !bytes.Contains(raw, m.ID) || m.IsNotification() != (m.ID == nil && !m.Response) {
			t.Errorf("%q has the id %q", raw, m.ID)
		}
		if m.Params != nil && !json.Valid(m.Params) || params > 0 && (m.Params == nil || m.Params[0] != '{') {
			t.Errorf("%q has %d parameters, %q", raw, params, m.Params)
		}
		if m.Failure != nil && ParseError(m.Failure).Error() == "" && !bytes.Contains(m.Failure, []byte("{")) {
			t.Errorf("%q has the error %q", raw, m.Failure)
		}
	})
}

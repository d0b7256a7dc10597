package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestConsentOnce answers a question of a call that a person has to agree to, and
// sends that answer again and again: it is good for one call.
func TestConsentOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	must(t, os.WriteFile(file, nil, 0o600))
	config := httpConfig(t, dir, "tools: {append_file: {confirm: true}}")
	s := startHTTP(t, binary(), config...)
	p := s.newPeer(t, modernVersion, "")
	p.can = `{"elicitation":{}}`
	const args = `"name":"append_file","arguments":{"path":"f","content":"x"}`
	var asked struct {
		Result struct {
			ResultType    string
			RequestState  string
			InputRequests map[string]any
		}
	}
	ask := func(params string) string {
		r := p.post(t, p.message("1", "tools/call", params, ""), nil)
		asked.Result.ResultType, asked.Result.InputRequests = "", nil
		must(t, json.Unmarshal([]byte(r.last()), &asked))
		return r.last()
	}
	ask(args)
	yes := fmt.Sprintf(`%s,"requestState":%q,"inputResponses":{"confirm":{"action":"accept","content":{}}}`, args, asked.Result.RequestState)
	ask(strings.Replace(yes, `"accept"`, `"perhaps"`, 1)) // is no answer
	if asked.Result.ResultType != "input_required" {
		t.Errorf("got %+v", asked)
	}
	if got := ask(yes); asked.Result.ResultType != "complete" {
		t.Fatalf("got %s", got)
	}
	replies := make([]<-chan reply, 20)
	for i := range replies {
		replies[i] = p.send(t.Context(), p.message(fmt.Sprint(i+2), "tools/call", yes, ""))
	}
	for _, r := range replies {
		if got := <-r; !strings.Contains(got.body, "input_required") {
			t.Errorf("once more: %s", got.body)
		}
	}
	if got, _ := os.ReadFile(file); string(got) != "x" {
		t.Errorf("the file has %q", got)
	}
	ask(args) // asked anew, a person may agree anew
	ask(fmt.Sprintf(`%s,"requestState":%q,"inputResponses":{"confirm":{"action":"accept","content":{}}}`, args, asked.Result.RequestState))
	if got, _ := os.ReadFile(file); string(got) != "xx" {
		t.Errorf("the file has %q", got)
	}
}

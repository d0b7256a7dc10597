package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

var modernDoors = map[string]bool{"legacy": false, "modern": true}

// apart runs a test for ann and bob on one server, in each era.
func apart(t *testing.T, name, yaml, serving string, test func(t *testing.T, ann, bob *client)) {
	for era, modern := range modernDoors {
		t.Run(name+"/"+era, func(t *testing.T) {
			t.Parallel()
			ann := &client{door: door{http: true, modern: modern}, serving: serving}
			ann.start(t, yaml)
			test(t, ann, ann.beside(t, "bobs", modern))
		})
	}
}

// TestPrincipalsDoNotWait has ann take as much of something as she gets. Bob gets
// what he asks for all the same.
func TestPrincipalsDoNotWait(t *testing.T) {
	fine := func(t *testing.T, bob *client) {
		t.Helper()
		for _, kind := range []string{kindTool, kindResource, kindPrompt, kindCompletion, kindList, kindSubscribe} {
			bob.ok(t, kind, "ok", "")
		}
	}
	apart(t, "rates", "limits: {rate_per_minute: 10}", "", func(t *testing.T, ann, bob *client) {
		for _, kind := range []string{kindTool, kindList} {
			over := false
			for i := 0; i < 200 && !over; i++ {
				over = ann.ask(t, kind, "ok", "").wait().code == overRate
			}
			if !over {
				t.Errorf("ann has no rate for %s", kind)
			}
		}
		fine(t, bob)
	})
	apart(t, "slots", "limits: {per_principal: 2, per_tool: 4, queue_wait: 60s}", "", func(t *testing.T, ann, bob *client) {
		one, dir := ann.hold(t, kindTool)
		two, dir2 := ann.hold(t, kindTool)
		waiting := []*sent{ann.ask(t, kindTool, "ok", ""), ann.ask(t, kindTool, "ok", ""), ann.ask(t, kindPrompt, "ok", "")}
		for _, s := range waiting {
			<-s.wrote
		}
		fine(t, bob)
		held, bobs := bob.hold(t, kindTool)
		release(t, bobs)
		bob.good(t, held.wait())
		select {
		case o := <-waiting[0].answer:
			t.Errorf("ann has more than her slots: %v", o)
		default:
		}
		release(t, dir)
		release(t, dir2)
		for _, s := range append(waiting, one, two) {
			ann.good(t, s.wait())
		}
	})
	apart(t, "slots of a tool", "limits: {per_tool: 2, queue_wait: 60s}", "", func(t *testing.T, ann, bob *client) {
		_, dir := ann.hold(t, kindTool)
		_, dir2 := ann.hold(t, kindTool)
		waiting := ann.ask(t, kindTool, "ok", "")
		<-waiting.wrote
		bobs := bob.ask(t, kindTool, "ok", "")
		<-bobs.wrote
		release(t, dir) // goes to whoever holds least
		bob.good(t, bobs.wait())
		ann.good(t, waiting.wait())
		release(t, dir2)
	})
	apart(t, "sessions", "", "max_sessions: 16, ", func(t *testing.T, ann, bob *client) {
		status := 0
		for i := 0; i < 20 && status != http.StatusServiceUnavailable; i++ {
			status = (&peer{server: ann.server, token: "anns"}).post(t, initializeMessage("2025-11-25"), nil).status
		}
		if status != http.StatusServiceUnavailable {
			t.Errorf("ann has all sessions she wants: %d", status)
		}
		ann.server.newPeer(t, "2025-11-25", "bobs")
		fine(t, bob)
	})
	apart(t, "kept results", "limits: {max_result_chars: 1000}", "", func(t *testing.T, ann, bob *client) {
		id := keptID(t, bob)
		for range 300 {
			keptID(t, ann)
		}
		bob.good(t, bob.request(t, "tools/call", keptPage(id)).wait())
	})
	t.Run("commands", func(t *testing.T) {
		t.Parallel()
		ann := &client{door: door{http: true}}
		ann.start(t, "")
		for range 110 {
			ann.request(t, "tools/call", `"name":"bash","arguments":{"command":"mktemp begunXXXXXX; sleep 1000","timeout":600}`)
		}
		noted(t, ann.dir, "begun", 96) // three quarters of what there is
		for _, modern := range modernDoors {
			bob := ann.beside(t, "bobs", modern)
			if o := bob.request(t, "tools/call", `"name":"bash","arguments":{"command":"echo hello"}`).wait(); o.code != 0 || !strings.Contains(o.text, "hello") {
				t.Errorf("got %v", o)
			}
		}
	})
	apart(t, "long messages", "", "", func(t *testing.T, ann, bob *client) {
		long := `"name":"execute_command","arguments":{"command":"mktemp begunXXXXXX; sleep 1000","timeout":600,"stdin":"` + strings.Repeat("x", 9<<20) + `"}`
		for range 7 { // 63 of 96 MiB
			ann.request(t, "tools/call", long)
		}
		noted(t, ann.dir, "begun", 7)
		ann.request(t, "tools/call", long) // has to wait
		o := bob.request(t, "tools/call", fmt.Sprintf(`"name":"echo","arguments":{"message":%q}`, strings.Repeat("y", 1<<20))).wait()
		bob.good(t, o)
		if !strings.Contains(o.text, "yyy") {
			t.Errorf("got %v", o)
		}
	})
}

// keptID has the server keep a result, and returns its id.
func keptID(t *testing.T, c *client) string {
	t.Helper()
	o := c.ok(t, kindTool, "large", "5000")
	id := regexp.MustCompile(`lr_[0-9a-f]+`).FindString(o.text)
	if id == "" {
		t.Fatalf("nothing is kept: %v", o)
	}
	return id
}

func keptPage(id string) string {
	return fmt.Sprintf(`"name":"read_large_result","arguments":{"id":%q,"page":2}`, id)
}

// TestPrincipalsDoNotMeet has bob try to see, answer and end what is ann's. What
// there is of calls, jobs and results is in TestHTTPForeignCancel and its like,
// and of conversations in TestAnthropicConversation.
func TestPrincipalsDoNotMeet(t *testing.T) {
	apart(t, "results", "limits: {max_result_chars: 1000}", "", func(t *testing.T, ann, bob *client) {
		id := keptID(t, ann)
		if o := bob.request(t, "tools/call", keptPage(id)).wait(); strings.Contains(o.text, "xxx") || !strings.Contains(o.text, "unknown") {
			t.Errorf("bob reads %v", o)
		}
		ann.good(t, ann.beside(t, "anns", !ann.modern).request(t, "tools/call", keptPage(id)).wait()) // also in the other era
	})
	apart(t, "questions", "", "", func(t *testing.T, ann, bob *client) {
		s := ann.ask(t, kindTool, "ask", "x")
		if ann.modern {
			o := s.wait()
			var asked struct{ Result struct{ RequestState string } }
			if err := json.Unmarshal([]byte(o.text), &asked); err != nil || asked.Result.RequestState == "" {
				t.Fatalf("got %v, %v", o, err)
			}
			again := params(kindTool, "ask", "x") + fmt.Sprintf(`,"requestState":%q,"inputResponses":{"question":{"action":"accept","content":{}}}`, asked.Result.RequestState)
			bob.fails(t, bob.request(t, "tools/call", again).wait(), invalid, "the request state is invalid")
			if o := ann.request(t, "tools/call", again).wait(); o.code != 0 || !strings.Contains(o.text, "did ask: accept") {
				t.Errorf("ann's own: %v", o)
			}
			return
		}
		m := ann.hear(t, "the question", func(m message) bool { return m.Method == "elicitation/create" })
		answer := func(action string) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":%q,"content":{}}}`, m.ID, action)
		}
		thief := &peer{server: bob.server, token: "bobs", session: ann.peer.session}
		if r := thief.post(t, answer("decline"), nil); r.status != http.StatusNotFound {
			t.Errorf("bob in ann's session: %d %s", r.status, r.body)
		}
		bob.peer.post(t, answer("decline"), nil) // in his own
		ann.peer.post(t, answer("accept"), nil)
		if o := s.wait(); !strings.Contains(o.text, "accept") {
			t.Errorf("got %v", o)
		}
	})
	apart(t, "sessions and subscriptions", "", "", func(t *testing.T, ann, bob *client) {
		subscribe(t, ann, watchedURI)
		mine := subscribe(t, bob, watchedURI)
		if ann.modern {
			mine.cancel()
			<-mine.over
		} else {
			thief := &peer{server: bob.server, token: "bobs", session: ann.peer.session}
			for _, r := range []reply{
				thief.post(t, thief.message("1", "resources/unsubscribe", fmt.Sprintf(`"uri":%q`, watchedURI), ""), nil),
				thief.server.do(t, "GET", "/mcp", "", thief.headers("", map[string]string{"Accept": "text/event-stream"})),
				thief.server.do(t, "DELETE", "/mcp", "", thief.headers("", nil)),
			} {
				if r.status != http.StatusNotFound {
					t.Errorf("bob in ann's session: %d %s", r.status, r.body)
				}
			}
			bob.good(t, bob.request(t, "resources/unsubscribe", fmt.Sprintf(`"uri":%q`, watchedURI)).wait())
		}
		bob.ok(t, kindTool, "change", "")
		ann.updated(t, watchedURI)
	})
	apart(t, "documents", "users: {ann: {groups: [staff]}}\n"+everyItem("groups: [staff]"), "", func(t *testing.T, ann, bob *client) {
		ann.listed(t, true)
		bob.listed(t, false)
		ann.listed(t, true) // lists are kept, by who may see what
		for _, kind := range []string{kindTool, kindResource, kindPrompt, kindCompletion} {
			ann.ok(t, kind, "ok", "")
			bob.fails(t, bob.ask(t, kind, "ok", "").wait(), bob.notFound(kind), "")
		}
	})
}

package server

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
)

const canOpen = `"capabilities":{"elicitation":{"url":{}}}`

// addVisiting gives a fixture a tool that has its user visit an address, and waits for that for a time. Visited says that
// they have.
func addVisiting(s *Server, wait time.Duration) (visited chan struct{}) {
	visited = make(chan struct{})
	add(s, domain.Define(domain.Tool{Name: "visit", Description: "Visits."}, func(ctx context.Context, _ noInput) (domain.ToolResult, error) {
		action, err := call.ElicitURL(ctx, call.URLElicitation{ID: "e1", Message: "Visit it.", URL: "http://127.0.0.1:1/start"})
		if err != nil || action != call.Accepted {
			return domain.Text("did not open it: " + action), err
		}
		complete := call.Completion(ctx)
		done, err := call.Await(ctx, visited, wait)
		if err != nil {
			return domain.ToolResult{}, err
		}
		if !done {
			go func() { <-visited; complete("e1") }()
			return domain.Text("not yet"), nil
		}
		complete("e1")
		return domain.Text("visited"), nil
	}))
	return visited
}

const (
	visitQuestion = `"method":"elicitation/create","params":{"mode":"url","elicitationId":"e1","message":"Visit it.","url":"http://127.0.0.1:1/start"}`
	visitComplete = `{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e1"}}`
)

// TestAskURL has users visit an address on both transports: during the call, after it, and not at all.
func TestAskURL(t *testing.T) {
	for _, test := range []struct {
		name   string
		wait   time.Duration
		action string
		want   string
		during bool
	}{
		{"during the call", time.Minute, "accept", `"text":"visited"`, true},
		{"after the call", time.Nanosecond, "accept", `"text":"not yet"`, false},
		{"declined", time.Minute, "decline", `"text":"did not open it: decline"`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, _ := fixture(t)
			visited := addVisiting(s, test.wait)
			c := dial(t, s)
			c.send(strings.Replace(initialize("2025-11-25"), `"capabilities":{}`, canOpen, 1))
			c.receive()
			c.send(request(`"call"`, "tools/call", `{"name":"visit"}`, false))
			question := c.receive()
			if !strings.Contains(question, visitQuestion) {
				t.Fatal(question)
			}
			c.send(answerTo(t, question, `"result":{"action":"`+test.action+`"}`))
			if test.during {
				close(visited)
				if got := c.receive(); got != visitComplete {
					t.Error(got)
				}
			}
			if got := c.receive(); !strings.Contains(got, test.want) {
				t.Error(got)
			}
			if !test.during && test.action == "accept" {
				close(visited)
				if got := c.receive(); got != visitComplete {
					t.Error(got)
				}
			}

			s, _ = fixture(t)
			visited = addVisiting(s, test.wait)
			url := httpFixture(t, s, nil).URL + "/mcp"
			resp := post(t, url, "", strings.Replace(initialize("2025-11-25"), `"capabilities":{}`, canOpen, 1), false, nil)
			resp.Body.Close()
			session := resp.Header.Get(sessionHeader)
			changes := events(t, url, http.Header{sessionHeader: {session}}, http.MethodGet, "")
			other := events(t, url, http.Header{sessionHeader: {begin(t, url, nil)}}, http.MethodGet, "")
			resp = post(t, url, session, request(`"call"`, "tools/call", `{"name":"visit"}`, false), false, nil)
			defer resp.Body.Close()
			stream := bufio.NewReader(resp.Body)
			question = nextEvent(t, stream)
			if !strings.Contains(question, visitQuestion) {
				t.Fatal(question)
			}
			post(t, url, session, answerTo(t, question, `"result":{"action":"`+test.action+`"}`), false, nil).Body.Close()
			if test.during {
				close(visited)
				if got := nextEvent(t, stream); got != visitComplete {
					t.Error(got)
				}
			}
			if got := nextEvent(t, stream); !strings.Contains(got, test.want) {
				t.Error(got)
			}
			if !test.during && test.action == "accept" {
				close(visited)
				if got := changes(); got != visitComplete {
					t.Error(got)
				}
				s.publish(domain.Change{Tools: true}) // which is the first that another session hears
				if got := other(); !strings.Contains(got, "list_changed") {
					t.Error(got)
				}
			}
		})
	}
}

// TestAskURLModern has a user visit an address in rounds: the client calls again when they have agreed.
func TestAskURLModern(t *testing.T) {
	s, _ := fixture(t)
	visited := addVisiting(s, time.Minute)
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"url":{}}}}`
	c := dial(t, s)
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"visit",` + meta + `}}`)
	var first struct {
		Result struct {
			InputRequests map[string]json.RawMessage
			RequestState  string
		}
	}
	got := c.receive()
	if err := json.Unmarshal([]byte(got), &first); err != nil || !strings.Contains(string(first.Result.InputRequests["e1"]), visitQuestion) {
		t.Fatalf("%v: %s", err, got)
	}
	close(visited)
	c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"visit","inputResponses":{"e1":{"action":"accept"}},"requestState":"` + first.Result.RequestState + `",` + meta + `}}`)
	if got := c.receive(); !strings.Contains(got, `"text":"visited"`) || strings.Contains(got, "elicitation/complete") {
		t.Error(got)
	}
}

// TestAskURLNobody checks clients that take forms only.
func TestAskURLNobody(t *testing.T) {
	s, _ := fixture(t)
	addVisiting(s, time.Minute)
	for _, declared := range []string{`"elicitation":{}`, `"elicitation":{"form":{}}`, ``} {
		c := dial(t, s)
		c.send(strings.Replace(initialize("2025-11-25"), `"capabilities":{}`, `"capabilities":{`+declared+`}`, 1))
		c.receive()
		c.send(request(`1`, "tools/call", `{"name":"visit"}`, false))
		if got := c.receive(); !strings.Contains(got, `"requiredCapabilities":{"elicitation":{"url":{}}}`) {
			t.Errorf("%s: %s", declared, got)
		}
	}
}

package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/keyring"
	"github.com/toolserver/toolserver/wire/jsonrpc"
)

// addAsking gives a fixture tools that ask.
func addAsking(t testing.TB, s *Server) {
	t.Helper()
	ask := func(name string, run func(ctx context.Context) (domain.ToolResult, error)) domain.Tool {
		return domain.Define(domain.Tool{Name: name, Description: "Asks."},
			func(ctx context.Context, _ noInput) (domain.ToolResult, error) { return run(ctx) })
	}
	loose := ask("loose", func(ctx context.Context) (domain.ToolResult, error) {
		answers, err := call.Ask(ctx, map[string]call.InputRequest{
			"name": {Method: call.AskElicitation, Params: map[string]any{"message": "Name?"}},
		})
		if err != nil {
			return domain.ToolResult{}, err
		}
		return domain.Text(string(answers["name"])), nil
	})
	steps := ask("two_steps", func(ctx context.Context) (domain.ToolResult, error) {
		var said []string
		for _, question := range []string{"one", "two"} {
			answer, err := call.Elicit(ctx, question, call.Elicitation{Message: question + "?"})
			if err != nil {
				return domain.ToolResult{}, err
			}
			said = append(said, answer.Action+string(answer.Content))
		}
		return domain.Text(strings.Join(said, " ")), nil
	})
	confirmed := domain.Define(domain.Tool{Name: "careful", Description: "Is careful.", Confirm: true},
		func(_ context.Context, in echoInput) (domain.ToolResult, error) {
			return domain.Text("did " + in.Text), nil
		})
	roots := ask("roots", func(ctx context.Context) (domain.ToolResult, error) {
		answers, err := call.Ask(ctx, map[string]call.InputRequest{"roots": {Method: call.AskRoots, Params: struct{}{}}})
		return domain.Text(string(answers["roots"])), err
	})
	add(s, loose, steps, confirmed, roots)
}

const canElicit = `"capabilities":{"elicitation":{}}`

// TestAsk checks questions to clients of the era with sessions, on both
// transports.
func TestAsk(t *testing.T) {
	s, _ := fixture(t)
	addAsking(t, s)
	accept := `"result":{"action":"accept","content":{"x":1}}`
	for _, test := range []struct {
		name, call string
		answers    []string // what the client says to each question
		want       string
	}{
		{"accepted", `{"name":"loose"}`, []string{accept}, `"text":"{\"action\":\"accept\",\"content\":{\"x\":1}}"`},
		{"two steps", `{"name":"two_steps"}`, []string{accept, `"result":{"action":"decline"}`}, `"text":"accept{\"x\":1} decline"`},
		{"confirmed", `{"name":"careful","arguments":{"text":"it"}}`, []string{`"result":{"action":"accept","content":{}}`}, `"text":"did it"`},
		{"not confirmed", `{"name":"careful","arguments":{"text":"it"}}`, []string{`"result":{"action":"cancel"}`}, `"error_type":"denied","message":"careful was not run: the user did not agree to it"`},
		{"refused", `{"name":"loose"}`, []string{`"error":{"code":-1,"message":"no window"}`}, `"code":-32005,"message":"the client could not answer elicitation/create: no window"`},
		{"not an answer", `{"name":"loose"}`, []string{`"result":{"action":"maybe"}`}, `"code":-32005,"message":"the client's response to elicitation/create is invalid"`},
		{"no result", `{"name":"loose"}`, []string{`"result":null`}, `the client's response to elicitation/create is invalid`},
		{"no such capability", `{"name":"roots"}`, nil, `"code":-32005,"message":"the client does not support roots/list, which the call requires"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := dial(t, s)
			c.send(strings.Replace(initialize("2025-11-25"), `"capabilities":{}`, canElicit, 1))
			c.receive()
			c.send(request(`"call"`, "tools/call", test.call, false))
			for _, answer := range test.answers {
				c.send(answerTo(t, c.receive(), answer))
			}
			if got := c.receive(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":"call"`) || !strings.Contains(got, test.want) {
				t.Errorf("stdio: got %s; want %s", got, test.want)
			}

			url := httpFixture(t, s, nil).URL + "/mcp"
			resp := post(t, url, "", strings.Replace(initialize("2025-11-25"), `"capabilities":{}`, canElicit, 1), false, nil)
			resp.Body.Close()
			session := resp.Header.Get(sessionHeader)
			other := begin(t, url, nil)
			resp = post(t, url, session, request(`"call"`, "tools/call", test.call, false), false, nil)
			defer resp.Body.Close()
			stream := bufio.NewReader(resp.Body)
			for _, answer := range test.answers {
				question := nextEvent(t, stream)
				for _, by := range []string{other, session} { // what another session says does not count
					reply := answerTo(t, question, answer)
					if by == other {
						reply = answerTo(t, question, `"result":{"action":"accept","content":{"from":"elsewhere"}}`)
					}
					r := post(t, url, by, reply, false, nil)
					r.Body.Close()
					if r.StatusCode != http.StatusAccepted {
						t.Errorf("an answer was met with %s", r.Status)
					}
				}
			}
			var got string
			if len(test.answers) > 0 {
				got = nextEvent(t, stream)
			} else {
				b, err := io.ReadAll(stream)
				if err != nil {
					t.Fatal(err)
				}
				got = string(b)
			}
			if !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":"call"`) || !strings.Contains(got, test.want) {
				t.Errorf("http: got %s; want %s", got, test.want)
			}
		})
	}
}

// answerTo returns a client's answer to a request of the server.
func answerTo(t *testing.T, req, answer string) string {
	t.Helper()
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if err := json.Unmarshal([]byte(req), &m); err != nil || m.Method != call.AskElicitation {
		t.Fatalf("not a question: %s", req)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, m.ID, answer)
}

// nextEvent reads an event of a stream.
func nextEvent(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			return strings.TrimSuffix(data, "\n")
		}
	}
}

// TestAskNobody checks clients that cannot be asked, and ones that go away.
func TestAskNobody(t *testing.T) {
	s, _ := fixture(t)
	addAsking(t, s)
	c := dial(t, s)
	c.send(initialize("2025-11-25"))
	c.receive()
	c.send(request(`1`, "tools/call", `{"name":"loose"}`, false))
	if got := c.receive(); !strings.Contains(got, `"requiredCapabilities":{"elicitation":{}}`) {
		t.Error(got)
	}

	c = dial(t, s)
	c.send(strings.Replace(initialize("2025-11-25"), `"capabilities":{}`, `"capabilities":{"elicitation":{"url":{}}}`, 1))
	c.receive()
	c.send(request(`1`, "tools/call", `{"name":"loose"}`, false))
	if got := c.receive(); !strings.Contains(got, `"requiredCapabilities"`) {
		t.Errorf("a client that takes no forms is sent one: %s", got)
	}

	c = dial(t, s)
	c.send(strings.Replace(initialize("2025-11-25"), `"capabilities":{}`, `"capabilities":{"elicitation":{"form":{},"url":{}}}`, 1))
	c.receive()
	c.send(request(`1`, "tools/call", `{"name":"loose"}`, false))
	question := c.receive()
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	if got := c.receive(); !strings.Contains(got, `"method":"notifications/cancelled","params":{"reason":"canceled by the client","requestId":"server-1"}`) {
		t.Errorf("the question is not taken back: %s", got)
	}
	c.send(answerTo(t, question, `"result":{"action":"accept"}`)) // too late
	c.send(request(`2`, "ping", `{}`, false))
	if got := c.receive(); got != `{"jsonrpc":"2.0","id":2,"result":{}}` {
		t.Error(got)
	}

	url := httpFixture(t, s, nil).URL + "/mcp"
	resp := post(t, url, "", strings.Replace(initialize("2025-11-25"), `"capabilities":{}`, canElicit, 1), false, nil)
	resp.Body.Close()
	resp = post(t, url, resp.Header.Get(sessionHeader), request(`1`, "tools/call", `{"name":"loose"}`, false), false, map[string]string{"Accept": "application/json"})
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); !strings.Contains(string(b), "its Accept header excludes event streams") {
		t.Errorf("%s", b)
	}
}

// TestClockStandsStill checks that the time a person takes is not the tool's.
func TestClockStandsStill(t *testing.T) {
	s, _ := fixture(t)
	add(s, domain.Define(domain.Tool{Name: "hasty", Description: "Has no time.", Timeout: 500 * time.Millisecond, Confirm: true},
		func(context.Context, noInput) (domain.ToolResult, error) { return domain.Text("done"), nil }))
	c := dial(t, s)
	c.send(strings.Replace(initialize("2025-11-25"), `"capabilities":{}`, canElicit, 1))
	c.receive()
	c.send(request(`1`, "tools/call", `{"name":"hasty"}`, false))
	question := c.receive()
	time.Sleep(750 * time.Millisecond) // the case itself
	c.send(answerTo(t, question, `"result":{"action":"accept"}`))
	if got := c.receive(); !strings.Contains(got, `"text":"done"`) {
		t.Error(got)
	}
}

// round makes a modern call and returns its answer.
func round(t *testing.T, ask conversation, tool, extra string) (answer struct {
	Result struct {
		ResultType    string
		InputRequests map[string]struct{ Method string }
		RequestState  string
		Content       []struct{ Text string }
	}
	Error *struct {
		Code    int
		Message string
		Data    map[string]any
	}
}) {
	t.Helper()
	msg := request(`1`, "tools/call", `{"name":"`+tool+`"`+extra+`}`, true)
	msg = strings.Replace(msg, `clientCapabilities":{}`, `clientCapabilities":{"elicitation":{}}`, 1)
	got := ask(t, msg)
	if err := json.Unmarshal([]byte(got), &answer); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	return answer
}

// TestRounds checks questions to modern clients, on both transports.
func TestRounds(t *testing.T) {
	s, _ := fixture(t)
	addAsking(t, s)
	for transport, ask := range map[string]conversation{"stdio": overStdio(t, s), "http": overHTTP(t, s, true, nil)} {
		t.Run(transport, func(t *testing.T) {
			first := round(t, ask, "two_steps", "").Result
			if first.ResultType != "input_required" || first.InputRequests["one"].Method != call.AskElicitation || first.RequestState == "" {
				t.Fatalf("%+v", first)
			}
			again := round(t, ask, "two_steps", `,"inputResponses":{"two":{"action":"accept"},"one":7},"requestState":"`+first.RequestState+`"`).Result
			if again.ResultType != "input_required" || len(again.InputRequests) != 1 || again.InputRequests["one"].Method == "" {
				t.Errorf("what was not asked counts: %+v", again)
			}
			second := round(t, ask, "two_steps", `,"inputResponses":{"one":{"action":"accept","content":{"n":1}}},"requestState":"`+first.RequestState+`"`).Result
			if second.ResultType != "input_required" || second.InputRequests["two"].Method == "" || second.RequestState == first.RequestState {
				t.Fatalf("%+v", second)
			}
			last := round(t, ask, "two_steps", `,"inputResponses":{"two":{"action":"decline"}},"requestState":"`+second.RequestState+`"`).Result
			if last.ResultType != "complete" || last.Content[0].Text != `accept{"n":1} decline` {
				t.Errorf("%+v", last)
			}

			if unasked := round(t, ask, "careful", `,"arguments":{"text":"x"},"inputResponses":{"confirm":{"action":"accept"}}`).Result; unasked.ResultType != "input_required" {
				t.Errorf("a sealed question was answered before it was asked: %+v", unasked)
			}
			if open := round(t, ask, "loose", `,"inputResponses":{"name":{"action":"accept","content":{}},"more":{}}`).Result; open.ResultType != "complete" {
				t.Errorf("%+v", open)
			}
			if no := round(t, ask, "roots", "").Error; no == nil || no.Code != -32021 || no.Data["requiredCapabilities"] == nil {
				t.Errorf("%+v", no)
			}
		})
	}
}

// TestState checks that a state is good for the call it was given for, and for
// nothing else.
func TestState(t *testing.T) {
	s, _ := fixture(t)
	addAsking(t, s)
	tokens, err := ParseTokens("token", []Token{{Name: "ann", Hash: HashToken("ann-token")}, {Name: "bob", Hash: HashToken("bob-token")}})
	if err != nil {
		t.Fatal(err)
	}
	url := httpFixture(t, s, tokens).URL + "/mcp"
	as := func(token string) conversation {
		return func(t *testing.T, msg string) string {
			resp := post(t, url, "", msg, true, map[string]string{"Authorization": "Bearer " + token})
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
	}
	const args, yes = `,"arguments":{"text":"a"}`, `,"inputResponses":{"confirm":{"action":"accept"}},"requestState":"`
	state := round(t, as("ann-token"), "careful", args).Result.RequestState
	opened, err := s.openState(state)
	if err != nil {
		t.Fatal(err)
	}
	opened.Expires = time.Now().Add(-time.Second)
	expired, err := s.sealState(opened)
	if err != nil {
		t.Fatal(err)
	}
	foreign := keyring.Own().Seal(sealedState, jsonrpc.AppendValue(nil, opened))
	for name, got := range map[string]any{
		"somebody else":      round(t, as("bob-token"), "careful", args+yes+state+`"`).Error,
		"other arguments":    round(t, as("ann-token"), "careful", `,"arguments":{"text":"b"}`+yes+state+`"`).Error,
		"another tool":       round(t, as("ann-token"), "loose", args+yes+state+`"`).Error,
		"tampered with":      round(t, as("ann-token"), "careful", args+yes+state+`A"`).Error,
		"cut":                round(t, as("ann-token"), "careful", args+yes+state[:len(state)-4]+`"`).Error,
		"expired":            round(t, as("ann-token"), "careful", args+yes+expired+`"`).Error,
		"of another process": round(t, as("ann-token"), "careful", args+yes+foreign+`"`).Error,
		"not a string":       round(t, as("ann-token"), "careful", args+`,"requestState":7`).Error,
		"answers no object":  round(t, as("ann-token"), "careful", args+`,"inputResponses":[]`).Error,
	} {
		if fmt.Sprintf("%T %v", got, got) == fmt.Sprintf("%T <nil>", got) {
			t.Errorf("%s: accepted", name)
		}
	}
	// A client writes its arguments anew for each round.
	if done := round(t, as("ann-token"), "careful", `,"arguments": {"text" : "\u0061"}`+yes+state+`"`).Result; done.ResultType != "complete" || done.Content[0].Text != "did a" {
		t.Errorf("%+v", done)
	}
	if again := round(t, as("ann-token"), "careful", args+yes+state+`"`).Result; again.ResultType != "input_required" || again.RequestState == state {
		t.Errorf("one answer is good for two calls: %+v", again)
	}
}

// TestConfirmShowsAll checks that a person is shown all that they agree to, or not asked.
func TestConfirmShowsAll(t *testing.T) {
	s, _ := fixture(t)
	addAsking(t, s)
	c := dial(t, s)
	c.send(strings.Replace(initialize("2025-11-25"), `"capabilities":{}`, canElicit, 1))
	c.receive()
	c.send(request(`1`, "tools/call", `{"name":"careful","arguments":{"text":"`+strings.Repeat("x", 30_000)+`; the end"}}`, false))
	if got, want := c.receive(), `; the end\"}?`; !strings.Contains(got, want) {
		t.Errorf("got %s; want %s", got, want)
	}
	c.send(request(`2`, "tools/call", `{"name":"careful","arguments":{"text":"`+strings.Repeat("\u202e", 30_000)+`"}}`, false))
	if got, want := c.receive(), "careful was not run: a person has to agree to it, and the question would have 180"; !strings.Contains(got, want) {
		t.Errorf("got %s; want %s", got, want)
	}
}

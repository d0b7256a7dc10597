package anthropic_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	fake "github.com/toolserver/toolserver/test/fakes/anthropic"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/anthropic"
)

const model = "claude-sonnet-5-5"

// stream is a reply that is a stream of what pieces say.
func stream(pieces ...string) fake.Reply {
	return fake.Reply{Header: fake.EventStream(), Body: strings.Join(pieces, "")}
}

// hello is what the model says where that does not matter.
var hello = fake.Turn{Text: []string{"Hello, Wörld ☃!"}}

// begun is the stream of hello up to where it says why it stops.
func begun() string {
	events, _, _ := strings.Cut(hello.Events(model), "event: message_delta")
	return events
}

// run calls claude_conversation once, for a case of its own API.
func run(t *testing.T, c tooltest.Case, api *fake.Server) {
	t.Helper()
	conversation, _ := tools(t, api)
	c.Args = `{"message":"hello"}`
	tooltest.Run(t, conversation, []tooltest.Case{c})
}

func TestConversation(t *testing.T) {
	const said = "Hello, Wörld ☃!"
	const length = said + "\n\n[The answer is cut off at max_tokens=4096; a larger max_tokens gives more of it.]"
	for _, c := range []struct {
		name string
		turn fake.Turn
		want string
	}{
		{"plain", hello, said},
		{"split at every byte", fake.Turn{Text: hello.Text, Thinking: "hm", Chunk: 1}, said},
		{"split anywhere", fake.Turn{Text: hello.Text, Chunk: 7}, said},
		{"JSON", fake.Turn{Text: hello.Text, Whole: true}, said},
		{"thinking first", fake.Turn{Thinking: "Let me see.", Text: []string{"It is ", "four."}}, "It is four."},
		{"thinking first, JSON", fake.Turn{Thinking: "Let me see.", Text: []string{"It is ", "four."}, Whole: true}, "It is four."},
		{"stop sequence", fake.Turn{Text: hello.Text, StopReason: "stop_sequence"}, said},
		{"length", fake.Turn{Text: hello.Text, StopReason: "max_tokens"}, length},
		{"length, JSON", fake.Turn{Text: hello.Text, StopReason: "max_tokens", Whole: true}, length},
		{"refusal", fake.Turn{Text: []string{"I"}, StopReason: "refusal"}, "I\n\n[The model refused to go on (stop_reason refusal).]"},
		{"refusal without a word", fake.Turn{StopReason: "refusal"}, "[The model refused to go on (stop_reason refusal).]"},
		{"context", fake.Turn{Text: []string{"I\n"}, StopReason: "model_context_window_exceeded"},
			"I\n\n[The answer is cut off: the context window of the model is full.]"},
		{"pause", fake.Turn{Text: []string{"I"}, StopReason: "pause_turn"}, "I\n\n[The model paused (stop_reason pause_turn); ask it to go on.]"},
		{"another reason", fake.Turn{Text: []string{"I"}, StopReason: "whim"}, "I\n\n[The model stopped with stop_reason whim.]"},
		{"no text", fake.Turn{Thinking: "hm"}, "[The model answered without text.]"},
	} {
		api := new(fake.Server)
		api.Say(c.turn)
		run(t, tooltest.Case{Name: c.name, Exact: c.want}, api)
	}
}

// TestConversationRetries checks that a request that is refused for a time is sent
// again.
func TestConversationRetries(t *testing.T) {
	for _, c := range []struct {
		name   string
		kinds  [2]string
		status [2]int
	}{
		{"overloaded, limited", [2]string{"overloaded_error", "rate_limit_error"}, [2]int{529, 429}},
		{"conflict, too slow", [2]string{"conflict", "timeout_error"}, [2]int{409, 408}},
		{"broken", [2]string{"api_error", "api_error"}, [2]int{500, 502}},
	} {
		api := new(fake.Server)
		for i, kind := range c.kinds {
			refusal := fake.Error(c.status[i], kind, "later")
			refusal.Header = map[string]string{"Retry-After": "0"}
			api.Script(fake.MessagesPath, refusal)
		}
		api.Say(hello)
		run(t, tooltest.Case{Name: c.name, Exact: "Hello, Wörld ☃!"}, api)
	}
}

// TestConversationFailures checks that failures are told apart and that what came
// before one is kept.
func TestConversationFailures(t *testing.T) {
	start := begun()
	dropped := stream(start)
	dropped.Drop = true
	notText := fake.Event("content_block_delta", map[string]any{"delta": map[string]any{"type": "text_delta", "text": 5}})
	const until = "; the answer until then:\nHello, Wörld ☃!"
	for _, c := range []struct {
		name  string
		reply fake.Reply
		kind  string
		want  string
	}{
		{"overloaded in the middle", stream(start, fake.ErrorEvent("overloaded_error", "Overloaded")), "overloaded",
			"Anthropic API error: overloaded_error: Overloaded (request_id req_fake0123456789)" + until},
		{"overloaded at once", stream(fake.ErrorEvent("overloaded_error", "Overloaded")), "overloaded",
			"Anthropic API error: overloaded_error: Overloaded"},
		{"an error without its form", stream(start, "event: error\ndata: <html>\n\n"), "http_status",
			"Anthropic API error: an answer that is not the API's own (request_id"},
		{"an error as JSON", fake.Reply{Body: fake.Error(0, "api_error", "oops").Body}, "http_status", "Anthropic API error: api_error: oops"},
		{"broken off", dropped, "unreachable", "Error calling the Anthropic API: the stream of the answer broke off before its end" + until},
		{"ended early", stream(start), "unreachable", "broke off before its end" + until},
		{"ended in an event", stream(start, "event: message_stop\ndata: {}\n"), "unreachable", "broke off"},
		{"bad event", stream(start, "event: content_block_delta\ndata: {\"type\":\n\n"), "bad_answer",
			"an event content_block_delta of the answer cannot be read" + until},
		{"text that is none", stream(start, notText), "bad_answer", "content_block_delta"},
		{"HTML", fake.Reply{Header: map[string]string{"Content-Type": "text/html"}, Body: "<h1>Sign in</h1>"}, "bad_answer",
			"the answer is neither JSON nor an event stream"},
		{"other JSON", fake.Reply{Body: `{"choices":[]}`}, "bad_answer", "the answer is not a message of the API"},
		{"no JSON", fake.Reply{Body: `{`}, "bad_answer", "the answer is not a message of the API"},
		{"null", fake.Reply{Body: `null`}, "bad_answer", "the answer is"},
		{"an array", fake.Reply{Body: `[null]`}, "bad_answer", "the answer is"},
		{"a number", fake.Reply{Body: `1e400`}, "bad_answer", "the answer is"},
		{"type null", fake.Reply{Body: `{"type":null,"content":[{"type":"text","text":"x"}]}`}, "bad_answer", "the answer is"},
		{"content of a number", fake.Reply{Body: `{"type":"message","content":5}`}, "bad_answer", "cannot be read"},
		{"a huge number", fake.Reply{Body: `{"type":"message","usage":{"input_tokens":1e400},"content":[]}`}, "bad_answer", "cannot be read"},
		{"JSON of a wrong type", fake.Reply{Body: `{"type":"message","content":[{"type":"text","text":5}]}`}, "bad_answer", "cannot be read"},
		{"JSON broken off", fake.Reply{Header: map[string]string{"Content-Length": "99"}, Body: `{`, Drop: true}, "unreachable",
			"the connection failed"},
		{"endless", fake.Reply{Header: fake.EventStream(), Body: start + "data: " + strings.Repeat("x", 2<<20)}, "too_large", "bytes" + until},
		{"400", fake.Error(400, "invalid_request_error", "max_tokens: too many"), "invalid_query",
			"Anthropic API error: HTTP 400 — invalid_request_error: max_tokens: too many"},
		{"401", fake.Error(401, "authentication_error", "bad key"), "bad_credentials", "bad key"},
	} {
		api := new(fake.Server)
		api.Script(fake.MessagesPath, c.reply)
		run(t, tooltest.Case{Name: c.name, Want: c.want, Fail: true, ErrorType: c.kind, Check: func(t *testing.T, res domain.ToolResult) {
			if text := tooltest.Text(res); strings.Contains(text, "<h") || strings.Contains(text, fake.APIKey) {
				t.Errorf("shows what it should not: %s", text)
			}
		}}, api)
	}
}

// TestConversationOddEvents checks that what is for others, or for later, is
// passed over.
func TestConversationOddEvents(t *testing.T) {
	api := new(fake.Server)
	api.Script(fake.MessagesPath, stream(
		": a comment\r\n\r\n", "data: [DONE]\n\n", "event: future\ndata: {\"type\":\"future\",\"text\":[1]}\n\n", begun(),
		fake.Event("content_block_start", map[string]any{"index": 1, "content_block": map[string]any{"type": "hologram", "text": map[string]any{}}}),
		fake.Event("content_block_delta", map[string]any{"index": 1, "delta": map[string]any{"type": "input_json_delta", "partial_json": "{"}}),
		fake.Event("content_block_delta", map[string]any{"index": 1, "delta": map[string]any{"type": "citations_delta", "citation": nil}}),
		fake.Event("ping", map[string]any{}), "event: ping\ndata:\n\n",
		fake.Event("content_block_start", map[string]any{"index": 2, "content_block": map[string]any{"type": "text", "text": " And"}}),
		"data: {\"type\":\"content_block_delta\",\ndata: \"delta\":{\"type\":\"text_delta\",\"text\":\" more.\"}}\n\n",
		fake.Event("message_stop", map[string]any{}), "event: error\ndata: too late\n\n"))
	run(t, tooltest.Case{Name: "odd", Exact: "Hello, Wörld ☃! And more."}, api)
}

func TestConversationArguments(t *testing.T) {
	api := new(fake.Server)
	conversation, _ := tools(t, api)
	var cases []tooltest.Case
	for _, c := range []struct{ name, args, want string }{
		{"no message", `{}`, "message"},
		{"empty message", `{"message":""}`, "message"},
		{"blank message", `{"message":" \n"}`, "message must not be empty"},
		{"max_tokens", `{"message":"m","max_tokens":0}`, "max_tokens must be at least 1"},
		{"temperature", `{"message":"m","temperature":1.1}`, "temperature must be at most 1"},
		{"conversation", `{"message":"m","conversation_id":"a b"}`, "conversation_id"},
		{"unknown", `{"message":"m","prompt":"p"}`, "prompt"},
	} {
		cases = append(cases, tooltest.Case{Name: c.name, Args: c.args, Want: c.want, Code: domain.CodeInvalidParams})
	}
	tooltest.Run(t, conversation, cases)
	if n := len(api.Requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// TestConversationRequest checks what is sent.
func TestConversationRequest(t *testing.T) {
	for _, c := range []struct{ name, args, want string }{
		{"least", `{"message":"a <b> & \"c\""}`,
			`{"model":"claude-sonnet-5-5","max_tokens":4096,"messages":[{"role":"user","content":"a <b> & \"c\""}],"stream":true}`},
		{"all", `{"message":"m","model":"claude-haiku-4-5","system_prompt":"s","max_tokens":7,"temperature":0}`,
			`{"model":"claude-haiku-4-5","max_tokens":7,"system":"s","messages":[{"role":"user","content":"m"}],"temperature":0,"stream":true}`},
		{"effort", `{"message":"m","effort":"xhigh"}`,
			`{"model":"claude-sonnet-5-5","max_tokens":4096,"messages":[{"role":"user","content":"m"}],"output_config":{"effort":"xhigh"},"stream":true}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := new(fake.Server)
			conversation, _ := tools(t, api)
			if res := tooltest.Call(t, conversation, c.args); res.IsError {
				t.Fatal(tooltest.Text(res))
			}
			var got, want any
			if json.Unmarshal(api.Requests()[0].Body, &got) != nil || json.Unmarshal([]byte(c.want), &want) != nil || !equal(got, want) {
				t.Errorf("sent %s; want %s", api.Requests()[0].Body, c.want)
			}
		})
	}
}

// TestConversationVersion asks at the newest version of the API, and with a temperature, which that does not have, at the last one
// that has it. An operator's version is the one.
func TestConversationVersion(t *testing.T) {
	for _, c := range []struct{ configured, args, want, says string }{
		{"", `{"message":"m"}`, "2026-10-21", "You said: m"},
		{"", `{"message":"m","temperature":0.5,"model":"claude-haiku-4-5"}`, "2023-06-01", "You said: m"},
		{"", `{"message":"m","temperature":0.5}`, "2023-06-01", "`temperature` is deprecated for this model"},
		{"2023-06-01", `{"message":"m"}`, "2023-06-01", "You said: m"},
		{"2026-10-21", `{"message":"m","temperature":0.5,"model":"claude-haiku-4-5"}`, "2026-10-21", "temperature: Extra inputs are not permitted"},
	} {
		api := new(fake.Server)
		srv := httptest.NewServer(api)
		t.Cleanup(srv.Close)
		o := options(srv)
		o.Version = c.configured
		all := tooltest.Tools(t, anthropic.Family(), declare.From[anthropic.Options]{Client: tooltest.Client(client(t, srv)), Config: o})
		text := tooltest.Text(tooltest.Call(t, all[0], c.args))
		if got := api.Requests()[0].Header.Get("Anthropic-Version"); got != c.want || !strings.Contains(text, c.says) {
			t.Errorf("%q, %s: version %s: %s", c.configured, c.args, got, text)
		}
	}
}

// TestRefusal says why a model refused, as far as the API does.
func TestRefusal(t *testing.T) {
	for _, c := range []struct {
		turn fake.Turn
		note string
		meta string
	}{
		{fake.Turn{Category: "cyber", Explained: "It could\nhelp."}, "[The model refused to go on (stop_reason refusal, category cyber): It could help.]",
			`"stop_details":{"category":"cyber","explanation":"It could help."}`},
		{fake.Turn{Category: "bio"}, "[The model refused to go on (stop_reason refusal, category bio).]", `"stop_details":{"category":"bio"}`},
		{fake.Turn{}, "[The model refused to go on (stop_reason refusal).]", `"stop_reason":"refusal","usage"`},
	} {
		for _, whole := range []bool{false, true} {
			api := new(fake.Server)
			c.turn.StopReason, c.turn.Text, c.turn.Whole = "refusal", []string{"No"}, whole
			api.Say(c.turn)
			conversation, _ := tools(t, api)
			res := tooltest.Call(t, conversation, `{"message":"m"}`)
			meta, err := json.Marshal(res.Meta)
			if text := tooltest.Text(res); err != nil || text != "No\n\n"+c.note || !strings.Contains(string(meta), c.meta) {
				t.Errorf("%q, %s", text, meta)
			}
		}
	}
}

func equal(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

func TestConversationMeta(t *testing.T) {
	const want = `{"model":"claude-sonnet-5-5","stop_reason":"end_turn",` +
		`"usage":{"input_tokens":25,"output_tokens":15,"cache_creation_input_tokens":0,"cache_read_input_tokens":0},` +
		`"request_id":"req_fake0123456789"}`
	for name, whole := range map[string]bool{"stream": false, "JSON": true} {
		api := new(fake.Server)
		api.Say(fake.Turn{Text: []string{"hi"}, Whole: whole})
		conversation, _ := tools(t, api)
		res := tooltest.Call(t, conversation, `{"message":"hello"}`)
		if got, err := json.Marshal(res.Meta); err != nil || string(got) != want || res.Structured() != nil {
			t.Errorf("%s: meta %s, error %v, structured %v\nwant %s", name, got, err, res.Structured(), want)
		}
	}
}

// TestUnknownModel checks that a caller learns which models there are.
func TestUnknownModel(t *testing.T) {
	api := new(fake.Server)
	conversation, _ := tools(t, api)
	tooltest.Run(t, conversation, []tooltest.Case{
		{Name: "near", Args: `{"message":"m","model":"claude-opus-5.5"}`, Fail: true, ErrorType: "not_found",
			Want: "HTTP 404 — not_found_error: model: claude-opus-5.5 (request_id " + fake.RequestID + "); did you mean claude-opus-5-5?; " +
				"models there are: claude-sonnet-5-5, claude-opus-5-5, claude-haiku-5-5"},
		{Name: "far", Args: `{"message":"m","model":"gpt"}`, Fail: true, ErrorType: "not_found",
			Want: "model: gpt (request_id " + fake.RequestID + "); models there are: claude-sonnet-5-5"},
	})
	api.Script(fake.ModelsPath, fake.Error(403, "permission_error", "no"))
	tooltest.Run(t, conversation, []tooltest.Case{
		{Name: "no list", Args: `{"message":"m","model":"gpt"}`, Fail: true, ErrorType: "not_found", Want: "not_found_error: model: gpt (request_id"},
	})
}

// TestAnsweredOnce checks that a request the API has begun to answer is not sent
// again, and that one is not waited for that is asked to come back in an hour.
func TestAnsweredOnce(t *testing.T) {
	later := fake.Error(429, "rate_limit_error", "slow down")
	later.Header = map[string]string{"Retry-After": "3600"}
	for name, reply := range map[string]fake.Reply{
		"broken off":  {Header: fake.EventStream(), Body: ": begun\n\n", Drop: true},
		"error event": stream(fake.ErrorEvent("overloaded_error", "Overloaded")),
		"later":       later,
	} {
		api := new(fake.Server)
		api.Script(fake.MessagesPath, reply)
		conversation, _ := tools(t, api)
		res := tooltest.Call(t, conversation, `{"message":"m"}`)
		if n := len(api.Requests()); n != 1 || !res.IsError {
			t.Errorf("%s: %d requests, %s", name, n, tooltest.Text(res))
		}
		if name == "later" && (res.ErrorType() != "rate_limited" || !strings.Contains(tooltest.Text(res), "it asks to wait 1h0m0s")) {
			t.Errorf("%s: %s", res.ErrorType(), tooltest.Text(res))
		}
	}
}

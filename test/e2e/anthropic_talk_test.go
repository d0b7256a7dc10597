package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	anthropic "toolserver/test/fakes/anthropic"
)

func (c *toolClient) talk(message string, more ...any) answer {
	c.t.Helper()
	return c.call("claude_conversation", arguments(append([]any{"message", message}, more...)...))
}

// TestAnthropicTalk has the model answer in every form, whole and in pieces.
func TestAnthropicTalk(t *testing.T) {
	t.Parallel()
	fake := new(anthropic.Server)
	c := openAnthropic(t, fake)
	const unicode = "Grüße 日本語 😀\nand a second line"
	for _, tt := range []struct {
		name string
		turn anthropic.Turn
		want string
	}{
		{"one block", anthropic.Turn{Text: []string{unicode}}, unicode},
		{"byte by byte", anthropic.Turn{Text: []string{unicode}, Chunk: 1}, unicode},
		{"in frames of 7", anthropic.Turn{Text: []string{unicode, " and ", unicode}, Chunk: 7}, unicode + " and " + unicode},
		{"thinking first", anthropic.Turn{Thinking: "secret thoughts", Text: []string{"said"}, Chunk: 3}, "said"},
		{"whole", anthropic.Turn{Thinking: "secret thoughts", Text: []string{"all ", "at once"}, Whole: true}, "all at once"},
		{"long", anthropic.Turn{Text: []string{strings.Repeat("word ", 5000)}}, strings.Repeat("word ", 5000)},
		{"cut off", anthropic.Turn{Text: []string{"half a sent"}, StopReason: "max_tokens"},
			"half a sent\n\n[The answer is cut off at max_tokens=77; a larger max_tokens gives more of it.]"},
		{"refused", anthropic.Turn{Text: []string{"I will"}, StopReason: "refusal"},
			"I will\n\n[The model refused to go on (stop_reason refusal).]"},
		{"refused at once", anthropic.Turn{StopReason: "refusal", Whole: true}, "[The model refused to go on (stop_reason refusal).]"},
		{"context is full", anthropic.Turn{Text: []string{"so far"}, StopReason: "model_context_window_exceeded"},
			"so far\n\n[The answer is cut off: the context window of the model is full.]"},
		{"only thoughts", anthropic.Turn{Thinking: "secret thoughts"}, "[The model answered without text.]"},
	} {
		fake.Say(tt.turn)
		a := c.talk("hello", "max_tokens", 77)
		if a.failed() || a.text() != tt.want {
			t.Errorf("%s: %+v %.500q, want %.500q", tt.name, a.Error, a.text(), tt.want)
		}
		stop := tt.turn.StopReason
		if stop == "" {
			stop = "end_turn"
		}
		usage, _ := a.Result.Meta["usage"].(map[string]any)
		if m := a.Result.Meta; m["model"] != "claude-sonnet-5-5" || m["stop_reason"] != stop ||
			usage["output_tokens"] != float64(anthropic.OutputTokens) || m["request_id"] != anthropic.RequestID {
			t.Errorf("%s: _meta is %v", tt.name, m)
		}
	}
	if a := c.talk("what I say"); a.text() != "You said: what I say" {
		t.Errorf("got %q", a.text())
	}
	sent := fake.Requests()
	var asked map[string]any
	must(t, json.Unmarshal(sent[len(sent)-1].Body, &asked))
	if asked["max_tokens"] != 4096.0 || asked["stream"] != true || asked["temperature"] != nil || asked["system"] != nil {
		t.Errorf("what is asked by default is %v", asked)
	}
	c.talk("more", "temperature", 0, "system_prompt", "Be brief.", "model", "claude-opus-5-5", "max_tokens", 5)
	sent = fake.Requests()
	must(t, json.Unmarshal(sent[len(sent)-1].Body, &asked))
	if temperature, ok := asked["temperature"]; !ok || temperature != 0.0 || asked["system"] != "Be brief." ||
		asked["model"] != "claude-opus-5-5" || asked["max_tokens"] != 5.0 {
		t.Errorf("what is asked is %v", asked)
	}
	c.ping()
}

// TestAnthropicTalkErrors has answers that fail, some of them half way.
func TestAnthropicTalkErrors(t *testing.T) {
	t.Parallel()
	fake := new(anthropic.Server)
	c := openAnthropic(t, fake)
	half := anthropic.Turn{Text: []string{"what came"}}.Events("claude-sonnet-5-5")
	stream := func(events string, chunk int) anthropic.Reply {
		return anthropic.Reply{Header: anthropic.EventStream(), Body: events, Chunk: chunk}
	}
	refused := anthropic.Error(529, "overloaded_error", "Overloaded")
	refused.Header = map[string]string{"X-Should-Retry": "false"}
	late := anthropic.Error(429, "rate_limit_error", "slow down "+anthropic.APIKey)
	late.Header = map[string]string{"Retry-After": "100"}
	for _, tt := range []struct {
		name            string
		reply           anthropic.Reply
		errorType, want string
	}{
		{"error in the stream", stream(half+anthropic.ErrorEvent("overloaded_error", "Overloaded"), 5), "overloaded",
			"the answer until then:\nwhat came"},
		{"error at the beginning", stream(anthropic.ErrorEvent("api_error", "Internal"), 0), "http_status", "api_error: Internal"},
		{"a stream without its end", stream(half, 0), "unreachable", "the answer until then:\nwhat came"},
		{"a stream that breaks off", anthropic.Turn{Text: []string{"what came"}, Drop: true, Chunk: 9}.Reply("m"), "unreachable",
			"the answer until then:\nwhat came"},
		{"events that are no JSON", stream("event: message_start\ndata: {\n\n", 0), "bad_answer", "message_start"},
		{"a page", anthropic.Reply{Header: map[string]string{"Content-Type": "text/html"}, Body: "<html>"}, "bad_answer",
			"neither JSON nor an event stream"},
		{"JSON of something else", anthropic.Reply{Body: `{"hello":1}`}, "bad_answer", "not a message"},
		{"overloaded", refused, "overloaded", "HTTP 529"},
		{"too often", late, "rate_limited", "it asks to wait 1m40s"},
		{"no such key", anthropic.Error(401, "authentication_error", "invalid "+anthropic.APIKey), "bad_credentials", "HTTP 401"},
		{"no money", anthropic.Error(400, "invalid_request_error", "Your credit balance is too low"), "quota_exceeded", "credit balance"},
	} {
		before := len(fake.Requests())
		fake.Script(anthropic.MessagesPath, tt.reply)
		a := c.talk("hello")
		wantFailure(t, tt.name, a, tt.errorType, tt.want)
		if whole := a.text() + fmt.Sprint(a.Result.StructuredContent); strings.Contains(whole, anthropic.APIKey) ||
			strings.Contains(whole, "<html>") {
			t.Errorf("%s: shows what it should not: %s", tt.name, whole)
		}
		if n := len(fake.Requests()) - before; n != 1 {
			t.Errorf("%s: %d requests", tt.name, n)
		}
	}
	again := anthropic.Error(529, "overloaded_error", "Overloaded")
	again.Header = map[string]string{"Retry-After": "0"}
	fake.Script(anthropic.MessagesPath, again, again)
	if a := c.talk("third time"); a.text() != "You said: third time" {
		t.Errorf("after two refusals: %s", a.text())
	}
	a := c.talk("hello", "model", "claude-sonnet-4-20250514")
	wantFailure(t, "a model there is not", a, "not_found", "claude-sonnet-4-20250514")
	if hint := fmt.Sprint(a.Result.StructuredContent, a.text()); !strings.Contains(hint, "claude-opus-5-5") {
		t.Errorf("the models there are are not named: %s", hint)
	}
	before := len(fake.Requests())
	for _, args := range []map[string]any{
		{}, arguments("message", ""), arguments("message", " \n"), arguments("message", "a", "max_tokens", 0),
		arguments("message", "a", "temperature", 1.5),
		arguments("message", "a", "conversation_id", "a b"), arguments("message", "a", "max_tokens", 200_000),
	} {
		if a := c.call("claude_conversation", args); a.Error == nil || a.Error.Code != -32602 {
			t.Errorf("%v: %s", args, a.text())
		}
	}
	if n := len(fake.Requests()) - before; n != 0 {
		t.Errorf("%d requests with wrong arguments", n)
	}
	keyless, _ := openTools(t, "")
	for _, name := range []string{"claude_conversation", "anthropic_usage"} {
		if a := keyless.call(name, arguments("message", "a")); a.Error == nil || a.Error.Code != -32001 {
			t.Errorf("%s without a key: %s", name, a.text())
		}
	}
	c.ping()
}

// TestAnthropicConversation goes on with conversations, each its principal's.
func TestAnthropicConversation(t *testing.T) {
	t.Parallel()
	fake := new(anthropic.Server)
	base := serveAnthropic(t, fake)
	s := startHTTP(t, binary(), httpConfig(t, t.TempDir(), usesAnthropic(base, "api_key: "+anthropic.APIKey)+
		"server: {tokens: ["+tokenEntry("ann", "anns")+", "+tokenEntry("bob", "bobs")+"]}\n")...)
	ann, bob := s.newPeer(t, "2025-11-25", "anns"), s.newPeer(t, "2025-11-25", "bobs")
	modern := s.newPeer(t, modernVersion, "anns")
	// talk returns what the model was told.
	talk := func(p *peer, message string, more ...any) string {
		t.Helper()
		a := p.call(t, "claude_conversation", arguments(append([]any{"message", message}, more...)...))
		if a.failed() {
			t.Fatalf("%s: %s", message, a.text())
		}
		var asked struct {
			System   string
			Messages []struct{ Role, Content string }
		}
		requests := fake.Requests()
		must(t, json.Unmarshal(requests[len(requests)-1].Body, &asked))
		text := asked.System
		for _, m := range asked.Messages {
			text += "|" + m.Role[:1] + ":" + m.Content
		}
		return text
	}
	for _, tt := range []struct {
		who  *peer
		args []any
		want string
	}{
		{ann, []any{"one", "conversation_id", "x", "system_prompt", "Be Ann."}, "Be Ann.|u:one"},
		{ann, []any{"two", "conversation_id", "x"}, "Be Ann.|u:one|a:You said: one|u:two"},
		{bob, []any{"three", "conversation_id", "x"}, "|u:three"},
		{modern, []any{"four", "conversation_id", "x"}, "Be Ann.|u:one|a:You said: one|u:two|a:You said: two|u:four"},
		{ann, []any{"five", "conversation_id", "y"}, "|u:five"},
		{ann, []any{"six"}, "|u:six"},
		{bob, []any{"seven", "conversation_id", "x", "system_prompt", "Be Bob."}, "Be Bob.|u:three|a:You said: three|u:seven"},
		{ann, []any{"eight", "conversation_id", "x"}, "Be Ann.|u:one|a:You said: one|u:two|a:You said: two|u:four|a:You said: four|u:eight"},
	} {
		if got := talk(tt.who, tt.args[0].(string), tt.args[1:]...); got != tt.want {
			t.Errorf("%v: the model is told %q, want %q", tt.args, got, tt.want)
		}
	}
	fake.Say(anthropic.Turn{Text: []string{"No."}, StopReason: "refusal"}) // which is not remembered
	talk(bob, "nine", "conversation_id", "y")
	if got := talk(bob, "ten", "conversation_id", "y"); got != "|u:ten" {
		t.Errorf("after a refusal the model is told %q", got)
	}
	s.running(t)
}

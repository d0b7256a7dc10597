package anthropic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	fake "github.com/toolserver/toolserver/test/fakes/anthropic"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/anthropic"
)

// TestConversationHistory goes on with conversations by their ids.
func TestConversationHistory(t *testing.T) {
	api := new(fake.Server)
	conversation, _ := tools(t, api)
	exec := tooltest.Executor(t, conversation)
	ask := func(principal, args string) domain.ToolResult {
		t.Helper()
		res, err := exec.Call(t.Context(), call.ExecuteToolCommand{
			Tool: "claude_conversation", Arguments: json.RawMessage(args), Session: domain.Session{Principal: domain.Principal{ID: principal, Name: principal}},
		})
		if err != nil || res.IsError {
			t.Fatalf("%s, error %v", tooltest.Text(res), err)
		}
		tooltest.Verify(t, conversation, res)
		return res
	}
	sent := func() (body struct {
		System   string
		Messages []struct{ Role, Content string }
	}) {
		t.Helper()
		requests := api.Requests()
		if err := json.Unmarshal(requests[len(requests)-1].Body, &body); err != nil {
			t.Fatal(err)
		}
		return body
	}
	ask("ada", `{"message":"one","conversation_id":"c","system_prompt":"s"}`)
	res := ask("ada", `{"message":"two","conversation_id":"c"}`)
	if body := sent(); body.System != "s" || fmt.Sprint(body.Messages) != "[{user one} {assistant You said: one} {user two}]" {
		t.Errorf("sent %+v", body)
	}
	if meta, err := json.Marshal(res.Meta); err != nil || !strings.HasSuffix(string(meta), `"conversation_id":"c","conversation_messages":4}`) {
		t.Errorf("meta %s, error %v", meta, err)
	}
	ask("bob", `{"message":"two","conversation_id":"c"}`)
	if body := sent(); len(body.Messages) != 1 || body.System != "" {
		t.Errorf("another principal's conversation was sent: %+v", body)
	}
	ask("ada", `{"message":"three"}`)
	if body := sent(); len(body.Messages) != 1 {
		t.Errorf("without an id there was sent %+v", body)
	}
	api.Say(
		fake.Turn{Text: []string{"I"}, StopReason: "refusal"}, fake.Turn{Text: []string{" "}},
		fake.Turn{Text: []string{"cut \n"}, StopReason: "max_tokens"},
	)
	for range 3 {
		ask("ada", `{"message":"four","conversation_id":"c"}`)
	}
	ask("ada", `{"message":"five","conversation_id":"c"}`)
	if body := sent(); len(body.Messages) != 7 || body.Messages[5].Content != "cut" {
		t.Errorf("sent %+v; want what was refused or empty left out", body)
	}
	long := strings.Repeat("x", 300<<10)
	for range 2 {
		res = ask("ada", `{"message":"`+long+`","conversation_id":"long","system_prompt":"s"}`)
	}
	if text := tooltest.Text(res); !strings.Contains(text, "read_large_result") { // the fake says it all again
		t.Errorf("%.200s", text)
	}
	api.Say(fake.Turn{Text: []string{"short"}})
	const forgotten = "short\n\n[The beginning of conversation long is forgotten: it has become too long.]"
	if text := tooltest.Text(ask("ada", `{"message":"`+long+long+`","conversation_id":"long"}`)); text != forgotten {
		t.Errorf("%.200s", text)
	}
}

// TestAsk is how other packages ask a model.
func TestAsk(t *testing.T) {
	api := new(fake.Server)
	srv := httptest.NewServer(api)
	defer srv.Close()
	messages, err := anthropic.NewMessages(client(t, srv), options(srv))
	if err != nil {
		t.Fatal(err)
	}
	var pieces []string
	api.Say(fake.Turn{Thinking: "hm", Text: []string{"one two"}})
	req := anthropic.Request{Messages: []anthropic.Message{{Role: anthropic.RoleUser, Content: "m"}}}
	answer, err := messages.Ask(t.Context(), req, func(text, thinking string) {
		pieces = append(pieces, text+"|"+thinking)
	})
	want := anthropic.Answer{
		Text: "one two", Model: model, StopReason: "end_turn",
		Usage: anthropic.Usage{InputTokens: fake.InputTokens, OutputTokens: fake.OutputTokens}, RequestID: fake.RequestID,
	}
	if err != nil || answer != want || strings.Join(pieces, ",") != "|hm,one|, two|" {
		t.Errorf("%+v, pieces %q, error %v", answer, pieces, err)
	}
	if _, err := messages.Ask(t.Context(), anthropic.Request{}, nil); err == nil || !strings.Contains(err.Error(), "at least one message is required") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := messages.Ask(ctx, anthropic.Request{}, nil); err != context.Canceled {
		t.Errorf("error %v; want that of the context", err)
	}
	if _, err := anthropic.NewMessages(client(t, srv), anthropic.Options{}); err == nil {
		t.Error("a client without a key")
	}
}

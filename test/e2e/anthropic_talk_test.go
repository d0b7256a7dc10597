package e2e

import (
	"encoding/json"
	"testing"

	anthropic "github.com/toolserver/toolserver/test/fakes/anthropic"
)

func (c *toolClient) talk(message string, more ...any) answer {
	c.t.Helper()
	return c.call("claude_conversation", arguments(append([]any{"message", message}, more...)...))
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

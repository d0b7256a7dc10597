package anthropic_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	fake "github.com/toolserver/toolserver/test/fakes/anthropic"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/test/tooltest"
)

// ask calls claude_conversation for a client that hears of progress.
func ask(ctx context.Context, exec *call.Executor, args string, heard func(call.Progress)) (domain.ToolResult, error) {
	return exec.Call(ctx, call.ExecuteToolCommand{
		Tool: "claude_conversation", Arguments: json.RawMessage(args), Client: call.ProgressFunc(heard),
	})
}

// TestConversationCancel checks that progress comes while the answer is being
// written, and that cancelling aborts the request.
func TestConversationCancel(t *testing.T) {
	api := new(fake.Server)
	half, _, _ := strings.Cut(fake.Turn{Thinking: "hm", Text: []string{"half of it"}}.Events(model), "event: message_delta")
	api.Script(fake.MessagesPath, fake.Reply{Header: fake.EventStream(), Body: half, Hang: true})
	conversation, _ := tools(t, api)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var heard []call.Progress
	_, err := ask(ctx, tooltest.Executor(t, conversation), `{"message":"m"}`, func(p call.Progress) {
		heard = append(heard, p)
		cancel()
	})
	if domain.CodeOf(err) != domain.CodeExecutionFailed || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("error %v", err)
	}
	if len(heard) != 1 || heard[0].Done != 2 || heard[0].Message != "thinking, 2 characters" {
		t.Errorf("heard %+v", heard)
	}
	select {
	case <-api.Gone():
	case <-time.After(10 * time.Second):
		t.Error("the request goes on")
	}
}

// TestConversationTimeout checks that what there is of an answer is kept when the
// call's time is up. A machine may be too slow for a short time, so it tries
// longer ones.
func TestConversationTimeout(t *testing.T) {
	half := begun()
	for limit := 100 * time.Millisecond; ; limit *= 4 {
		api := new(fake.Server)
		api.Script(fake.MessagesPath, fake.Reply{Header: fake.EventStream(), Body: half, Hang: true})
		conversation, _ := tools(t, api)
		conversation.Timeout = limit
		res, err := ask(t.Context(), tooltest.Executor(t, conversation), `{"message":"m"}`, nil)
		if text := tooltest.Text(res); err == nil && res.ErrorType() == call.TimedOut && strings.HasPrefix(text, "Hello") && strings.Contains(text, "\n[timed out after ") {
			return
		}
		if err != nil && domain.CodeOf(err) != domain.CodeTimeout || limit > 10*time.Second {
			t.Fatalf("error %v, %q; want what there was of the answer", err, tooltest.Text(res))
		}
	}
}

// TestConversationSlow checks that a connection that answers nothing at all is
// given up, too.
func TestConversationSlow(t *testing.T) {
	gone := make(chan struct{})
	conversation, _ := tools(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		defer close(gone)
		buffer := make([]byte, 1024)
		for {
			if _, err := r.Body.Read(buffer); err != nil {
				break
			}
		}
		<-r.Context().Done()
	}))
	conversation.Timeout = 50 * time.Millisecond
	res, err := ask(t.Context(), tooltest.Executor(t, conversation), `{"message":"m"}`, nil)
	if domain.CodeOf(err) != domain.CodeTimeout {
		t.Errorf("error %v, %q", err, tooltest.Text(res))
	}
	<-gone
}

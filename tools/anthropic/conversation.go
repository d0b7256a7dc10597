package anthropic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/outbound/httpcall"
)

const (
	ConversationName    = "claude_conversation"
	conversationTimeout = 2 * time.Minute
)

type conversationInput struct {
	Message        string   `json:"message" min:"1"`
	Model          string   `json:"model,omitempty" max:"100"`
	SystemPrompt   string   `json:"system_prompt,omitempty"`
	MaxTokens      int      `json:"max_tokens" default:"4096" min:"1" max:"128000"`
	Temperature    *float64 `json:"temperature" min:"0" max:"1"`
	Effort         string   `json:"effort,omitempty" enum:"low|medium|high|xhigh|max"`
	ConversationID string   `json:"conversation_id,omitempty" pattern:"^[A-Za-z0-9._-]{1,64}$"`
}

func (conversationInput) Words() string { return arguments }

// conversationMeta is what results say to programs.
type conversationMeta struct {
	Answer
	ConversationID string `json:"conversation_id,omitempty"`
	Messages       int    `json:"conversation_messages,omitempty"` // kept of the conversation
}

// talk is what claude_conversation works with.
type talk struct {
	messages *Messages
	history  *history
}

func conversation(t talk) domain.Tool {
	return domain.Define(domain.Tool{
		Name: ConversationName, Title: "Talk to Claude", Target: []string{"model", "conversation_id"},
		Description: "Ask a Claude model and return its answer. " +
			"The model sees the message, the system prompt and, with conversation_id, the earlier messages, but no files or tools. " +
			"A last line in brackets marks an incomplete answer.",
		Annotations: domain.Annotations{OpenWorld: true},
		Timeout:     conversationTimeout,
		Ability:     "ask another model, once or in a conversation",
	}, t.run)
}

func (t talk) run(ctx context.Context, in conversationInput) (domain.ToolResult, error) {
	if strings.TrimSpace(in.Message) == "" {
		return domain.ToolResult{}, domain.InvalidArgument(ConversationName, "message", "must not be empty")
	}
	principal := call.SessionOf(ctx).Principal.ID
	req := Request{Model: in.Model, System: in.SystemPrompt, MaxTokens: in.MaxTokens, Temperature: in.Temperature, Effort: in.Effort}
	if in.ConversationID != "" {
		earlier, _ := t.history.kept.Get(principal, in.ConversationID) // which keeps it for another while
		req.System = cmp.Or(req.System, earlier.system)
		req.Messages = append(req.Messages, earlier.messages...)
	}
	req.Messages = append(req.Messages, Message{RoleUser, in.Message})
	answer, err := t.messages.Ask(ctx, req, progress(ctx, time.Now))
	if err != nil {
		return t.failed(ctx, cmp.Or(in.Model, t.messages.model), answer.Text, err)
	}
	meta := conversationMeta{Answer: answer, ConversationID: in.ConversationID}
	parts := []string{strings.TrimRight(answer.Text, "\n"), endingNote(answer, in.MaxTokens)}
	if in.ConversationID != "" {
		var dropped bool
		if meta.Messages, dropped = t.history.add(principal, in.ConversationID, req.System, in.Message, answer); dropped {
			parts = append(parts, fmt.Sprintf("[The beginning of conversation %s is forgotten: it has become too long.]", in.ConversationID))
		}
	}
	result := domain.Text(strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "\n\n"))
	result.Meta = meta
	return result, nil
}

// failed returns the result of a call that got no answer, or only part of one. If
// its time is up the executor says so and keeps the part.
func (t talk) failed(ctx context.Context, model, partial string, err error) (domain.ToolResult, error) {
	if ctx.Err() != nil {
		return domain.Text(partial), ctx.Err()
	}
	if f, ok := errors.AsType[*httpcall.Failure](err); ok && f.Type == "not_found" {
		t.messages.withModels(ctx, f, model)
	}
	return t.messages.failure(err, partial), nil
}

// endingNote says in brackets how an answer ended, if not as usual.
func endingNote(a Answer, maxTokens int) string {
	switch a.StopReason {
	case "", "end_turn", "stop_sequence":
		if strings.TrimSpace(a.Text) == "" {
			return "[The model answered without text.]"
		}
		return ""
	case "max_tokens":
		return fmt.Sprintf("[The answer is cut off at max_tokens=%d; a larger max_tokens gives more of it.]", maxTokens)
	case "refusal":
		note := "[The model refused to go on (stop_reason refusal"
		if a.Refusal.Category != "" {
			note += ", category " + a.Refusal.Category
		}
		if note += ")"; a.Refusal.Explanation != "" {
			return note + ": " + a.Refusal.Explanation + "]"
		}
		return note + ".]"
	case "model_context_window_exceeded":
		return "[The answer is cut off: the context window of the model is full.]"
	case "pause_turn":
		return "[The model paused (stop_reason pause_turn); ask it to go on.]"
	}
	return "[The model stopped with stop_reason " + a.StopReason + ".]"
}

// progressEvery is the least time between two reports of progress.
const progressEvery = 200 * time.Millisecond

// progress tells the caller how far an answer has got: at its first piece, and from then on every progressEvery at most.
func progress(ctx context.Context, now func() time.Time) func(text, thinking string) {
	if !call.WantsProgress(ctx) {
		return nil
	}
	var last time.Time
	thought, written := 0, 0
	return func(text, thinking string) {
		thought += utf8.RuneCountInString(thinking)
		written += utf8.RuneCountInString(text)
		if t := now(); last.IsZero() || t.Sub(last) >= progressEvery {
			last = t
			message := fmt.Sprintf("%d characters", written)
			if written == 0 {
				message = fmt.Sprintf("thinking, %d characters", thought)
			}
			call.ReportProgress(ctx, call.Progress{Done: float64(thought + written), Message: message})
		}
	}
}

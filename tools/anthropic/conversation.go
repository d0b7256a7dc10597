package anthropic

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"toolserver/domain"
)

const (
	ConversationName    = "claude_conversation"
	conversationTimeout = 2 * time.Minute
)

type conversationInput struct {
	Message        string   `json:"message" min:"1" doc:"What to say to the model."`
	Model          string   `json:"model,omitempty" max:"100" doc:"Model to ask, the configured one if not given."`
	SystemPrompt   string   `json:"system_prompt,omitempty" doc:"Who the model is to be and what it is to keep to; a conversation keeps it."`
	MaxTokens      int      `json:"max_tokens" default:"4096" min:"1" max:"128000" doc:"Longest answer, in tokens."`
	Temperature    *float64 `json:"temperature" min:"0" max:"1" doc:"How freely the model words its answer; some models take none."`
	ConversationID string   `json:"conversation_id,omitempty" pattern:"^[A-Za-z0-9._-]{1,64}$" doc:"Name of your choice for a conversation to begin or go on with, kept for 30 minutes."`
}

// conversationMeta is what results say to programs.
type conversationMeta struct {
	Model          string `json:"model"`
	StopReason     string `json:"stop_reason"`
	Usage          Usage  `json:"usage"`
	RequestID      string `json:"request_id,omitempty"`
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
		Name: ConversationName, Title: "Talk to Claude", Category: category,
		Description: "Ask a Claude model and return its answer. The model sees the message, the system prompt and, with conversation_id, " +
			"what was said before; no files, no tools. A last line in brackets says so if the answer is not whole.",
		Annotations: domain.Annotations{OpenWorld: true},
		Timeout:     conversationTimeout,
		Uses:        domain.Fetches,
		Ability:     "ask another model, once or in a conversation",
	}, t.run)
}

func (t talk) run(ctx context.Context, in conversationInput) (domain.ToolResult, error) {
	if strings.TrimSpace(in.Message) == "" {
		return domain.ToolResult{}, domain.InvalidArgument(ConversationName, "message", "must not be empty")
	}
	key := conversationKey{domain.SessionOf(ctx).Principal.ID, in.ConversationID}
	req := Request{Model: in.Model, System: in.SystemPrompt, MaxTokens: in.MaxTokens, Temperature: in.Temperature}
	if in.ConversationID != "" {
		system, turns := t.history.turns(key)
		if req.System == "" {
			req.System = system
		}
		req.Messages = append(req.Messages, turns...)
	}
	req.Messages = append(req.Messages, Message{RoleUser, in.Message})
	answer, err := t.messages.Ask(ctx, req, progress(ctx, time.Now))
	if err != nil {
		return t.failed(ctx, in, answer.Text, err)
	}
	meta := conversationMeta{Model: answer.Model, StopReason: answer.StopReason, Usage: answer.Usage, RequestID: answer.RequestID}
	notes := []string{about(answer, in.MaxTokens)}
	if in.ConversationID != "" {
		meta.ConversationID = in.ConversationID
		var dropped bool
		if meta.Messages, dropped = t.remember(key, req.System, in.Message, answer); dropped {
			notes = append(notes, fmt.Sprintf("[The beginning of conversation %s is forgotten: it has become too long.]", in.ConversationID))
		}
	}
	result := domain.Text(withNotes(answer.Text, notes))
	result.Meta = meta
	return result, nil
}

// remember adds an exchange to a conversation. What a model refused is not part of
// it, or it would refuse whatever comes next as well.
func (t talk) remember(key conversationKey, system, said string, answer Answer) (count int, dropped bool) {
	if answer.StopReason == "refusal" || strings.TrimSpace(answer.Text) == "" {
		_, turns := t.history.turns(key)
		return len(turns), false
	}
	return t.history.add(key, system, said, strings.TrimRight(answer.Text, " \t\r\n"))
}

// failed returns the result of a call that got no answer, or only part of one. If
// its time is up the executor says so and keeps the part.
func (t talk) failed(ctx context.Context, in conversationInput, partial string, err error) (domain.ToolResult, error) {
	if ctx.Err() != nil {
		return domain.Text(partial), ctx.Err()
	}
	if api, ok := errors.AsType[*APIError](err); ok && api.Type == "not_found_error" {
		model := in.Model
		if model == "" {
			model = t.messages.model
		}
		t.messages.withModels(ctx, api, model)
	}
	return failure(err, "Error calling the "+t.messages.name, partial), nil
}

// about says in brackets what is remarkable about how an answer ends, or nothing.
func about(a Answer, maxTokens int) string {
	switch a.StopReason {
	case "", "end_turn", "stop_sequence":
		if strings.TrimSpace(a.Text) == "" {
			return "[The model answered without text.]"
		}
		return ""
	case "max_tokens":
		return fmt.Sprintf("[The answer is cut off at max_tokens=%d; a larger max_tokens gives more of it.]", maxTokens)
	case "refusal":
		return "[The model refused to go on (stop_reason refusal).]"
	case "model_context_window_exceeded":
		return "[The answer is cut off: the context window of the model is full.]"
	case "pause_turn":
		return "[The model paused (stop_reason pause_turn); ask it to go on.]"
	}
	return fmt.Sprintf("[The model stopped with stop_reason %s.]", a.StopReason)
}

// withNotes appends notes to a text, each on a line of its own.
func withNotes(text string, notes []string) string {
	for _, note := range notes {
		switch {
		case note == "":
		case text == "":
			text = note
		default:
			text = strings.TrimRight(text, "\n") + "\n\n" + note
		}
	}
	return text
}

package anthropic

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Tokens every [Turn] takes.
const (
	InputTokens  = 25
	OutputTokens = 15
)

// Message returns the turn as a message of JSON.
func (t Turn) Message(model string) string {
	content := []any{}
	if t.Thinking != "" {
		content = append(content, map[string]string{"type": "thinking", "thinking": t.Thinking, "signature": "c2lnbmVk"})
	}
	for _, text := range t.Text {
		content = append(content, map[string]string{"type": "text", "text": text})
	}
	m := t.head(model)
	m["content"], m["stop_reason"], m["stop_details"] = content, t.stopReason(), t.stopDetails()
	m["usage"] = map[string]int{"input_tokens": InputTokens, "output_tokens": OutputTokens}
	return toJSON(m)
}

// Reply returns the turn as the stream the API sends it as.
func (t Turn) Reply(model string) Reply {
	stop := Event("message_stop", map[string]any{})
	if t.Drop {
		stop = ""
	}
	return Reply{Header: EventStream(), Body: t.Events(model) + stop, Chunk: t.Chunk, Drop: t.Drop}
}

// EventStream returns the header of a stream.
func EventStream() map[string]string {
	return map[string]string{"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}
}

// Events returns the events of the turn in the API's order, up to the one before
// message_stop.
func (t Turn) Events(model string) string {
	var b strings.Builder
	start := t.head(model)
	start["content"], start["stop_reason"], start["stop_details"] = []any{}, nil, nil
	start["usage"] = map[string]int{"input_tokens": InputTokens, "output_tokens": 1}
	b.WriteString(Event("message_start", map[string]any{"message": start}))
	b.WriteString(Event("ping", map[string]any{}))
	index := 0
	block := func(empty map[string]string, deltas ...map[string]string) {
		b.WriteString(Event("content_block_start", map[string]any{"index": index, "content_block": empty}))
		for _, delta := range deltas {
			b.WriteString(Event("content_block_delta", map[string]any{"index": index, "delta": delta}))
		}
		b.WriteString(Event("content_block_stop", map[string]any{"index": index}))
		index++
	}
	if t.Thinking != "" {
		block(map[string]string{"type": "thinking", "thinking": "", "signature": ""},
			map[string]string{"type": "thinking_delta", "thinking": t.Thinking},
			map[string]string{"type": "signature_delta", "signature": "c2lnbmVk"})
	}
	for _, text := range t.Text {
		var deltas []map[string]string
		for _, word := range words(text) {
			deltas = append(deltas, map[string]string{"type": "text_delta", "text": word})
		}
		block(map[string]string{"type": "text", "text": ""}, deltas...)
	}
	b.WriteString(Event("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": t.stopReason(), "stop_sequence": nil, "stop_details": t.stopDetails()}, "usage": map[string]int{"output_tokens": OutputTokens},
	}))
	return b.String()
}

// words cuts a text into pieces as small as the API's.
func words(text string) (list []string) {
	for text != "" {
		n := strings.IndexByte(text[1:], ' ') + 1
		if n == 0 {
			n = len(text)
		}
		for !utf8.RuneStart(text[min(n, len(text)-1)]) {
			n++
		}
		list, text = append(list, text[:n]), text[n:]
	}
	return list
}

// Event returns one event of a stream. Its type is in its data, too.
func Event(kind string, data map[string]any) string {
	data["type"] = kind
	return "event: " + kind + "\ndata: " + toJSON(data) + "\n\n"
}

// ErrorEvent returns the event of an error within a stream.
func ErrorEvent(kind, message string) string {
	return "event: error\ndata: " + errorBody(kind, message) + "\n\n"
}

func (t Turn) head(model string) map[string]any {
	return map[string]any{"id": "msg_fake", "type": "message", "role": "assistant", "model": model, "stop_sequence": nil}
}

func (t Turn) stopReason() string {
	if t.StopReason == "" {
		return "end_turn"
	}
	return t.StopReason
}

// stopDetails returns why a refusal is one; category and explanation are null if there is no word for it.
func (t Turn) stopDetails() any {
	if t.StopReason != "refusal" {
		return nil
	}
	details := map[string]any{"type": "refusal", "category": nil, "explanation": nil}
	if t.Category != "" {
		details["category"], details["explanation"] = t.Category, t.Explained
	}
	return details
}

func toJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // what the fake is made of always marshals
	}
	return string(b)
}

package anthropic

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"toolserver/sse"
	"toolserver/tools/httpcall"
)

// assembly puts an answer together from the events of its stream.
type assembly struct {
	service *service
	header  http.Header
	onDelta func(Delta)
	text    strings.Builder
	answer  Answer // except its Text
}

// message is a message of the API, as it comes whole and as it begins a stream.
type message struct {
	Type       string          `json:"type"`
	Model      string          `json:"model"`
	Content    []block         `json:"content"`
	StopReason string          `json:"stop_reason"`
	Usage      json.RawMessage `json:"usage"`
}

// block is a content block or a piece of one. Only in those of a known type are
// text and thinking what they are called.
type block struct {
	Type     string          `json:"type"`
	Text     json.RawMessage `json:"text"`
	Thinking json.RawMessage `json:"thinking"`
}

// streamEvent has the members of the events that count.
type streamEvent struct {
	Type         string  `json:"type"`
	Message      message `json:"message"`       // of message_start
	ContentBlock block   `json:"content_block"` // of content_block_start
	Delta        struct {
		block
		StopReason string `json:"stop_reason"`
	} `json:"delta"` // of content_block_delta and message_delta
	Usage json.RawMessage `json:"usage"` // of message_delta
}

// take adds an event and reports whether it is the last. Events of unknown types
// are ignored: the API may get new ones.
func (a *assembly) take(ev sse.Event) (done bool, err error) {
	var head struct {
		Type string `json:"type"`
	}
	name := ev.Name
	if json.Unmarshal(ev.Data, &head) == nil && head.Type != "" {
		name = head.Type
	}
	switch name {
	case "error":
		return true, a.fail(ev.Data)
	case "message_start", "content_block_start", "content_block_delta", "message_delta":
	case "message_stop":
		return true, nil
	default:
		return false, nil
	}
	var e streamEvent
	err = json.Unmarshal(ev.Data, &e)
	if err == nil {
		err = a.takePart(name, &e)
	}
	if err != nil {
		return true, a.service.badAnswer("an event " + name + " of the answer cannot be read")
	}
	return false, nil
}

// fail returns the failure that an answer reports in its body.
func (a *assembly) fail(body []byte) error {
	return fail(&httpcall.StatusError{Service: a.service.Name, Header: a.header, Body: body})
}

func (a *assembly) takePart(name string, e *streamEvent) error {
	switch name {
	case "message_start":
		return a.begin(e.Message)
	case "content_block_start":
		return a.piece(e.ContentBlock)
	case "content_block_delta":
		return a.piece(e.Delta.block)
	}
	a.stop(e.Delta.StopReason)
	return a.count(e.Usage)
}

// readWhole reads an answer that is not streamed.
func (a *assembly) readWhole(body []byte) error {
	var m message
	err := json.Unmarshal(body, &m)
	switch {
	case err == nil && m.Type == "error":
		return a.fail(body)
	case err == nil && m.Type == "message":
		err = a.begin(m)
	case err == nil:
		err = errors.New("not a message")
	}
	if err != nil {
		return a.service.badAnswer("the answer is not a message of the API")
	}
	return nil
}

func (a *assembly) begin(m message) error {
	a.answer.Model = plain(m.Model, maxWord)
	a.stop(m.StopReason)
	if err := a.count(m.Usage); err != nil {
		return err
	}
	for _, b := range m.Content {
		if err := a.piece(b); err != nil {
			return err
		}
	}
	return nil
}

// count takes over the counts that an event has; later ones replace earlier ones.
func (a *assembly) count(usage json.RawMessage) error {
	if usage == nil {
		return nil
	}
	return json.Unmarshal(usage, &a.answer.Usage)
}

func (a *assembly) stop(reason string) {
	if reason != "" {
		a.answer.StopReason = plain(reason, maxWord)
	}
}

// piece takes up a block or a piece of one.
func (a *assembly) piece(b block) (err error) {
	var d Delta
	switch b.Type {
	case "text", "text_delta":
		err = readText(b.Text, &d.Text)
	case "thinking", "thinking_delta":
		err = readText(b.Thinking, &d.Thinking)
	}
	if err != nil || d == (Delta{}) {
		return err
	}
	a.text.WriteString(d.Text)
	if a.onDelta != nil {
		a.onDelta(d)
	}
	return nil
}

// readText reads a JSON string into text, if there is one.
func readText(raw json.RawMessage, text *string) error {
	if raw == nil {
		return nil
	}
	return json.Unmarshal(raw, text)
}

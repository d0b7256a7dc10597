package anthropic

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/wire/sse"
)

// Bounds of a stream. An answer has a few hundred kilobytes, and the longest of its events a few.
const (
	maxEvent  = 1 << 20
	maxStream = 32 << 20
)

// assembly puts an answer together from the events of its stream.
type assembly struct {
	service *service
	header  http.Header
	onDelta func(text, thinking string)
	text    strings.Builder
	answer  Answer // except its Text
}

// message is a message of the API, as it comes whole and as it begins a stream.
type message struct {
	Model   string  `json:"model"`
	Content []block `json:"content"`
	Usage   *Usage  `json:"usage"` // that of the answer, whose counts are replaced
	ending
}

// ending says why an answer ended.
type ending struct {
	StopReason  string `json:"stop_reason"`
	StopDetails struct {
		Category    string `json:"category"`
		Explanation string `json:"explanation"`
	} `json:"stop_details"` // of a refusal; null otherwise
}

// block is a content block or a piece of one. Only in those of a known type are text and thinking strings.
type block struct {
	Type     string          `json:"type"`
	Text     json.RawMessage `json:"text"`
	Thinking json.RawMessage `json:"thinking"`
}

// event has the members of the events that count.
type event struct {
	Type         string  `json:"type"`
	message              // of a whole message; Usage also of message_delta
	Message      message `json:"message"`       // of message_start
	ContentBlock block   `json:"content_block"` // of content_block_start
	Delta        struct {
		block
		ending
	} `json:"delta"` // of content_block_delta and message_delta
}

// read reads an answer, streamed or, as some gateways send it, whole.
func (a *assembly) read(res *http.Response) error {
	mediaType, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch mediaType {
	case "text/event-stream":
		return a.readStream(sse.NewReader(res.Body, maxEvent, maxStream))
	case "application/json":
		body, err := io.ReadAll(io.LimitReader(res.Body, maxStream+1))
		switch {
		case len(body) > maxStream:
			return &httpcall.TooLargeError{Max: maxStream}
		case err != nil:
			return err
		}
		if done, err := a.take(sse.Event{Data: body}); done {
			return err
		}
		return a.service.badAnswer("the answer is not a message of the API")
	}
	return a.service.badAnswer("the answer is neither JSON nor an event stream")
}

// readStream reads an answer until the event that ends it.
func (a *assembly) readStream(stream *sse.Reader) error {
	for {
		ev, err := stream.Next()
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			message := a.service.doing + ": the stream of the answer broke off before its end"
			return &httpcall.Failure{Type: "unreachable", Message: message, Hint: "Call again."}
		case errors.Is(err, sse.ErrTooLong):
			return &httpcall.TooLargeError{Max: maxStream}
		case err != nil:
			return err
		}
		if done, err := a.take(ev); done || err != nil {
			return err
		}
	}
}

// take adds an event and reports whether it is the last. Events of unknown types are ignored: the API may get new ones.
func (a *assembly) take(ev sse.Event) (done bool, err error) {
	e := event{message: message{Usage: &a.answer.Usage}, Message: message{Usage: &a.answer.Usage}}
	err = json.Unmarshal(ev.Data, &e)
	kind := cmp.Or(e.Type, ev.Name)
	switch kind {
	case "error":
		return true, fail(&httpcall.StatusError{Service: a.service.Name, Header: a.header, Body: ev.Data})
	case "message_stop":
		return true, nil
	case "message":
		err = cmp.Or(err, a.begin(e.message))
	case "message_start":
		err = cmp.Or(err, a.begin(e.Message))
	case "content_block_start":
		err = cmp.Or(err, a.piece(e.ContentBlock))
	case "content_block_delta":
		err = cmp.Or(err, a.piece(e.Delta.block))
	case "message_delta":
		a.stop(e.Delta.ending)
	default:
		return false, nil
	}
	if err != nil {
		return true, a.service.badAnswer("an event " + kind + " of the answer cannot be read")
	}
	return kind == "message", nil
}

func (a *assembly) begin(m message) error {
	a.answer.Model = plain(m.Model, maxWord)
	a.stop(m.ending)
	for _, b := range m.Content {
		if err := a.piece(b); err != nil {
			return err
		}
	}
	return nil
}

func (a *assembly) stop(e ending) {
	if e.StopReason != "" {
		a.answer.StopReason = plain(e.StopReason, maxWord)
		a.answer.Refusal = Refusal{plain(e.StopDetails.Category, maxWord), plain(e.StopDetails.Explanation, maxErrorText)}
	}
}

// piece adds a block or a piece of one.
func (a *assembly) piece(b block) (err error) {
	var text, thinking string
	raw, into := b.Text, &text
	switch b.Type {
	case "text", "text_delta":
	case "thinking", "thinking_delta":
		raw, into = b.Thinking, &thinking
	default:
		return nil
	}
	if raw != nil {
		err = json.Unmarshal(raw, into)
	}
	a.text.WriteString(text)
	if a.onDelta != nil && text+thinking != "" {
		a.onDelta(text, thinking)
	}
	return err
}

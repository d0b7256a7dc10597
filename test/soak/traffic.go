//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/wire/jsonrpc"
)

// traffic checks everything a server sends to one client, whose own library
// ignores what it did not ask for.
type traffic struct {
	soak *soak
	name string

	mu   sync.Mutex
	open map[string]*request // by ID, which is also the token of progress
	gone map[string]bool     // requests that were canceled
	noID chan *jsonrpc.Error // answers without ID that somebody waits for
}

// request is a request without answer yet.
type request struct {
	modern   bool
	progress float64
	answer   chan jsonrpc.Message // nil of requests of the library
}

func newTraffic(s *soak, name string) *traffic {
	return &traffic{soak: s, name: name, open: map[string]*request{}, gone: map[string]bool{}, noID: make(chan *jsonrpc.Error, 1)}
}

// sent notes a message to the server.
func (t *traffic) sent(raw []byte, answer chan jsonrpc.Message) jsonrpc.Message {
	m, _ := jsonrpc.Parse(raw, nil)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case m.Method == string(mcp.MethodNotificationCancelled):
		var p struct{ RequestID json.RawMessage }
		_ = json.Unmarshal(m.Params, &p) // the library writes valid parameters
		delete(t.open, string(p.RequestID))
		t.gone[string(p.RequestID)] = true
	case m.ID != nil:
		t.open[string(m.ID)] = &request{modern: bytes.Contains(m.Params, []byte(mcp.MetaKeyProtocolVersion)), answer: answer}
	}
	return m
}

// received checks a message of the server.
func (t *traffic) received(raw []byte) (jsonrpc.Message, error) {
	m, bad := jsonrpc.Parse(raw, nil)
	t.mu.Lock()
	defer t.mu.Unlock()
	id := string(m.ID)
	r := t.open[id]
	switch {
	case m.Response && m.ID == nil && m.Failure != nil: // which is no valid ID otherwise
		select {
		case t.noID <- jsonrpc.ParseError(bytes.Clone(m.Failure)):
			return m, nil
		default:
			return m, fmt.Errorf("an answer without id that nobody waits for: %.300s", raw)
		}
	case bad != nil:
		return m, fmt.Errorf("%.300q is no message: %w", raw, bad)
	case m.IsNotification():
		return m, t.notified(&m)
	case !m.Response:
		return m, fmt.Errorf("a request of the server: %.300s", raw)
	case (m.Result == nil) == (m.Failure == nil):
		return m, fmt.Errorf("%.300q is no response", raw)
	case t.gone[id]:
		return m, fmt.Errorf("an answer to %s, which was canceled: %.300s", id, raw)
	case r == nil:
		return m, fmt.Errorf("an answer to %s, which is not open: %.300s", id, raw)
	}
	delete(t.open, id)
	if r.modern && m.Result != nil {
		var result struct{ ResultType string }
		if err := json.Unmarshal(m.Result, &result); err != nil || result.ResultType != "complete" {
			return m, fmt.Errorf("a result without resultType complete: %.300s", raw)
		}
	}
	if r.answer != nil {
		m.Result, m.Failure = bytes.Clone(m.Result), bytes.Clone(m.Failure)
		r.answer <- m
	}
	return m, nil
}

// notified checks a notification, which must belong to something that is open.
func (t *traffic) notified(m *jsonrpc.Message) error {
	var p struct {
		Token    json.RawMessage `json:"progressToken"`
		Progress float64
		Meta     map[string]json.RawMessage `json:"_meta"`
	}
	if m.Params != nil {
		if err := json.Unmarshal(m.Params, &p); err != nil {
			return err
		}
	}
	of := p.Meta[mcp.MetaKeySubscriptionID]
	switch m.Method {
	case "notifications/progress":
		of = p.Token
		if r := t.open[string(of)]; r != nil {
			if p.Progress <= r.progress {
				return fmt.Errorf("progress %v after %v", p.Progress, r.progress)
			}
			r.progress = p.Progress
		}
	case listChanged, resourcesChanged, promptsChanged, "notifications/subscriptions/acknowledged":
		if of == nil {
			return nil // of a session
		}
	default:
		return fmt.Errorf("an unexpected notification %s", m.Method)
	}
	if t.open[string(of)] == nil && !t.gone[string(of)] { // it may have crossed the cancellation
		return fmt.Errorf("%s of %s, which is not open", m.Method, of)
	}
	return nil
}

// tap passes on what a server sends and checks each line of it.
type tap struct {
	io.ReadCloser
	check    func(line []byte) error
	fail     func(error)
	ended    func(error) // is called with the first error of the stream
	complete bool        // nothing but the end of the stream may follow
	line     []byte
	left     *bytes.Reader // of a complete stream
}

func (t *tap) Read(b []byte) (int, error) {
	if t.left != nil {
		return t.left.Read(b)
	}
	n, err := t.ReadCloser.Read(b)
	t.take(b[:n])
	if t.complete && err == nil { // the rest must be checked before the client hangs up
		var left []byte
		left, err = io.ReadAll(t.ReadCloser)
		t.take(left)
		if err == nil {
			err = io.EOF
		}
		t.left = bytes.NewReader(left)
		t.end(err)
		return n, nil
	}
	if err != nil {
		t.end(err)
	}
	return n, err
}

func (t *tap) take(b []byte) {
	for part := range bytes.SplitAfterSeq(b, []byte("\n")) {
		if t.line = append(t.line, part...); bytes.HasSuffix(part, []byte("\n")) {
			t.checkLine()
		}
	}
}

func (t *tap) checkLine() {
	if line := bytes.TrimSpace(t.line); len(line) > 0 {
		if err := t.check(line); err != nil {
			t.fail(err)
		}
	}
	t.line = t.line[:0]
}

func (t *tap) end(err error) {
	if err == io.EOF {
		t.checkLine() // the last one, which need not end
	}
	if t.ended != nil {
		t.ended(err)
	}
}

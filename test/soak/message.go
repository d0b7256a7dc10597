//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
)

const (
	legacyVersion = "2025-11-25"
	modernVersion = "2026-07-28"
	metaPrefix    = "io.modelcontextprotocol/"
)

// request is a request without its id.
type request struct {
	method   string
	params   map[string]any
	progress bool // ask for it
	escape   bool // write it in ASCII
}

func callOf(tool string, args map[string]any) *request {
	return &request{method: "tools/call", params: map[string]any{"name": tool, "arguments": args}}
}

// encode returns the request as a message.
func (r *request) encode(id string, modern bool) []byte {
	params := map[string]any{}
	for name, value := range r.params {
		params[name] = value
	}
	meta := map[string]any{}
	if modern {
		meta[metaPrefix+"protocolVersion"] = modernVersion
		meta[metaPrefix+"clientCapabilities"] = map[string]any{}
	}
	if r.progress {
		meta["progressToken"] = json.RawMessage(id)
	}
	if len(meta) > 0 {
		params["_meta"] = meta
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(params); err != nil {
		panic(err) // maps of texts and numbers are JSON
	}
	text := bytes.TrimSpace(b.Bytes())
	if r.escape {
		text = escaped(text)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, r.method, text)
}

func (r *request) String() string { return fmt.Sprintf("%.300s", r.encode("0", false)) }

// id returns an id that was not there before, in any form that ids have.
func (s *soak) id() string {
	n := s.number()
	switch n % 6 {
	case 0:
		return fmt.Sprintf(`"s-%d"`, n)
	case 1:
		return fmt.Sprintf(`9007199254740993%d`, n)
	case 2:
		return fmt.Sprintf(`"\u00e9\u0041ж%d"`, n)
	case 3:
		return fmt.Sprintf(`-%d`, n)
	case 4:
		return fmt.Sprintf(`"%d"`, n)
	}
	return fmt.Sprint(n)
}

// message is what a server says.
type message struct {
	Version string `json:"jsonrpc"`
	ID      json.RawMessage
	Method  string
	Params  json.RawMessage
	Result  json.RawMessage
	Error   *problem
}

type problem struct {
	Code    int
	Message string
}

func parse(raw []byte) (*message, error) {
	m := &message{}
	if err := json.Unmarshal(raw, m); err != nil {
		return nil, fmt.Errorf("%.300q is no message: %w", raw, err)
	}
	if m.Version != "2.0" || m.Method == "" && (m.Result == nil) == (m.Error == nil) {
		return nil, fmt.Errorf("%.300q is no message", raw)
	}
	return m, nil
}

func (m *message) String() string {
	if m.Error != nil {
		return fmt.Sprintf("error %d: %.300s", m.Error.Code, m.Error.Message)
	}
	return fmt.Sprintf("%.300s", m.Result)
}

// answer is what came of a request.
type answer struct {
	*message
	progress int // notifications before it
}

// check compares an answer with its request.
func (a *answer) check(id string, modern bool) error {
	if string(a.ID) != id {
		return fmt.Errorf("an answer with id %s instead of %s", a.ID, id)
	}
	if a.Result == nil || !modern {
		return nil
	}
	var r struct{ ResultType string }
	if err := json.Unmarshal(a.Result, &r); err != nil || r.ResultType != "complete" {
		return fmt.Errorf("a result without resultType complete: %s", a)
	}
	return nil
}

// progressed reads a progress notification and checks that it goes on from last.
func progressed(params json.RawMessage, last *float64) (token string, err error) {
	var p struct {
		Token    json.RawMessage `json:"progressToken"`
		Progress float64
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return "", err
	}
	if last != nil {
		if p.Progress <= *last {
			return "", fmt.Errorf("progress %v after %v", p.Progress, *last)
		}
		*last = p.Progress
	}
	return string(p.Token), nil
}

// subscription returns the subscription a notification belongs to, or "".
func subscription(params json.RawMessage) string {
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(params, &p) // no parameters, no subscription
	return string(p.Meta[metaPrefix+"subscriptionId"])
}

// link is a way to a server.
type link interface {
	fmt.Stringer
	modern() bool
	// ask sends a request and returns its answer.
	ask(ctx context.Context, r *request) (*answer, error)
	// withdraw sends a request and takes it back when started says that it is
	// being served. It makes sure that no answer comes.
	withdraw(ctx context.Context, r *request, started func() error) error
	// misspeak sends something that is no proper message.
	misspeak(ctx context.Context, c *client) error
}

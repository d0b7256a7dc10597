package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/cmd/toolserver/screen"
	"github.com/toolserver/toolserver/domain/call"
)

// Bounds of what is read from standard input, in bytes.
const (
	maxLine = 64 << 10
	maxText = 64 << 20
)

// terminal is the person at the command line, who types answers and text, and is the client of calls.
type terminal struct {
	call.ProgressFunc // for what nobody asks of a person
	std               app.Streams
	answers           bool // standard input and standard error are a terminal
	in                *bufio.Reader
	typed             chan typed // what a read returns that is under way, or was when its context ended; nil without one

	bar *screen.Bar // nil unless a call is under way
	now atomic.Pointer[call.Progress]
}

// typed is what a read returned.
type typed struct {
	text string
	err  error
}

func newTerminal(std app.Streams) *terminal {
	return &terminal{std: std, in: bufio.NewReaderSize(std.In, maxLine), answers: app.IsTerminal(std.Err) && app.IsTerminal(std.In)}
}

// begin shows how far a call has got, until bar is stopped.
func (t *terminal) begin(tool string) {
	t.now.Store(&call.Progress{Message: tool})
	t.bar = screen.NewBar(t.std.Err, func() call.Progress { return *t.now.Load() })
}

// WantsProgress reports whether anybody would see it.
func (t *terminal) WantsProgress() bool { return t.bar != nil }

// Progress says how far the call has got.
func (t *terminal) Progress(p call.Progress) {
	p.Message = cmp.Or(p.Message, t.now.Load().Message)
	t.now.Store(&p)
}

// Log shows a message that matters.
func (t *terminal) Log(m call.LogMessage) {
	if m.Level >= call.LogWarning {
		t.bar.Above(func() { fmt.Fprintf(t.std.Err, "%v: %v\n", m.Level, m.Data) })
	}
}

// Supports reports whether there is somebody to ask.
func (t *terminal) Supports(method string) bool {
	return t.answers && (method == call.AskElicitation || method == call.AskURL)
}

// Ask shows questions that are answered by yes or no, where what is not yes is no, and
// addresses to open.
func (t *terminal) Ask(ctx context.Context, requests map[string]call.InputRequest) (map[string]json.RawMessage, error) {
	t.bar.Pause(true)
	defer t.bar.Pause(false)
	answers := map[string]json.RawMessage{}
	for name, req := range requests {
		params, err := json.Marshal(req.Params)
		if err != nil {
			return nil, err
		}
		var q struct{ Message, URL string }
		if err := json.Unmarshal(params, &q); err != nil {
			return nil, err
		}
		if q.URL != "" {
			fmt.Fprintf(t.std.Err, "%s\n%s\n", q.Message, q.URL)
			answers[name] = json.RawMessage(`{"action":"` + call.Accepted + `"}`)
			continue
		}
		yes, err := t.confirm(ctx, q.Message)
		if err != nil {
			return nil, err
		}
		action := call.Declined
		if yes {
			action = call.Accepted
		}
		answers[name] = json.RawMessage(`{"action":"` + action + `"}`)
	}
	return answers, ctx.Err()
}

// confirm asks a question. The end of input is no.
func (t *terminal) confirm(ctx context.Context, question string) (yes bool, err error) {
	select {
	case <-t.typed: // too late, for a question before
		t.typed = nil
	default:
	}
	fmt.Fprintf(t.std.Err, "%s [y/N] ", question)
	line, err := t.line(ctx)
	if err != nil && ctx.Err() != nil {
		fmt.Fprintln(t.std.Err)
		return false, err
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}

// line returns the next line that is typed.
func (t *terminal) line(ctx context.Context) (string, error) {
	return t.read(ctx, func() (string, error) {
		line, more, err := t.in.ReadLine()
		if more {
			err = fmt.Errorf("a line is longer than %d bytes", maxLine)
		}
		return string(line), err
	})
}

// text returns all that is left of standard input.
func (t *terminal) text(ctx context.Context) (string, error) {
	return t.read(ctx, func() (string, error) {
		text, err := io.ReadAll(io.LimitReader(t.in, maxText+1))
		if len(text) > maxText {
			err = fmt.Errorf("it is longer than %d bytes", maxText)
		}
		return string(text), err
	})
}

// read returns what a function reads, unless ctx ends before: then the next read returns that.
func (t *terminal) read(ctx context.Context, from func() (string, error)) (string, error) {
	if t.typed == nil {
		t.typed = make(chan typed, 1)
		go func(to chan<- typed) {
			text, err := from()
			to <- typed{text, err}
		}(t.typed)
	}
	select {
	case r := <-t.typed:
		t.typed = nil
		return r.text, r.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

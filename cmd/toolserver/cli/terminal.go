package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/domain"
)

// terminal is the person at a terminal, as the client of a call.
type terminal struct {
	std     app.Streams
	watched bool // standard error is a terminal
	answers bool // and so is standard input

	mu    sync.Mutex
	shown bool // there is progress on the line
	asked bool // or a question
	in    *bufio.Reader
	typed chan string // what a read returns that is under way, or was when its question ended
}

// WantsProgress reports whether anybody would see it.
func (t *terminal) WantsProgress() bool { return t.watched }

// Progress shows how far the call has got.
func (t *terminal) Progress(p domain.Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.asked {
		t.shown = true
		fmt.Fprintf(t.std.Err, "\r\x1b[K%s", p.Message)
	}
}

// clear takes progress off the terminal.
func (t *terminal) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shown {
		fmt.Fprint(t.std.Err, "\r\x1b[K")
		t.shown = false
	}
}

// asking says whether a question is on the terminal.
func (t *terminal) asking(now bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = now
}

// Log shows a message that matters.
func (t *terminal) Log(m domain.LogMessage) {
	if m.Level >= domain.LogWarning {
		t.clear()
		fmt.Fprintf(t.std.Err, "%v: %v\n", m.Level, m.Data)
	}
}

// Supports reports whether there is somebody to ask.
func (t *terminal) Supports(method string) bool {
	return t.answers && (method == domain.AskElicitation || method == domain.AskURL)
}

// Round returns false: it answers at once.
func (t *terminal) Round() (string, bool) { return "", false }

// Ended returns nil: the context of the call ends with the program.
func (t *terminal) Ended() <-chan struct{} { return nil }

// Complete does nothing: the call goes on.
func (t *terminal) Complete(string) {}

// Ask shows questions that are answered by yes or no, where what is not yes is no, and
// addresses to open.
func (t *terminal) Ask(ctx context.Context, requests map[string]domain.InputRequest) (map[string]json.RawMessage, error) {
	t.asking(true)
	defer t.asking(false)
	t.clear()
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
			answers[name] = json.RawMessage(`{"action":"` + domain.Accepted + `"}`)
			continue
		}
		line, err := t.ask(ctx, q.Message)
		if err != nil {
			return nil, err
		}
		action := domain.Declined
		if isYes(line) {
			action = domain.Accepted
		}
		answers[name] = json.RawMessage(`{"action":"` + action + `"}`)
	}
	return answers, ctx.Err()
}

func isYes(line string) bool {
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}

// ask shows a question and returns the line that is typed after it: nothing, at the end
// of input.
func (t *terminal) ask(ctx context.Context, question string) (string, error) {
	select {
	case <-t.typed: // too late, for a question before
		t.typed = nil
	default:
	}
	fmt.Fprintf(t.std.Err, "%s [y/N] ", question)
	if t.typed == nil {
		if t.in == nil {
			t.in = bufio.NewReader(t.std.In)
		}
		t.typed = make(chan string, 1)
		go func(typed chan<- string) {
			line, _ := t.in.ReadString('\n')
			typed <- line
		}(t.typed)
	}
	select {
	case line := <-t.typed:
		t.typed = nil
		return line, nil
	case <-ctx.Done():
		fmt.Fprintln(t.std.Err)
		return "", ctx.Err()
	}
}

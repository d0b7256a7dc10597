package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"toolserver/cmd/toolserver/app"
	"toolserver/domain"
)

// terminal is the person at a terminal, as the client of a call.
type terminal struct {
	std     app.Streams
	watched bool // standard error is a terminal
	answers bool // and so is standard input
	shown   bool // there is progress on the line
}

// WantsProgress reports whether anybody would see it.
func (t *terminal) WantsProgress() bool { return t.watched }

// Progress shows how far the call has got.
func (t *terminal) Progress(p domain.Progress) {
	t.shown = true
	fmt.Fprintf(t.std.Err, "\r\x1b[K%s", p.Message)
}

// clear takes progress off the terminal.
func (t *terminal) clear() {
	if t.shown {
		fmt.Fprint(t.std.Err, "\r\x1b[K")
		t.shown = false
	}
}

// Log shows a message that matters.
func (t *terminal) Log(m domain.LogMessage) {
	if m.Level >= domain.LogWarning {
		t.clear()
		fmt.Fprintf(t.std.Err, "%v: %v\n", m.Level, m.Data)
	}
}

// Supports reports whether there is somebody to ask.
func (t *terminal) Supports(method string) bool { return t.answers && method == domain.AskElicitation }

// Ask shows questions that are answered by yes or no. What is not yes is no.
func (t *terminal) Ask(ctx context.Context, requests map[string]domain.InputRequest) (map[string]json.RawMessage, error) {
	t.clear()
	in := bufio.NewReader(t.std.In)
	answers := map[string]json.RawMessage{}
	for name, req := range requests {
		params, err := json.Marshal(req.Params)
		if err != nil {
			return nil, err
		}
		var q struct{ Message string }
		if err := json.Unmarshal(params, &q); err != nil {
			return nil, err
		}
		fmt.Fprintf(t.std.Err, "%s [y/N] ", q.Message)
		line, _ := in.ReadString('\n') // nothing, at the end of input
		action := domain.Declined
		if answer := strings.ToLower(strings.TrimSpace(line)); answer == "y" || answer == "yes" {
			action = domain.Accepted
		}
		answers[name] = json.RawMessage(`{"action":"` + action + `"}`)
	}
	return answers, ctx.Err()
}

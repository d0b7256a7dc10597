//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/toolserver/toolserver/upstream/mcpclient"
	"github.com/toolserver/toolserver/wire/jsonrpc"
)

// client calls tools, one after the other, and knows what must come of it. It
// has a folder of its own where it alone writes.
type client struct {
	*soak
	name     string // and the folder
	rng      *rand.Rand
	link     *link
	lastSent time.Time
	lines    map[string][]string // of each file
}

func (c *client) content(name string) string { return strings.Join(c.lines[name], "\n") + "\n" }

// path returns the path of a file as the server knows it.
func (c *client) path(name string) string { return c.name + "/" + name }

func (c *client) paths() (all []string) {
	for _, name := range slices.Sorted(maps.Keys(c.lines)) {
		all = append(all, c.path(name))
	}
	return all
}

// do sends a request. An error that the server answered with is a [jsonrpc.Error].
func (c *client) do(req mcpclient.Request) (json.RawMessage, error) {
	c.lastSent = time.Now()
	ctx, cancel := context.WithTimeoutCause(c.ctx, patience, fmt.Errorf("no answer within %s", patience))
	defer cancel()
	result, err := c.link.Do(ctx, req)
	if err != nil {
		params, _ := json.Marshal(req.Params)
		err = fmt.Errorf("%w; the request was %s of %.300s", err, req.Method, params)
	}
	return result, err
}

// toolResult is what tools/call returns.
type toolResult struct {
	Content           []struct{ Type, Text string }
	StructuredContent json.RawMessage
	IsError           bool
}

// text returns the text of the result, which is all its content.
func (r *toolResult) text() string {
	if len(r.Content) != 1 || r.Content[0].Type != "text" {
		return fmt.Sprintf("%+v", r.Content)
	}
	return r.Content[0].Text
}

type arguments = map[string]any

func toolCall(tool string, args arguments) mcpclient.Request {
	return mcpclient.Request{Method: "tools/call", Params: map[string]any{"name": tool, "arguments": args}}
}

// result returns the result of a request, be it one of an error.
func (c *client) result(req mcpclient.Request) (*toolResult, error) {
	raw, err := c.do(req)
	if err != nil {
		return nil, err
	}
	r := &toolResult{}
	return r, json.Unmarshal(raw, r)
}

// call calls a tool that must not fail, and decodes its structured result into
// structured unless that is nil.
func (c *client) call(tool string, args arguments, structured any) (string, error) {
	r, err := c.result(toolCall(tool, args))
	switch {
	case err != nil:
		return "", err
	case r.IsError:
		return "", fmt.Errorf("%s of %v: %s", tool, args, r.text())
	case structured != nil:
		err = json.Unmarshal(r.StructuredContent, structured)
	}
	return r.text(), err
}

// expectText calls a tool that must return a text.
func (c *client) expectText(want, tool string, args arguments) error {
	got, err := c.call(tool, args, nil)
	if err != nil {
		return err
	}
	return difference(got, want)
}

// fails sends a request whose answer must be an error.
func (c *client) fails(req mcpclient.Request, code int) error {
	result, err := c.do(req)
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok && e.Code == code {
		return nil
	}
	return fmt.Errorf("%s: got %.300s and %w instead of error %d", req.Method, result, err, code)
}

// act does one thing by chance.
func (c *client) act() error {
	total := 0
	for _, a := range actions {
		total += a.weight
	}
	n := c.rng.IntN(total)
	i := slices.IndexFunc(actions, func(a action) bool { n -= a.weight; return n < 0 })
	if err := actions[i].do(c); err != nil {
		return fmt.Errorf("%s: %w", actions[i].name, err)
	}
	c.tally.add(actions[i].group, actions[i].name)
	return nil
}

// prepare makes the client's folder.
func (c *client) prepare() error { return os.Mkdir(filepath.Join(c.dir, c.name), 0o755) }

// useOne uses the connection of the soak to one of the servers.
func (c *client) useOne(phase context.Context, server int) error {
	c.link = c.servers[server].link
	if err := c.prepare(); err != nil {
		return err
	}
	for phase.Err() == nil {
		if err := c.act(); err != nil {
			return err
		}
	}
	return nil
}

// begin begins a session.
func (c *client) begin() (err error) {
	c.tally.add("sessions", "begun")
	c.link, err = c.servers[0].connect(legacy)
	return err
}

// useSessions goes from session to session. Where the machine is so busy that one
// expires in between, that is the end of it, too.
func (c *client) useSessions(phase context.Context) error {
	if err := c.prepare(); err != nil {
		return err
	}
	for phase.Err() == nil {
		if err := c.begin(); err != nil {
			return err
		}
		var err error
		for n := 20 + c.rng.IntN(200); n > 0 && err == nil && phase.Err() == nil; n-- {
			err = c.act()
		}
		if errors.Is(err, mcpclient.ErrSessionEnded) && time.Since(c.lastSent) >= sessionTTL {
			c.tally.add("sessions", "expired in use")
			c.link.Close()
		} else if err == nil {
			err = c.leave()
		}
		if err != nil && !errors.Is(err, mcpclient.ErrSessionEnded) {
			return err
		}
	}
	return nil
}

// maxAbandoned is how many sessions are kept to see whether they are gone later.
const maxAbandoned = 200

// leave ends a session or abandons it.
func (c *client) leave() error {
	session := c.link.session
	if c.rng.IntN(2) != 0 {
		c.tally.add("sessions", "deleted")
		c.link.Close()
		return c.noSession(session)
	}
	c.tally.add("sessions", "abandoned")
	c.link.keepSession.Store(true)
	c.link.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.abandoned = append(c.abandoned, session); len(c.abandoned) > maxAbandoned {
		c.abandoned = c.abandoned[1:]
	}
	return nil
}

// noSession checks that a session is not there.
func (s *soak) noSession(id string) error {
	v := s.servers[0]
	ping := []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	status, body, err := v.send(s.ctx, v.transport, http.MethodPost, ping, "Mcp-Session-Id", id)
	if err == nil && status != http.StatusNotFound {
		err = fmt.Errorf("a session that has ended still answers: status %d: %.300s", status, body)
	}
	return err
}

// sessionPause keeps the sessions that are abandoned below the number a server
// allows: it looks for expired ones every minute.
const sessionPause = 20 * time.Millisecond

// openSessions begins sessions only to leave them, some with a command in the
// background.
func (c *client) openSessions(phase context.Context) error {
	for i := 0; phase.Err() == nil; i++ {
		if err := c.begin(); err != nil {
			return err
		}
		if i%50 == 0 {
			if _, err := c.call("bash", arguments{"command": "sleep " + mark, "background": true}, nil); err != nil {
				return err
			}
			c.tally.add("sessions", "  with a background command")
		}
		if err := c.leave(); err != nil {
			return err
		}
		pause(phase, sessionPause)
	}
	return nil
}

// changePatience is how long until a stream must have reported a reload: they
// follow each other by a few seconds.
const changePatience = 2 * patience

// awaitChange waits until the server has notified of a change, or phase ends.
func (c *client) awaitChange(phase context.Context) error {
	select {
	case <-c.link.changed:
		c.tally.add("notifications", "tools/list_changed of a stream")
		return nil
	case <-time.After(changePatience):
		return fmt.Errorf("no notification of a reload within %s", changePatience)
	case <-phase.Done():
		return nil
	}
}

// followSessions waits for a change on the stream of a session, and either hangs
// up or ends the session, which ends the stream.
func (c *client) followSessions(phase context.Context) error {
	for phase.Err() == nil {
		if err := c.begin(); err != nil {
			return err
		}
		c.tally.add("streams", "of sessions")
		if err := c.awaitChange(phase); err != nil {
			return err
		}
		if phase.Err() != nil || c.rng.IntN(2) == 0 {
			c.tally.add("disconnects", "of a stream")
			if err := c.leave(); err != nil {
				return err
			}
			continue
		}
		l := c.link
		status, body, err := l.server.send(c.ctx, l.server.transport, http.MethodDelete, nil, "Mcp-Session-Id", l.session)
		if err != nil || status != http.StatusNoContent {
			return fmt.Errorf("DELETE: status %d: %.300s: %w", status, body, err)
		}
		c.tally.add("sessions", "deleted")
		select {
		case <-l.streamEnded:
		case <-time.After(patience):
			return fmt.Errorf("the stream of a session has not ended within %s of the session", patience)
		case <-c.ctx.Done():
		}
		l.keepSession.Store(true) // it is gone
		l.Close()
	}
	return nil
}

// listen subscribes to changes and ends the subscription, over and over.
func (c *client) listen(phase context.Context, server int) error {
	c.link = c.servers[server].link
	for phase.Err() == nil {
		c.tally.add("streams", "subscriptions to "+c.link.name)
		select {
		case <-c.link.changed: // of the last subscription
		default:
		}
		ctx, cancel := context.WithCancel(phase)
		ended := make(chan error, 1)
		go func() { ended <- c.link.Listen(ctx, mcpclient.Filter{Tools: true}) }()
		err := c.awaitChange(phase)
		cancel()
		if end := <-ended; !errors.Is(end, context.Canceled) && c.ctx.Err() == nil {
			err = errors.Join(err, fmt.Errorf("the subscription has ended: %w", end))
		}
		if err != nil {
			return err
		}
		c.tally.add("cancels", "of subscriptions")
	}
	return nil
}

// visit starts servers of its own, uses each for a while and ends it in one of
// the ways there are.
func (c *client) visit(phase context.Context) error {
	base := c.name
	for i := 0; phase.Err() == nil; i++ {
		c.name, c.lines = fmt.Sprintf("%s.%d", base, i), map[string][]string{}
		v, err := c.startStdio(c.name, c.still, [...]string{legacy, modern}[c.rng.IntN(2)]) // which must be able to start at any time
		if err != nil {
			return err
		}
		c.link = v.link
		if err := c.prepare(); err != nil {
			return err
		}
		for n := 1 + c.rng.IntN(40); n > 0 && phase.Err() == nil; n-- {
			if err := c.act(); err != nil {
				return err
			}
		}
		v.dying.Store(true)
		way := endings[c.rng.IntN(len(endings))]
		if err := way.end(c); err != nil {
			return fmt.Errorf("%s: %w", way.name, err)
		}
		v.link.Close()
		c.tally.add("visits", "ended by "+way.name)
		if err := v.checkLog(); err != nil {
			return err
		}
	}
	return nil
}

var endings = []struct {
	name string
	end  func(*client) error
}{{"end of input", (*client).endInput}, {"SIGTERM", (*client).terminate}, {"SIGKILL", (*client).kill}}

// endInput ends a server while a call runs, which is answered first.
func (c *client) endInput() error {
	text := fmt.Sprintf("last words %d", c.number())
	flag, answered := c.flag(), make(chan error, 1)
	go func() {
		answered <- c.expectText(text, "bash", arguments{"command": fmt.Sprintf("touch %s; sleep 0.2; echo %s", flag, text)})
	}()
	if err := c.started(flag); err != nil {
		return err
	}
	if err := c.link.server.in.Close(); err != nil {
		return err
	}
	if err := <-answered; err != nil {
		return err
	}
	return c.link.server.waitEnded()
}

// terminate ends a server that has nothing to do.
func (c *client) terminate() error {
	c.link.server.signal(syscall.SIGTERM)
	return c.link.server.waitEnded()
}

// kill kills a server while a command runs, which must not outlive it: that is
// checked at the end.
func (c *client) kill() error {
	req, flag := c.sleeping()
	ended := make(chan struct{})
	go func() { _, _ = c.link.Do(c.ctx, req); close(ended) }()
	if err := c.started(flag); err != nil {
		return err
	}
	c.link.server.signal(syscall.SIGKILL)
	_ = c.link.server.waitEnded() // by the signal
	<-ended
	return nil
}

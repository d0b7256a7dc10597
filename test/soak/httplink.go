//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
)

// httpLink is a session, or the modern era, which has none.
type httpLink struct {
	server  *httpServer
	session string
	era     bool
}

func (l httpLink) modern() bool   { return l.era }
func (l httpLink) String() string { return l.server.name }

// headers returns those a request needs.
func (l httpLink) headers(r *request) []string {
	if !l.era {
		if l.session == "" {
			return nil
		}
		return []string{"Mcp-Session-Id", l.session, "MCP-Protocol-Version", legacyVersion}
	}
	headers := []string{"MCP-Protocol-Version", modernVersion, "Mcp-Method", r.method}
	if name, ok := r.params["name"].(string); ok && r.method == "tools/call" {
		headers = append(headers, "Mcp-Name", name)
	}
	return headers
}

func (l httpLink) ask(ctx context.Context, r *request) (*answer, error) {
	a, _, err := l.exchange(ctx, r)
	return a, err
}

// exchange is ask with the headers of the answer.
func (l httpLink) exchange(ctx context.Context, r *request) (*answer, http.Header, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("%s gave no answer within %s", l, patience))
	defer cancel()
	id := l.server.soak.id()
	resp, err := l.server.send(ctx, http.MethodPost, r.encode(id, l.era), l.headers(r)...)
	if err != nil {
		return nil, nil, errors.Join(context.Cause(ctx), err)
	}
	defer resp.Body.Close()
	a, err := l.read(resp)
	switch {
	case err != nil:
		return nil, nil, errors.Join(context.Cause(ctx), err)
	case a == nil:
		return nil, nil, fmt.Errorf("status %s and no answer", resp.Status)
	case resp.StatusCode != l.statusOf(a):
		return nil, nil, fmt.Errorf("status %s instead of %d: %s", resp.Status, l.statusOf(a), a)
	}
	return a, resp.Header, a.check(id, l.era)
}

// statusOf returns the status an answer must have.
func (l httpLink) statusOf(a *answer) int {
	if a.Error == nil || !l.era {
		return http.StatusOK
	}
	switch a.Error.Code {
	case -32601:
		return http.StatusNotFound
	case -32600, -32602, -32700, -32020, -32021, -32022:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// read reads an answer and what precedes it. A request that was taken back has
// none.
func (l httpLink) read(resp *http.Response) (*answer, error) {
	mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch mediaType {
	case "application/json":
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		m, err := parse(b)
		if err != nil {
			return nil, err
		}
		return &answer{message: m}, nil
	case "text/event-stream":
		return readAnswer(newEvents(resp.Body))
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, 300))
	if resp.StatusCode == http.StatusNotFound {
		return nil, errNoSession
	}
	if resp.StatusCode == http.StatusAccepted {
		return nil, err
	}
	return nil, errors.Join(fmt.Errorf("status %s: %s", resp.Status, b), err)
}

// readAnswer reads a stream to its end, whose last event is the answer.
func readAnswer(in *events) (*answer, error) {
	var a *answer
	progress, last := 0, 0.0
	for {
		m, err := in.next()
		switch {
		case err == io.EOF:
			return a, nil
		case err != nil:
			return nil, err
		case a != nil:
			return nil, fmt.Errorf("something after the answer: %s %s", m.Method, m)
		case m.Method == "":
			a = &answer{m, progress}
		case m.Method == "notifications/progress":
			if _, err := progressed(m.Params, &last); err != nil {
				return nil, err
			}
			progress++
		default:
			return nil, fmt.Errorf("an unexpected notification %s", m.Method)
		}
	}
}

// withdraw sends notifications/cancelled or, in the modern era, hangs up.
func (l httpLink) withdraw(ctx context.Context, r *request, started func() error) error {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	id := l.server.soak.id()
	type outcome struct {
		answer *answer
		err    error
	}
	ended := make(chan outcome, 1)
	go func() {
		resp, err := l.server.send(ctx, http.MethodPost, r.encode(id, l.era), l.headers(r)...)
		if err != nil {
			ended <- outcome{nil, err}
			return
		}
		defer resp.Body.Close()
		a, err := l.read(resp)
		ended <- outcome{a, err}
	}()
	if err := started(); err != nil {
		select {
		case o := <-ended:
			return errors.Join(o.err, err)
		default:
			return err
		}
	}
	if l.era {
		l.server.soak.tally.add("disconnects", "of a call")
		cancel()
		<-ended
		return nil
	}
	l.server.soak.tally.add("cancels", "HTTP")
	status, body, err := l.server.status(ctx, http.MethodPost, cancellation(id), l.headers(r)...)
	if err != nil {
		return err
	}
	if status != http.StatusAccepted {
		return fmt.Errorf("canceling: status %d: %s", status, body)
	}
	o := <-ended
	if o.answer != nil {
		return fmt.Errorf("an answer to %s, which was canceled: %s", id, o.answer)
	}
	return o.err
}

//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/upstream/mcpclient"
	"github.com/toolserver/toolserver/wire/jsonrpc"
)

const (
	listChanged      = mcp.MethodNotificationToolsListChanged
	resourcesChanged = mcp.MethodNotificationResourcesListChanged // where groups change
	promptsChanged   = mcp.MethodNotificationPromptsListChanged   // likewise
)

// server is a server that runs, and one connection to it.
type server struct {
	*process
	url       string          // empty over stdio
	transport *http.Transport // over HTTP
	link      *link

	before, warm usage // when it was new, and after the warm-up
}

// link is a connection to a server, all messages of which are checked.
type link struct {
	*mcpclient.Client
	*traffic
	server  *server
	version string
	changed chan struct{} // gets one after tools/list_changed

	// Over HTTP.
	session     string        // empty in the modern version
	keepSession atomic.Bool   // when the client is closed
	streamEnded chan struct{} // gets one when the server has ended the stream of the session

	// Over stdio.
	writing sync.Mutex
	refusal sync.Mutex // held by who waits for an answer without ID
}

// startServers starts one server of each kind.
func (s *soak) startServers(prefix string) (all []*server, err error) {
	for _, x := range []struct {
		name string
		with func(name string) (*server, error)
	}{
		{"http", s.startHTTP},
		{"stdio", func(name string) (*server, error) { return s.startStdio(name, s.file, legacy) }},
		{"modern", func(name string) (*server, error) { return s.startStdio(name, s.file, modern) }},
	} {
		v, err := x.with(prefix + x.name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", prefix+x.name, err)
		}
		all = append(all, v)
	}
	return all, nil
}

// startHTTP starts a server, waits until it says where it is, and connects to it.
func (s *soak) startHTTP(name string) (*server, error) {
	p, err := s.start(name, false, s.file, "--insecure-no-auth", "--http", "127.0.0.1:0", s.dir)
	if err != nil {
		return nil, err
	}
	go p.wait()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); pause(s.ctx, 10*time.Millisecond) {
		b, err := os.ReadFile(p.log)
		if err != nil {
			return nil, err
		}
		_, after, _ := strings.Cut(string(b), "serving MCP at ")
		if url, _, ok := strings.Cut(after, ","); ok {
			v := &server{process: p, url: url, transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}
			v.link, err = v.connect(modern)
			return v, err
		}
	}
	return nil, fmt.Errorf("%s is not ready", name)
}

// startStdio starts a server for one client.
func (s *soak) startStdio(name string, file configFile, version string) (*server, error) {
	p, err := s.start(name, true, file, "--stdio", s.dir)
	if err != nil {
		return nil, err
	}
	v := &server{process: p}
	v.link, err = v.connect(version)
	return v, err
}

// connect connects to a server, over HTTP once more.
func (v *server) connect(version string) (*link, error) {
	l := &link{
		traffic: newTraffic(v.soak, v.name), server: v, version: version,
		changed: make(chan struct{}, 1), streamEnded: make(chan struct{}, 1),
	}
	opts := mcpclient.Options{Name: "soak", Version: "1", Protocol: version, ConnectTimeout: patience, Timeout: patience,
		Notify: func(_ context.Context, method string, _ json.RawMessage) {
			if method == listChanged {
				signalOn(l.changed)
			}
		}}
	var err error
	if v.url == "" {
		t := &tap{ReadCloser: v.out, check: l.checkMessage, fail: l.broken, ended: func(error) { v.wait() }}
		l.Client, err = mcpclient.Connect(v.soak.ctx, &stdioTap{t, l}, opts)
	} else {
		l.Client, err = mcpclient.ConnectHTTP(v.soak.ctx, &http.Client{Transport: l}, v.url, v.header(), opts)
	}
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", v.name, err)
	}
	if l.Server().Instructions == "" || v.url != "" && version == legacy && l.session == "" {
		return nil, fmt.Errorf("%s gave the session %q and the instructions %q", v.name, l.session, l.Server().Instructions)
	}
	return l, nil
}

func signalOn(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (l *link) checkMessage(line []byte) error {
	_, err := l.received(line)
	return err
}

func (l *link) broken(err error) { l.soak.fail(fmt.Errorf("%s: %w", l.name, err)) }

// stdioTap is the standard streams of a server.
type stdioTap struct {
	*tap
	link *link
}

func (t *stdioTap) Write(msg []byte) (int, error) {
	t.link.writing.Lock()
	defer t.link.writing.Unlock()
	t.link.sent(msg, nil)
	return t.link.server.in.Write(msg)
}

func (t *stdioTap) Close() error { return errors.Join(t.link.server.in.Close(), t.tap.Close()) }

// errKept is the error of the end of a session that is to be abandoned.
var errKept = errors.New("the session is kept")

// RoundTrip checks what the server answers to a request of the library.
func (l *link) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodDelete && l.keepSession.Load() {
		return nil, errKept
	}
	var sent jsonrpc.Message
	if req.Method == http.MethodPost {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		raw, err := io.ReadAll(body)
		if err != nil {
			return nil, err
		}
		sent = l.sent(raw, nil)
	}
	resp, err := l.server.transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if sent.Method == string(mcp.MethodInitialize) {
		l.session = resp.Header.Get(mcp.HeaderSessionID)
	}
	if resp.StatusCode == http.StatusNotFound && l.version == legacy { // the session has ended
		return resp, nil
	}
	t := &tap{ReadCloser: resp.Body, fail: l.broken}
	switch {
	case req.Method == http.MethodGet:
		l.checkStatus(resp, http.StatusOK)
		t.ended = func(err error) {
			if err == io.EOF {
				signalOn(l.streamEnded)
			}
		}
	case req.Method == http.MethodDelete:
		l.checkStatus(resp, http.StatusNoContent)
	case sent.ID == nil:
		l.checkStatus(resp, http.StatusAccepted)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	t.check = func(line []byte) error {
		if kind == "text/event-stream" {
			data, ok := bytes.CutPrefix(line, []byte("data: "))
			if !ok && line[0] != ':' && string(line) != "event: message" {
				return fmt.Errorf("%.100q is no line of an event", line)
			} else if !ok {
				return nil
			}
			line = data
		}
		if t.complete {
			return fmt.Errorf("something after the answer: %.300s", line)
		}
		m, err := l.received(line)
		if t.complete = m.Response; err == nil && m.Response {
			if string(m.ID) != string(sent.ID) {
				return fmt.Errorf("an answer to %q on the stream of %q", m.ID, sent.ID)
			}
			l.checkStatus(resp, l.statusOf(&m))
		}
		return err
	}
	resp.Body = t
	return resp, nil
}

func (l *link) checkStatus(resp *http.Response, want int) {
	if resp.StatusCode != want {
		l.broken(fmt.Errorf("%s: status %s instead of %d", resp.Request.Method, resp.Status, want))
	}
}

// statusOf returns the status an answer must have.
func (l *link) statusOf(m *jsonrpc.Message) int {
	if m.Failure == nil || l.version == legacy {
		return http.StatusOK
	}
	switch jsonrpc.ParseError(m.Failure).Code {
	case jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	case jsonrpc.CodeInvalidRequest, jsonrpc.CodeInvalidParams, jsonrpc.CodeParseError, -32020, -32021, -32022:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

func (v *server) header() http.Header {
	return http.Header{"Authorization": {"Bearer " + secret}} // which counts only where tokens are configured
}

// send sends a request with headers, name and value in turn, and returns the
// status and the body.
func (v *server) send(ctx context.Context, via http.RoundTripper, method string, body []byte, headers ...string) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, v.url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header = v.header()
	req.Header.Set("Accept", "application/json, text/event-stream")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := via.RoundTrip(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, b, err
}

// post sends a message of the session, which is checked like those of the library.
func (l *link) post(ctx context.Context, msg []byte) (int, []byte, error) {
	headers := []string{mcp.HeaderProtocolVersion, l.version}
	if l.session != "" {
		headers = append(headers, mcp.HeaderSessionID, l.session)
	}
	m, _ := jsonrpc.Parse(msg, nil)
	for name, value := range mcp.StandardHeaders(l.version, mcp.MCPMethod(m.Method), m.Params) {
		headers = append(headers, name, value)
	}
	return l.server.send(ctx, l, http.MethodPost, msg, headers...)
}

// writeRaw writes a line over stdio.
func (l *link) writeRaw(line []byte) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	_, err := l.server.in.Write(append(line, '\n'))
	return err
}

// exchange sends a request as it is and returns the result.
func (l *link) exchange(ctx context.Context, msg []byte) (json.RawMessage, error) {
	if l.server.url != "" {
		_, body, err := l.post(ctx, msg)
		if err != nil {
			return nil, err
		}
		if _, after, ok := bytes.Cut(body, []byte("\ndata: ")); ok {
			body, _, _ = bytes.Cut(after, []byte("\n"))
		}
		m, bad := jsonrpc.Parse(body, nil)
		if bad != nil || m.Result == nil {
			return nil, fmt.Errorf("got %.300q", body)
		}
		return m.Result, nil
	}
	answer := make(chan jsonrpc.Message, 1)
	l.sent(msg, answer)
	if err := l.writeRaw(msg); err != nil {
		return nil, err
	}
	select {
	case m := <-answer:
		if m.Result == nil {
			return nil, fmt.Errorf("got error %.300s", m.Failure)
		}
		return m.Result, nil
	case <-time.After(patience):
		return nil, fmt.Errorf("no answer within %s", patience)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

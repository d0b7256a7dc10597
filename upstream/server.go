// Package upstream offers what other MCP servers offer, under the policy of this one:
// their tools, resources and prompts. Each server is a source of its own, which is kept
// connected, and whose failure costs only what it offers.
package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/toolserver/toolserver/domain/redact"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/upstream/mcpclient"
	"github.com/toolserver/toolserver/upstream/oauth"
	"github.com/toolserver/toolserver/wire/jsonrpc"
)

// deps is what a server works with.
type deps struct {
	Deps
	Log       *zap.Logger
	State     *sandbox.State
	Processes *sandbox.Processes
	HTTP      http.RoundTripper
	Environ   []string // of this process
	place     *Place   // nil for a server of the configuration
}

// entry is one server of the configuration, as all its parts know it.
type entry struct {
	name     string
	settings Settings
	deps     deps
	from     any           // what it was made from
	oauth    *oauth.Client // nil if the server has nobody sign in

	ctx     context.Context // ends when the server is closed
	end     context.CancelFunc
	running sync.WaitGroup
}

// Timeout returns how long connecting may take, and each list.
func (e *entry) Timeout() time.Duration { return cmp.Or(e.settings.Timeout, defaultTimeout) }

// withoutTokens removes from what the server has answered the tokens that it got.
func (s *entry) withoutTokens(result json.RawMessage, err error) (json.RawMessage, error) {
	secrets := s.secrets()
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		data, _ := e.Data.(json.RawMessage)
		e.Message, e.Data = redact.Text(e.Message, secrets), redact.JSON(data, secrets)
	}
	if e, ok := errors.AsType[*mcpclient.HTTPError](err); ok { // before it is cut
		e.Body = []byte(redact.Text(string(e.Body), append(s.settings.Secrets(), secrets...)))
	}
	return redact.JSON(result, secrets), err
}

// secrets returns the tokens that the server gets, which settings do not have.
func (s *entry) secrets() []string {
	if s.oauth == nil {
		return nil
	}
	return s.oauth.Secrets()
}

// address returns the address that clients have of a document of the server, or of a
// template.
func (s *entry) address(uri string) string {
	if s.deps.place != nil {
		return uri
	}
	return "mcp://" + s.name + "/" + uri
}

// original returns the server's own address of a document.
func (s *entry) original(uri string) string { return strings.TrimPrefix(uri, s.address("")) }

// client returns what sends requests for a principal, or for all.
func (s *entry) client(principal string) *http.Client {
	if s.oauth == nil {
		return &http.Client{Transport: s.deps.HTTP}
	}
	return &http.Client{Transport: s.oauth.Transport(principal)}
}

// Server is one server that configuration names. It is a [domain.Source].
type Server struct {
	*entry
	*offers
	links *links
	calls *calls
}

// newServer returns a server, with what was known of it last time. It is started by
// [Server.OnChange].
func newServer(name string, settings Settings, d deps) *Server {
	e := &entry{name: name, settings: settings, deps: d}
	e.deps.Log = d.Log.With(zap.String("server", name))
	e.deps.Lines = cmp.Or(d.Lines, d.Log).With(zap.String("server", name))
	e.ctx, e.end = context.WithCancel(context.Background())
	s := &Server{entry: e}
	s.links = &links{server: s, main: newLink(s, ""), own: map[string]*link{}}
	s.calls = newCalls(e, s.links)
	s.offers = &offers{entry: e, calls: s.calls, files: newFiles(d.State, name, &e.settings)}
	if d.place != nil { // of which there are many alike
		s.files.server = name + "-" + s.files.origin[:16]
	}
	if settings.signsIn() && d.place == nil {
		var err error
		e.oauth, err = oauth.New(oauth.Config{
			Settings: settings.OAuth, Upstream: name, URL: settings.URL, HTTP: d.HTTP, State: d.State, Host: d.Host, Log: e.deps.Log,
			SignedIn: s.links.signedIn,
		})
		if err != nil && !reflect.DeepEqual(settings.OAuth, oauth.Settings{}) { // otherwise it is not meant to
			s.problem("nobody can sign in", err)
		}
	}
	kept, err := s.files.catalog()
	if err != nil {
		s.problem("what was known of it cannot be read", err)
	}
	s.signsIn = e.oauth != nil && settings.perPrincipal()
	s.enter = s.signInTool()
	s.links.main.handshake = kept.Handshake
	s.adopt(kept)
	return s
}

// Name returns the name of the source, which differs from those of built-in families.
func (s *Server) Name() string { return SourceName(s.name) }

// SourceName returns the name of the source of a server.
func SourceName(server string) string { return "mcp_servers." + server }

// Each reports whether workspaces have instances of their own; see [Settings.Each].
func (s *Server) Each() bool { return s.settings.Each() }

// Server returns the name under which configuration has the server.
func (s *Server) Server() string { return s.name }

// OAuth returns what signs in to the server; nil if it has nobody sign in.
func (s *Server) OAuth() *oauth.Client { return s.oauth }

// followPause is how often it is looked what other processes have done.
const followPause = 2 * time.Second

// OnChange starts the server.
func (s *Server) OnChange(changed func()) {
	s.notify(changed)
	if !s.settings.perPrincipal() { // or it is connected to when a caller needs it
		s.running.Go(func() { s.links.main.run(s.ctx) })
	}
	if s.oauth != nil || s.settings.Pin == pinQuarantine {
		s.running.Go(func() {
			for sleep(s.ctx, followPause) {
				s.followPins()
				s.followSignIns()
			}
		})
	}
}

// Close ends the connection, and the program of the server.
func (s *Server) Close() error {
	s.end()
	s.calls.parked.Clear()
	s.running.Wait()
	if s.oauth != nil {
		return s.oauth.Close()
	}
	return nil
}

// settle notes that the server has been tried: it need not be waited for any more, or somebody has to sign in. It notifies if that is
// new, or in any case.
func (s *Server) settle(notifies bool) {
	_, waits := s.links.main.waitsForSignIn()
	s.offers.settle(s.oauth != nil && (waits || s.settings.perPrincipal()), notifies)
}

// followSignIns notices what other processes do, such as toolserver upstream login: somebody has signed in, or what the server
// offers is known.
func (s *Server) followSignIns() {
	if s.oauth == nil {
		return
	}
	for _, l := range s.links.all() {
		since, waits := l.waitsForSignIn()
		if !waits {
			continue
		}
		if now, err := s.oauth.Status(l.owner); err == nil && now.SignedIn && now.Created.After(since) {
			s.links.signedIn(l.owner)
		}
	}
	if s.Known() {
		return
	}
	if c, err := s.files.catalog(); err == nil && !c.empty() {
		s.adopt(c)
	}
}

// settleGrace is how long a program that has not answered in time may take to end.
const settleGrace = inputGrace + termGrace + time.Second

// Settle waits until the server is ready or has failed, for as long as its start may take, or
// until ctx ends; for the principal, where each has a connection of their own. A server that
// is connected to when it is needed is needed now.
func (s *Server) Settle(ctx context.Context, principal string) {
	l := s.links.of(principal)
	ctx, cancel := context.WithTimeout(ctx, s.startLimit(false)+settleGrace)
	defer cancel()
	for {
		l.mu.Lock()
		status, changed := l.status, l.changed
		l.mu.Unlock()
		switch status {
		case StatusReady, StatusFailed, StatusSignIn, StatusClosed:
			s.settle(true) // which is about to be done
			return
		case StatusIdle:
			signal(l.wanted)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// Ping returns how long the server takes to answer, once it is ready.
func (s *Server) Ping(ctx context.Context, principal string) (time.Duration, error) {
	l := s.links.of(principal)
	c, err := l.ready(ctx)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	err = l.check(ctx, c)
	return time.Since(began), err
}

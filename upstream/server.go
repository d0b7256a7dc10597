// Package upstream offers what other MCP servers offer, under the policy of this one:
// their tools, resources and prompts. Each server is a source of its own, which is kept
// connected, and whose failure costs only what it offers.
package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/zap"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/share"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/upstream/mcpclient"
	"github.com/toolserver/toolserver/upstream/mcpshape"
	"github.com/toolserver/toolserver/upstream/oauth"
	"github.com/toolserver/toolserver/wire/jsonrpc"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// The values of [Settings.Pin].
const (
	pinQuarantine = "quarantine"
)

// deps is what a server works with.
type deps struct {
	Deps
	Log       *zap.Logger
	State     *sandbox.State
	Processes *sandbox.Processes
	HTTP      http.RoundTripper
	Environ   []string // of this process
}

// Server is one server that configuration names. It is a [domain.Source].
type Server struct {
	name        string
	settings    Settings
	deps        deps
	files       *files
	main        *link         // the connection of all callers
	oauth       *oauth.Client // nil if the server has nobody sign in
	enter       domain.Tool   // signs in
	watches     watches
	parked      share.Store[string, *pending]
	completions share.Store[string, func(string)]
	linked      share.Store[string, struct{}] // addresses in results, by the ID of the principal who got them

	ctx     context.Context // ends when the server is closed
	end     context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex
	catalog  catalog
	pins     map[string]Difference // tools that differ from their pins
	offered  domain.Offer
	settled  bool   // it has been tried to connect
	signsIn  bool   // somebody has to sign in
	owner    string // ID of the principal whose connection has shown the catalog; "" for all
	changed  func()
	problems []string         // with what is kept
	repairs  []string         // of what is offered
	links    map[string]*link // connections of single callers, by the ID of the principal; nil if all share one
}

// Bounds of what one server may have callers wait for.
const (
	maxParked      = 200
	maxCompletions = 1000
	completionAge  = time.Hour
	maxLinked      = 2_000
	linkedAge      = 24 * time.Hour
)

// newServer returns a server, with what was known of it last time. It is started by
// [Server.OnChange].
func newServer(name string, settings Settings, d deps) *Server {
	s := &Server{name: name, settings: settings, deps: d, files: newFiles(d.State, name, &settings)}
	s.deps.Log = d.Log.With(zap.String("server", name))
	s.deps.Lines = cmp.Or(d.Lines, d.Log).With(zap.String("server", name))
	s.ctx, s.end = context.WithCancel(context.Background())
	s.main = newLink(s, "")
	s.watches.server = s
	s.parked.MaxEntries, s.parked.Dropped = maxParked, func(p *pending) { p.cancel(errGone) }
	s.completions.MaxEntries, s.completions.MaxAge = maxCompletions, completionAge
	s.linked.MaxEntries, s.linked.MaxAge, s.linked.Renew = maxLinked, linkedAge, true
	if settings.signsIn() {
		var err error
		s.oauth, err = oauth.New(oauth.Config{
			Settings: settings.OAuth, Upstream: name, URL: settings.URL, HTTP: d.HTTP, State: d.State, Host: d.Host, Log: s.deps.Log, SignedIn: s.signedIn,
		})
		if err != nil && !reflect.DeepEqual(settings.OAuth, oauth.Settings{}) { // otherwise it is not meant to
			s.problem("nobody can sign in", err)
		}
	}
	kept, err := s.files.catalog()
	if err != nil {
		s.problem("what was known of it cannot be read", err)
	}
	s.settled, s.signsIn, s.enter = settings.perPrincipal(), s.oauth != nil && settings.perPrincipal(), s.signInTool()
	s.main.handshake = kept.Handshake
	s.adopt(kept)
	return s
}

// problem notes that something cannot be kept, once.
func (s *Server) problem(what string, err error) {
	s.deps.Log.Warn(what, zap.Error(err))
	s.mu.Lock()
	defer s.mu.Unlock()
	if text := what + ": " + err.Error(); len(s.problems) < 10 {
		s.problems = append(s.problems, text)
	}
}

// Name returns the name of the source, which differs from those of built-in families.
func (s *Server) Name() string { return SourceName(s.name) }

// SourceName returns the name of the source of a server.
func SourceName(server string) string { return "mcp_servers." + server }

// OnChange starts the server.
func (s *Server) OnChange(changed func()) {
	s.mu.Lock()
	s.changed = changed
	s.mu.Unlock()
	if !s.settings.perPrincipal() { // or it is connected to when a caller needs it
		s.running.Go(func() { s.main.run(s.ctx) })
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
	s.parked.Clear()
	s.running.Wait()
	if s.oauth != nil {
		return s.oauth.Close()
	}
	return nil
}

// linkOf returns the connection that a principal uses. There are as many as configuration
// has principals.
func (s *Server) linkOf(principal string) *link {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.settings.perPrincipal() || s.ctx.Err() != nil {
		return s.main
	}
	l := s.links[principal]
	if l == nil {
		if s.links == nil {
			s.links = map[string]*link{}
		}
		l = newLink(s, principal)
		s.links[principal] = l
		s.running.Go(func() { l.run(s.ctx) })
	}
	return l
}

// Timeout returns how long connecting may take, and each list.
func (s *Server) Timeout() time.Duration {
	return cmp.Or(s.settings.Timeout, defaultTimeout)
}

// load reads the lists of the server, and offers what is in them.
func (s *Server) load(ctx context.Context, l *link, conn *connection) error {
	s.mu.Lock()
	if s.owner == "" {
		s.owner = l.owner
	}
	others := s.owner != l.owner
	s.mu.Unlock()
	if others { // each caller may be shown other tools; what is offered must not alternate
		return nil
	}
	about := conn.client.Server()
	var broken []string
	again := false
	c := catalog{Handshake: l.handshake, Protocol: about.Protocol, Info: about.Info, Instructions: about.Instructions}
	for _, list := range []struct {
		capability string
		method     mcp.MCPMethod
		to         *[]json.RawMessage
	}{
		{"tools", mcp.MethodToolsList, &c.Tools}, {"resources", mcp.MethodResourcesList, &c.Resources},
		{"resources", mcp.MethodResourcesTemplatesList, &c.Templates}, {"prompts", mcp.MethodPromptsList, &c.Prompts},
	} {
		if rawjson.Member(about.Capabilities, list.capability) == nil {
			continue
		}
		listing, cancel := context.WithTimeout(ctx, s.Timeout())
		items, err := conn.client.List(listing, string(list.method))
		cancel()
		_, answered := errors.AsType[*jsonrpc.Error](err)
		switch {
		case err == nil, answered && list.to == &c.Templates && items == nil: // which servers with resources need not have
		case items == nil && (!answered || list.to == &c.Tools), conn.client.Err() != nil, errors.Is(err, mcpclient.ErrSessionEnded):
			return err
		default: // what came before it counts
			_, err = s.withoutTokens(nil, err)
			again = again || !errors.Is(err, mcpclient.ErrEndless)
			broken = append(broken, fmt.Sprintf("%s is not read whole, %d came: %v", list.method, len(items), err))
		}
		*list.to = items
	}
	l.incomplete(broken, again)
	s.mu.Lock()
	same := !s.catalog.empty() && reflect.DeepEqual(s.catalog, c)
	s.mu.Unlock()
	if same {
		return nil
	}
	if err := s.files.keepCatalog(c); err != nil {
		s.problem("its catalog cannot be kept", err)
	}
	s.adopt(c)
	return nil
}

// adopt offers what is in a catalog.
func (s *Server) adopt(c catalog) {
	tools := map[string]json.RawMessage{}
	for _, raw := range c.Tools {
		if name, err := rawjson.String(rawjson.Member(raw, "name")); err == nil && tools[name] == nil {
			tools[name] = raw
		}
	}
	changed, err := s.files.compare(tools)
	if err != nil {
		s.problem("the pins of its tools cannot be read or kept", err)
		changed = map[string]Difference{}
		for name := range tools { // it is not known which of them have changed
			if s.settings.Pin == pinQuarantine {
				changed[name] = Difference{Tool: name}
			}
		}
	}
	for name, d := range changed {
		members := make([]string, len(d.Members))
		for i, m := range d.Members {
			members[i] = m.Name
		}
		s.deps.Log.Warn("a tool has changed since it was pinned", zap.String("tool", name), zap.Strings("members", members))
	}
	offer, repairs := s.offer(&c, changed)
	s.mu.Lock()
	offer.Pending = c.empty() && !s.settled && !s.settings.Lazy
	s.catalog, s.pins, s.offered, s.repairs = c, changed, offer, repairs
	notify := s.changed
	s.mu.Unlock()
	if notify != nil {
		notify()
	}
}

// settle notes that the server has been tried: it need not be waited for any more, or somebody has to sign in. It notifies if that is
// new, or in any case.
func (s *Server) settle(notifies bool) {
	s.main.mu.Lock()
	signsIn := s.oauth != nil && (s.main.status == StatusSignIn || s.settings.perPrincipal())
	s.main.mu.Unlock()
	s.mu.Lock()
	notify := s.changed
	notifies = notifies || s.offered.Pending || signsIn != s.signsIn
	s.settled, s.offered.Pending, s.signsIn = true, false, signsIn
	s.mu.Unlock()
	if notifies && notify != nil {
		notify()
	}
}

// followPause is how often it is looked what other processes have done.
const followPause = 2 * time.Second

// followPins offers tools that are held back when somebody has approved of them.
func (s *Server) followPins() {
	s.mu.Lock()
	held, c := s.pins, s.catalog
	s.mu.Unlock()
	if len(held) == 0 || s.settings.Pin != pinQuarantine {
		return
	}
	p, _ := s.files.pins() // those that cannot be read approve of nothing
	for _, raw := range c.Tools {
		name, _ := rawjson.String(rawjson.Member(raw, "name"))
		if _, ok := held[name]; ok && p[name].Hash == newPin(raw).Hash {
			s.adopt(c)
			return
		}
	}
}

// listen has a server of protocol version 2026-07-28 say what changes.
func (s *Server) listen(ctx context.Context, l *link, c *connection) {
	for wait := firstWait; ctx.Err() == nil; wait = min(2*wait, laterWait) {
		_ = c.client.Listen(ctx, mcpclient.Filter{Tools: true, Prompts: true, Resources: true})
		if !sleep(ctx, wait) || c.client.Err() != nil {
			return
		}
		l.refresh() // it may have changed in between
	}
}

// request sends a request that is no call of a tool.
func (s *Server) request(ctx context.Context, what string, method mcp.MCPMethod, params any) (json.RawMessage, error) {
	b, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	result, err := s.do(ctx, mcpclient.Request{Method: string(method), Params: withMeta(ctx, b)})
	if err != nil {
		return nil, s.failure(ctx, what, err)
	}
	return result, nil
}

// withMeta returns parameters with what the caller wrote in _meta that is not meant for this
// server: traces, and keys of vendors.
func withMeta(ctx context.Context, params json.RawMessage) json.RawMessage {
	meta := domain.SessionOf(ctx).Meta
	_ = rawjson.Object(meta, func(name, _ []byte) error {
		if key := string(name); key == "progressToken" || strings.HasPrefix(key, "io.modelcontextprotocol/") || strings.HasPrefix(key, "toolserver/") {
			meta = rawjson.Without(meta, key)
		}
		return nil
	})
	if len(meta) <= len("{}") {
		return params
	}
	return rawjson.With(params, "_meta", meta)
}

// read reads a document of the server, by its own address. A client has asked for uri.
func (s *Server) read(ctx context.Context, own, uri string) (r domain.ToolResult, err error) {
	result, err := s.request(ctx, "resource "+uri, mcp.MethodResourcesRead, map[string]string{"uri": own})
	if err != nil {
		return r, err
	}
	if r, err = contents(result, own, uri); err != nil {
		return r, domain.Errorf(domain.CodeExecutionFailed, "resource %s: server %s returned no valid result: %w", uri, s.name, err)
	}
	s.noteLinks(ctx, r.Content)
	return r, nil
}

// get fills in a prompt of the server.
func (s *Server) get(ctx context.Context, name string, args map[string]string) (domain.PromptResult, error) {
	params := map[string]any{"name": name}
	if len(args) > 0 {
		params["arguments"] = args
	}
	result, err := s.request(ctx, "prompt "+name, mcp.MethodPromptsGet, params)
	if err != nil {
		return domain.PromptResult{}, err
	}
	p, err := promptResult(result)
	if err != nil {
		return p, domain.Errorf(domain.CodeExecutionFailed, "prompt %s: server %s returned no valid result: %w", name, s.name, err)
	}
	for _, m := range p.Messages {
		s.noteLinks(ctx, []domain.Content{m.Content})
	}
	return p, nil
}

// completer asks the server for completions of a prompt or template.
func (s *Server) completer(kind, member, name string) domain.Completer {
	return func(ctx context.Context, argument, typed string, given map[string]string) (c domain.Completions, err error) {
		s.mu.Lock()
		known := s.catalog
		s.mu.Unlock()
		if known.empty() {
			return c, nil
		}
		params := map[string]any{
			"ref": map[string]string{"type": kind, member: name}, "argument": map[string]string{"name": argument, "value": typed},
		}
		if len(given) > 0 {
			params["context"] = map[string]any{"arguments": given}
		}
		result, err := s.request(ctx, "completion of "+name, mcp.MethodCompletionComplete, params)
		if err != nil {
			if e, ok := err.(*domain.Error); ok && e.Verbatim { // it completes nothing
				return c, nil
			}
			return c, err
		}
		completion := rawjson.Member(result, "completion")
		_ = json.Unmarshal(rawjson.Member(completion, "values"), &c.Values) // what is no list of texts completes nothing
		c.Extra = mcpshape.Completion(completion)
		return c, nil
	}
}

package server

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/zap"

	"toolserver/domain"
	"toolserver/share"
)

// Options say how a [Server] presents itself and what it puts up with.
type Options struct {
	Name         string
	Version      string
	Instructions string // for models, less than 2,000 characters
	Log          *zap.Logger

	MaxMessageBytes int           // of a line or a body
	MaxInFlight     int           // requests of one session at a time, those in line included
	Grace           time.Duration // for calls under way when the input ends or the server stops

	// SessionEnded is called when an HTTP session of a principal, by its ID, has
	// ended; it may be nil.
	SessionEnded  func(principal, session string)
	BeforeAnswers func() // called before answers are sent, several at a time; must return soon; may be nil
}

// Settings are what configuration can change while the server runs.
type Settings struct {
	ErrorsAsResults bool // failed calls are answered with results the model sees
}

// Server is an MCP server.
type Server struct {
	opts     Options
	exec     *domain.Executor
	settings atomic.Pointer[Settings]
	self     identity
	lists    listCache
	hub      hub
	states   stateSealer
	pace     pace
	held     *share.Pool // bytes of long messages in flight, by principal
	requests *share.Pool // in flight, likewise
	streams  *share.Pool // of changes that are open over HTTP, likewise
}

// Bounds of what all clients together can have in flight or open.
const (
	maxRequests = 8192
	maxStreams  = 4096
	// maxBytesHeld is of long messages, unless one alone may have a quarter of it:
	// what is made of a message takes several times its size.
	maxBytesHeld = 64 << 20
)

// longMessage is from where on the bytes of a message are counted.
const longMessage = 64 << 10

// New returns a server that runs the tools of exec's registry through exec.
func New(exec *domain.Executor, opts Options) *Server {
	if opts.BeforeAnswers == nil {
		opts.BeforeAnswers = func() {}
	}
	s := &Server{opts: opts, exec: exec, self: newIdentity(opts), states: newStateSealer(),
		held: share.NewPool(max(maxBytesHeld, 4*int64(opts.MaxMessageBytes)), 0), requests: share.NewPool(maxRequests, 0), streams: share.NewPool(maxStreams, 0)}
	s.Configure(Settings{})
	exec.Registry.OnChange(func(c domain.Change) {
		s.hub.revise(exec.Registry.Catalog(), opts.Log)
		if c.Tools {
			s.hub.publish(change{method: mcp.MethodNotificationToolsListChanged})
		}
		if c.Resources {
			s.hub.publish(change{method: mcp.MethodNotificationResourcesListChanged})
		}
		if c.Prompts {
			s.hub.publish(change{method: mcp.MethodNotificationPromptsListChanged})
		}
	})
	return s
}

// ProtocolVersions returns the versions of MCP that are served, the newest
// first.
func ProtocolVersions() []string { return slices.Clone(mcp.ValidProtocolVersions) }

// Configure replaces the settings for messages to come.
func (s *Server) Configure(settings Settings) { s.settings.Store(&settings) }

// The methods of clients.
const (
	methodInitialize  = string(mcp.MethodInitialize)
	methodDiscover    = string(mcp.MethodServerDiscover)
	methodPing        = string(mcp.MethodPing)
	methodCall        = string(mcp.MethodToolsCall)
	methodTools       = string(mcp.MethodToolsList)
	methodResources   = string(mcp.MethodResourcesList)
	methodTemplates   = string(mcp.MethodResourcesTemplatesList)
	methodRead        = string(mcp.MethodResourcesRead)
	methodSubscribe   = string(mcp.MethodResourcesSubscribe)
	methodUnsubscribe = string(mcp.MethodResourcesUnsubscribe)
	methodPrompts     = string(mcp.MethodPromptsList)
	methodPrompt      = string(mcp.MethodPromptsGet)
	methodComplete    = string(mcp.MethodCompletionComplete)
	methodLogLevel    = string(mcp.MethodSetLogLevel)
	methodListen      = string(mcp.MethodSubscriptionsListen)
)

// onlyLegacy reports whether a method belongs to the era with sessions.
func onlyLegacy(method string) bool {
	switch method {
	case methodInitialize, methodPing, methodSubscribe, methodUnsubscribe, methodLogLevel:
		return true
	}
	return false
}

// onlyModern reports whether a method belongs to the era without.
func onlyModern(method string) bool { return method == methodListen || method == methodDiscover }

// handle serves one message. It returns when the message is dealt with, but for
// the answer of a call whose handler takes no notice of its time.
func (s *Server) handle(ctx context.Context, ses *session, who caller, msg *message, out sink) {
	if x, ctx := s.open(ctx, ses, who, msg, out); x != nil {
		x.serve(ctx)
	}
}

// open takes in a message. If that is all there is to do it returns nil. A
// request it returns can be canceled from now on, and has to be served.
func (s *Server) open(ctx context.Context, ses *session, who caller, msg *message, out sink) (*exchange, context.Context) {
	switch {
	case msg.response:
		ses.asking.answered(msg)
		return nil, nil
	case msg.isNotification():
		s.notified(ses, msg)
		return nil, nil
	}
	x := &exchange{server: s, session: ses, who: who, msg: msg, params: &msg.read, out: out}
	if err := x.check(); err != nil {
		x.fail(err)
		return nil, nil
	}
	if msg.method == methodPing { // answered however much is in flight
		x.answer(func(b []byte) []byte { return append(b, "{}"...) })
		return nil, nil
	}
	ctx, err := x.begin(ctx)
	if err != nil {
		x.fail(err)
		return nil, nil
	}
	return x, ctx
}

// serve does what a request asks for. A panic is answered with an error: no
// request ends the process.
func (x *exchange) serve(ctx context.Context) {
	defer x.recover()
	switch x.msg.method {
	// These end the exchange themselves.
	case methodCall:
		x.callTool(ctx)
		return
	case methodRead:
		x.readResource(ctx)
		return
	case methodPrompt:
		x.getPrompt(ctx)
		return
	case methodComplete:
		x.complete(ctx)
		return
	case methodTools, methodResources, methodTemplates, methodPrompts:
		x.list()
	case methodSubscribe:
		x.subscribe()
	case methodUnsubscribe:
		x.unsubscribe()
	case methodLogLevel:
		x.setLogLevel()
	case methodListen:
		x.listen(ctx)
	case methodInitialize:
		x.initialize()
	case methodDiscover:
		x.discover()
	default:
		x.fail(&wireError{code: mcp.METHOD_NOT_FOUND, message: "there is no method " + domain.ClipName(x.msg.method)})
	}
	x.end()
}

// check reports what is wrong with a request before its method is looked at.
func (x *exchange) check() *wireError {
	if err := x.params.meta.check(); err != nil {
		return err
	}
	modern := x.params.meta.modern
	if modern && onlyLegacy(x.msg.method) || !modern && onlyModern(x.msg.method) {
		return &wireError{code: mcp.METHOD_NOT_FOUND, message: domain.ClipName(x.msg.method) + " is not a method of this protocol version"}
	}
	return x.readState()
}

// notified takes in a notification. Those that mean nothing to us are ignored,
// as JSON-RPC asks.
func (s *Server) notified(ses *session, msg *message) {
	if msg.method == string(mcp.MethodNotificationCancelled) {
		ses.cancelRequest(msg.params)
	}
}

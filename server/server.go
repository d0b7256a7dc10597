package server

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
	"go.uber.org/zap"

	"toolserver/domain"
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

	SessionEnded func(domain.Session) // called when an HTTP session has ended; may be nil
}

// Settings are what configuration can change while the server runs.
type Settings struct {
	ErrorsAsResults bool // failed calls are answered with results the model sees
	PrivateLists    bool // what is listed depends on who asks
}

// Server is an MCP server.
type Server struct {
	opts     Options
	exec     *domain.Executor
	mcp      *mcpserver.MCPServer
	settings atomic.Pointer[Settings]
	info     json.RawMessage // this implementation, for _meta
	lists    listCache
	hub      hub
}

// New returns a server that runs the tools of exec's registry through exec.
func New(exec *domain.Executor, opts Options) *Server {
	s := &Server{opts: opts, exec: exec, mcp: mcpserver.NewMCPServer(opts.Name, opts.Version,
		mcpserver.WithToolCapabilities(true),
		mcpserver.WithInstructions(opts.Instructions),
	)}
	info, err := json.Marshal(mcp.Implementation{Name: opts.Name, Version: opts.Version})
	if err != nil {
		panic(err) // two strings are JSON
	}
	s.info = info
	s.Configure(Settings{})
	exec.Registry.OnChange(s.hub.toolsChanged)
	return s
}

// Configure replaces the settings for messages to come.
func (s *Server) Configure(settings Settings) { s.settings.Store(&settings) }

// The methods that are treated here and not only by mcp-go.
const (
	methodInitialize = string(mcp.MethodInitialize)
	methodCall       = "tools/call"
	methodList       = "tools/list"
	methodListen     = "subscriptions/listen"
)

// handle serves one message. It returns when the message is dealt with, but for
// the answer of a call whose handler takes no notice of its time.
func (s *Server) handle(ctx context.Context, ses *session, msg *message, out sink) {
	if msg.isNotification() {
		s.notified(ses, msg)
		return
	}
	x := &exchange{server: s, session: ses, msg: msg, out: out}
	if err := x.readMeta(); err != nil {
		x.fail(err)
		return
	}
	ctx, err := x.begin(ctx)
	if err != nil {
		x.fail(err)
		return
	}
	switch msg.method {
	case methodCall:
		x.callTool(ctx) // ends the exchange itself
		return
	case methodList:
		x.listTools()
	case methodListen:
		x.listen(ctx)
	default:
		x.delegate(ctx)
	}
	x.end()
}

// notified takes in a notification. Those that mean nothing to us are ignored,
// as JSON-RPC asks.
func (s *Server) notified(ses *session, msg *message) {
	switch msg.method {
	case "notifications/initialized":
		ses.initialized.Store(true)
	case "notifications/cancelled":
		ses.cancelRequest(msg.params)
	}
}

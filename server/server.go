// Package server serves a registry of tools to MCP clients, over stdio and over
// Streamable HTTP, in protocol versions with a handshake (2024-11-05 to
// 2025-11-25) and without (2026-07-28). In identifiers and comments the latter is
// called modern.
//
// It owns the edge: sessions, order, cancellation, authentication, and the
// requests that calls make of clients. A transport reads a message and opens an
// exchange; the exchange has the [domain.Executor] do what is asked for, and
// sends the answer. The types and header rules of the protocol are mcp-go's.
package server

import (
	"encoding/json"
	"errors"
	"os"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/share"
	"github.com/toolserver/toolserver/telemetry"
	"github.com/toolserver/toolserver/wire/jsonrpc"
)

// Options say how a [Server] presents itself, and its limits.
type Options struct {
	// Info presents the server. Results in protocol version 2026-07-28, which all have it,
	// have its name and version only.
	Info         mcp.Implementation
	Instructions string // for models, less than 2,000 characters with Places
	// Places says where a session may work, at the end of the instructions; nil if that is nowhere.
	Places func(domain.Session) string
	Log    *zap.Logger

	MaxMessageBytes int           // of a line or a body
	MaxInFlight     int           // requests of one session, those in a queue included
	Grace           time.Duration // for requests in flight when the input ends or the server stops

	// Connected is called when a client begins a session in a protocol version or, without sessions,
	// when it is first heard of for a while. It may be nil.
	Connected func(s domain.Session, protocol string)
	// SessionEnded is called when an HTTP session of a principal, by its ID, has
	// ended; it may be nil.
	SessionEnded  func(principal, session string)
	BeforeAnswers func()               // called before answers are sent, several at a time; must return soon; may be nil
	Telemetry     *telemetry.Telemetry // observes requests; may be nil
	// Tasks opens the directory that keeps tasks. It may be nil: no call then becomes one.
	Tasks func() (*os.Root, error)
	// Spool makes a file, gone when it is closed, for one that a client sends. It may be nil where [Protocol] does not offer that.
	Spool func() (*os.File, error)
}

// Server is an MCP server.
type Server struct {
	// ErrorsAsResults has failed calls answered with results the model sees. It can
	// be changed while the server runs.
	ErrorsAsResults atomic.Bool

	opts     Options
	exec     *call.Executor
	offering atomic.Pointer[offering]
	info     json.RawMessage // name and version
	about    json.RawMessage // all of Options.Info
	hub      hub
	tasks    *tasks
	started  time.Time
	keyless  rate.Sometimes
	replicas replicas
	met      share.Store[string, *metClient] // clients without a session
	replays  share.Store[string, *replay]    // of responses, by session and stream
	pace     pace
	sessions atomic.Pointer[sessions]       // over HTTP
	stdio    atomic.Pointer[session]        // over stdio
	held     *share.Pool                    // bytes of long messages in flight, by principal
	requests *share.Pool                    // in flight, likewise
	streams  *share.Pool                    // of changes that are open over HTTP, likewise
	watches  *share.Pool                    // subscriptions to documents, likewise
	files    share.Store[string, *transfer] // by header and token
	links    share.Store[string, *link]     // by token
	auths    *telemetry.Instrument          // counts HTTP requests by whether they authenticate; may be nil
}

// Bounds of what all clients together can have in flight or open.
const (
	maxRequests = 8192
	maxStreams  = 4096
	maxWatched  = 16384
	maxMet      = 16384 // clients without a session
	// maxBytesHeld is of long messages, unless one alone may have two thirds of it:
	// what is made of a message takes several times its size.
	maxBytesHeld = 96 << 20
)

// longMessage is from where on the bytes of a message are counted.
const longMessage = 64 << 10

// New returns a server that runs the tools of exec's registry through exec.
func New(exec *call.Executor, opts Options) *Server {
	if opts.BeforeAnswers == nil {
		opts.BeforeAnswers = func() {}
	}
	s := &Server{opts: opts, exec: exec, hub: hub{listeners: map[*listener]struct{}{}}, started: time.Now(), keyless: rate.Sometimes{Interval: time.Minute},
		info:     jsonrpc.AppendValue(nil, mcp.Implementation{Name: opts.Info.Name, Version: opts.Info.Version}),
		about:    jsonrpc.AppendValue(nil, opts.Info),
		met:      share.Store[string, *metClient]{MaxEntries: maxMet, MaxAge: metTime, Renew: true},
		replays:  share.Store[string, *replay]{MaxSize: maxReplays, MaxAge: replayTime},
		links:    share.Store[string, *link]{MaxEntries: maxTransfers, MaxAge: transferTime, Dropped: (*link).drop},
		files:    share.Store[string, *transfer]{MaxEntries: maxTransfers, MaxSize: maxUploaded, MaxAge: transferTime, Dropped: (*transfer).drop},
		held:     share.NewPool(max(maxBytesHeld, 3*int64(opts.MaxMessageBytes)/2), 0),
		requests: share.NewPool(maxRequests, 0), streams: share.NewPool(maxStreams, 0), watches: share.NewPool(maxWatched, 0)}
	if opts.Tasks == nil {
		opts.Tasks = func() (*os.Root, error) { return nil, errors.New("there is no directory for tasks") }
	}
	s.tasks = newTasks(s, opts.Tasks)
	s.replicas = replicas{s}
	s.replicas.serve()
	s.measure()
	s.Offer(DefaultProtocol())
	exec.Registry.OnChange(s.publish)
	return s
}

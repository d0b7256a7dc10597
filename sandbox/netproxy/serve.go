package netproxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"time"

	"github.com/toolserver/toolserver/domain/share"
)

const (
	maxHead    = 64 << 10         // bytes of a request or answer before its body
	headWait   = 10 * time.Second // for that of a request, or a greeting
	idleWait   = time.Minute      // for a further request
	tunnelWait = 10 * time.Minute // for either side of a tunnel to send something
)

// A Server is a proxy that serves whoever connects, without a list of its own.
type Server struct {
	// Dial connects to a host and port, as a client wrote them. A [Refusal] means that the client
	// must not be connected.
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	Places *share.Pool // of connections; nil if there is always room
}

// Serve serves connections to l, which is TCP, until ctx ends, and closes them and l then.
func (s *Server) Serve(ctx context.Context, l net.Listener) {
	silent := log.New(io.Discard, "", 0)
	transport := &http.Transport{DialContext: s.Dial, DisableCompression: true, IdleConnTimeout: idleWait, MaxResponseHeaderBytes: maxHead}
	defer transport.CloseIdleConnections()
	forward := &httputil.ReverseProxy{ // which takes out of a request what is meant for a proxy
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.URL.RawQuery = r.In.URL.RawQuery },
		Transport: transport, FlushInterval: -1, ErrorLog: silent, ErrorHandler: s.fail,
	}
	server := &http.Server{
		ReadHeaderTimeout: headWait, IdleTimeout: idleWait, MaxHeaderBytes: maxHead, ErrorLog: silent,
		BaseContext: func(net.Listener) context.Context { return ctx },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodConnect {
				s.connect(ctx, w, r)
			} else {
				forward.ServeHTTP(w, r)
			}
		}),
	}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	_ = server.Serve(listener{l, s, ctx}) // until ctx ends
}

// fail answers a request that led to no connection.
func (s *Server) fail(w http.ResponseWriter, _ *http.Request, err error) {
	if isRefusal(err) {
		http.Error(w, err.Error(), http.StatusForbidden)
	} else {
		http.Error(w, "the proxy cannot connect: "+err.Error(), http.StatusBadGateway)
	}
}

// connect opens a tunnel, which does not end with the context of the request: that is
// cancelled when the client has nothing more to send.
func (s *Server) connect(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	to, err := s.Dial(r.Context(), "tcp", r.Host)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		to.Close()
		return
	}
	_, _ = io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n") // the tunnel fails if this does
	tunnel(ctx, client, buffered, to)
}

// A listener serves itself the clients that speak SOCKS.
type listener struct {
	net.Listener
	server *Server
	ctx    context.Context
}

func (l listener) Accept() (net.Conn, error) {
	release := func() {}
	if places, owner := l.server.Places, fmt.Sprintf("%p", l.server); places != nil {
		if places.Acquire(l.ctx, owner, 1) != nil {
			return nil, net.ErrClosed
		}
		release = func() { places.Release(owner, 1) }
	}
	c, err := l.Listener.Accept()
	if err != nil {
		release()
		return nil, err
	}
	return &conn{c.(*net.TCPConn), l, false, sync.OnceFunc(release)}, nil
}

// A conn is a connection of a client, which for others ends if it speaks SOCKS.
type conn struct {
	*net.TCPConn
	listener listener
	http     bool
	release  func()
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	if n > 0 && !c.http && b[0] == socksVersion {
		c.listener.server.serveSOCKS(c.listener.ctx, c.TCPConn, io.MultiReader(bytes.NewReader(b[:n]), c.TCPConn))
		return 0, io.EOF
	}
	c.http = c.http || n > 0
	return n, err
}

func (c *conn) Close() error {
	c.release()
	return c.TCPConn.Close()
}

// tunnel passes on what either side sends, until both have ended, both are silent for
// long, or ctx ends. What a sends is read from fromA.
func tunnel(ctx context.Context, a net.Conn, fromA io.Reader, b net.Conn) {
	closeBoth := func() { a.Close(); b.Close() }
	defer closeBoth()
	defer context.AfterFunc(ctx, closeBoth)()
	silence := silence{time.AfterFunc(tunnelWait, closeBoth)}
	defer silence.Stop()
	_ = a.SetDeadline(time.Time{}) // that of the request
	pass := func(to net.Conn, from io.Reader) {
		_, err := io.Copy(io.MultiWriter(to, silence), from)
		if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
			_ = half.CloseWrite() // the other direction may go on
		} else {
			closeBoth()
		}
	}
	var both sync.WaitGroup
	both.Go(func() { pass(a, b) })
	pass(b, fromA)
	both.Wait()
}

// A silence is over with each write to it.
type silence struct{ *time.Timer }

func (s silence) Write(b []byte) (int, error) {
	s.Reset(tunnelWait)
	return len(b), nil
}

package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/process"
	"github.com/toolserver/toolserver/upstream/mcpclient"
)

// connection is a connection to a server, with its process if it is a program.
type connection struct {
	*mcpclient.Client
	link   *link
	child  *process.Child
	kill   context.CancelFunc // what is left of the program
	hidden []string           // of what it writes to its standard error
}

// streams are the standard streams of a program.
type streams struct{ *process.Child }

func (s streams) Read(p []byte) (int, error) { return s.Stdout.Read(p) }

func (s streams) Write(p []byte) (int, error) { return s.Stdin.Write(p) }

// Close has the program end, which also ends a read that waits.
func (s streams) Close() error { return errors.Join(s.Stdin.Close(), s.Stdout.Close()) }

// firstStart is how long a program may take to answer that may have to be downloaded first.
const firstStart = 5 * time.Minute

// startLimit returns how long connecting may take, also if it was too slow last time.
func (s *Server) startLimit(slow bool) time.Duration {
	if s.settings.Timeout > 0 || s.settings.transport() != transportStdio || s.Known() && !slow {
		return s.Timeout()
	}
	return firstStart
}

// connect connects to the server, whose program it starts.
func (l *link) connect(ctx context.Context) (*connection, error) {
	s := l.server
	opts := mcpclient.Options{
		Name: "toolserver", Version: s.deps.Version, Handlers: l.handlers(), OpensURLs: true, Notify: l.notified,
		LogLevel: "debug", ConnectTimeout: s.startLimit(l.slow), Timeout: maxRounds, Handshake: l.handshake,
	}
	c := &connection{link: l}
	var err error
	if transport := s.settings.transport(); transport != transportStdio {
		connect := mcpclient.ConnectHTTP
		if transport == transportSSE {
			connect = mcpclient.ConnectSSE
		}
		c.Client, err = connect(ctx, s.client(l.owner), s.settings.URL, s.settings.header(), opts)
		return c, err
	}
	living, kill := context.WithCancel(context.WithoutCancel(ctx)) // once it runs, the program is asked to end before it is killed
	starting := context.AfterFunc(ctx, kill)
	c.child, err = s.deps.Processes.Start(living, sandbox.ProcessRequest{
		Argv: s.settings.argv(), Dir: s.settings.Cwd, Env: s.settings.environment(s.deps.Environ), Unconfined: !s.settings.Sandbox,
		Stderr: newStderrLog(s.deps.Lines, s.settings.Secrets()),
	})
	if err != nil {
		kill()
		return nil, fmt.Errorf("its program does not start: %w", err)
	}
	starting()
	c.kill, c.hidden = kill, s.settings.Secrets()
	if c.Client, err = mcpclient.Connect(ctx, streams{c.child}, opts); err != nil {
		switch {
		case errors.Is(err, context.DeadlineExceeded): // its program has ended since, as it was asked to
			l.slow = true
			err = fmt.Errorf("it did not answer within %v%s", opts.ConnectTimeout, c.lastWords())
		case ctx.Err() == nil:
			err = c.describe(err)
		}
		c.close()
		return nil, err
	}
	return c, nil
}

// exitWait is how long the end of a program is waited for that does not answer any more.
const exitWait = 200 * time.Millisecond

// describe returns why a connection failed: how its program ended, and what it said last.
func (c *connection) describe(err error) error {
	if c.child == nil {
		return err
	}
	limit := exitWait
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) {
		limit = inputGrace // it is about to end
	}
	if !within(limit, c.child.Exited()) {
		return fmt.Errorf("%w%s", err, c.lastWords())
	}
	within(inputGrace, c.child.Said())
	exit, failed := c.child.Exit()
	switch {
	case failed != nil:
		return fmt.Errorf("its program failed: %w", failed)
	case exit.Signal != "":
		return fmt.Errorf("its program was terminated by %s%s", exit.Signal, c.lastWords())
	}
	return fmt.Errorf("its program ended with exit status %d%s", exit.Code, c.lastWords())
}

// How long a program may take to end when its input has, and when it was asked to.
const (
	inputGrace = 2 * time.Second
	termGrace  = 2 * time.Second
)

// close ends the connection. A program is asked to end: by the end of its input, then by a
// signal; then it is killed with all that it has started.
func (c *connection) close() {
	if c.child == nil {
		c.Client.Close()
		return
	}
	_ = c.child.Stdin.Close()
	if !within(inputGrace, c.child.Exited()) {
		c.child.Signal(syscall.SIGTERM)
		within(termGrace, c.child.Exited())
	}
	if c.Client != nil {
		c.Client.Close()
	}
	c.child.Close()
	c.kill()
}

// within reports whether something has happened in time.
func within(limit time.Duration, happened <-chan struct{}) bool {
	select {
	case <-happened:
		return true
	case <-time.After(limit):
		return false
	}
}

// modern reports whether the server speaks protocol version 2026-07-28.
func (c *connection) modern() bool { return mcp.IsModernProtocol(c.Server().Protocol) }

// ping asks the server for a sign of life.
func (c *connection) ping(ctx context.Context) error {
	method := mcp.MethodPing
	if c.modern() {
		method = mcp.MethodServerDiscover
	}
	_, err := c.Call(ctx, string(method), nil)
	return err
}

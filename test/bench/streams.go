package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
)

// manyStreams is how many streams of a kind are open.
const manyStreams = 1000

// measureStreams measures what memory an open stream takes, of a session and of a subscription.
func measureStreams(ctx context.Context, l *lab) error {
	dir, err := l.dir("streams")
	if err != nil {
		return err
	}
	ours := l.withBefore([]contender{{name: "toolserver", argv: []string{l.server, "serve", dir, "--insecure-no-auth", "--http"}}})
	mcpgo := contender{name: "mcp-go", argv: []string{l.program("mcpgo")}}
	for _, kind := range []struct {
		what string
		open func(*httpServer) ([]stream, error)
		all  []contender
	}{
		{"opening the streams of %d sessions", (*httpServer).sessionStreams, append(ours[:len(ours):len(ours)], mcpgo)},
		{"opening %d subscriptions", subscriptions, ours},
	} {
		var targets []target
		for _, x := range kind.all {
			targets = append(targets, target{x.name, func() (sample, error) { return l.streamsOnce(ctx, dir, x, kind.open) }})
		}
		c, err := compare(min(l.rounds, 3), targets)
		if err != nil {
			return err
		}
		bars := []bar{atMost("RSS each", c.median("toolserver", each), 12_000, kilo)}
		for _, name := range c.names {
			c.rename(name, fmt.Sprintf("%s, %s each", name, kilo(c.median(name, each))))
		}
		l.table.add(fmt.Sprintf(kind.what, manyStreams), c, bars...)
	}
	return nil
}

// stream is the request for one.
type stream struct {
	method string
	body   []byte
	header http.Header
}

// sessionStreams opens sessions, and returns the requests for their streams.
func (s *httpServer) sessionStreams() ([]stream, error) {
	var streams []stream
	all, err := s.openMany(manyStreams)
	for _, o := range all {
		streams = append(streams, stream{"GET", nil, o.header})
	}
	return streams, err
}

// subscriptions returns requests for streams of changes without sessions.
func subscriptions(*httpServer) ([]stream, error) {
	e := asking(modern, "subscriptions/listen", "", `"notifications":{"toolsListChanged":true},`, "")
	var streams []stream
	for i := range manyStreams {
		streams = append(streams, stream{"POST", e.req.append(nil, i), e.header})
	}
	return streams, nil
}

// streamsOnce starts a server and opens streams.
func (l *lab) streamsOnce(ctx context.Context, dir string, x contender, requests func(*httpServer) ([]stream, error)) (s sample, err error) {
	server, err := l.startHTTP(ctx, dir, x.name, x.argv...)
	if err != nil {
		return s, err
	}
	defer server.stop()
	all, err := requests(server)
	if err != nil {
		return s, err
	}
	if _, err := server.settle(l.time); err != nil { // it grows for a while without streams, too
		return s, err
	}
	before, err := server.settle(l.time)
	if err != nil {
		return s, err
	}
	for _, o := range all {
		conn, err := o.open(server.url)
		if err != nil {
			return s, err
		}
		defer conn.Close()
	}
	s.rss, err = server.settle(l.time)
	s.each = float64(s.rss-before) / manyStreams
	return s, err
}

// open opens a stream, on a connection that takes little memory here.
func (o stream) open(url string) (net.Conn, error) {
	address, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	c, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s /%s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", o.method, path, address, len(o.body))
	if err := o.header.Write(&b); err != nil {
		return nil, err
	}
	b.WriteString("\r\n")
	b.Write(o.body)
	if _, err := c.Write([]byte(b.String())); err != nil {
		return nil, err
	}
	status, err := bufio.NewReaderSize(c, 16).ReadString('\n')
	if err == nil && !strings.Contains(status, " 200 ") {
		err = fmt.Errorf("a stream is answered with %s", strings.TrimSpace(status))
	}
	return c, err
}

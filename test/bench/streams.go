package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
)

// manyStreams is how many sessions have a stream open.
const manyStreams = 1000

// measureStreams measures what memory an open stream of a session takes.
func measureStreams(ctx context.Context, l *lab) error {
	dir, err := l.dir("streams")
	if err != nil {
		return err
	}
	var targets []target
	for _, x := range l.withBefore([]contender{
		{name: "toolserver", argv: []string{l.server, "serve", dir, "--insecure-no-auth", "--http"}},
		{name: "mcp-go", argv: []string{l.program("mcpgo")}},
	}) {
		targets = append(targets, target{x.name, func() (sample, error) { return l.streamsOnce(ctx, dir, x.name, x.argv) }})
	}
	c, err := compare(min(l.rounds, 3), targets)
	if err != nil {
		return err
	}
	bars := []bar{atMost("RSS each", c.median("toolserver", each), 12_000, kilo)}
	for _, name := range c.names {
		c.rename(name, fmt.Sprintf("%s, %s each", name, kilo(c.median(name, each))))
	}
	l.table.add(fmt.Sprintf("opening the streams of %d sessions", manyStreams), c, bars...)
	return nil
}

// streamsOnce starts a server, opens sessions and then a stream of each.
func (l *lab) streamsOnce(ctx context.Context, dir, name string, argv []string) (s sample, err error) {
	server, err := l.startHTTP(ctx, dir, name, argv...)
	if err != nil {
		return s, err
	}
	defer server.stop()
	all, err := server.openMany(manyStreams)
	if err != nil {
		return s, err
	}
	before, err := server.settle(l.time)
	if err != nil {
		return s, err
	}
	for _, o := range all {
		stream, err := openStream(server.url, o.header)
		if err != nil {
			return s, err
		}
		defer stream.Close()
	}
	s.rss, err = server.settle(l.time)
	s.each = float64(s.rss-before) / manyStreams
	return s, err
}

// openStream opens the stream of a session, on a connection that takes little memory
// here.
func openStream(url string, header http.Header) (net.Conn, error) {
	address, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	c, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "GET /%s HTTP/1.1\r\nHost: %s\r\n", path, address)
	if err := header.Write(&b); err != nil {
		return nil, err
	}
	b.WriteString("\r\n")
	if _, err := c.Write([]byte(b.String())); err != nil {
		return nil, err
	}
	status, err := bufio.NewReaderSize(c, 16).ReadString('\n')
	if err == nil && !strings.Contains(status, " 200 ") {
		err = fmt.Errorf("a stream is answered with %s", strings.TrimSpace(status))
	}
	return c, err
}

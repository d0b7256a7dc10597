//go:build linux

package main

import (
	"bytes"
	"context"
)

// stdioLink is one era's use of a conversation.
type stdioLink struct {
	conn *stdioConn
	era  bool // the modern one
}

func (l stdioLink) modern() bool   { return l.era }
func (l stdioLink) String() string { return l.conn.name }

func (l stdioLink) ask(ctx context.Context, r *request) (*answer, error) {
	id := l.conn.soak.id()
	w, err := l.conn.begin(id, r, l.era, nil)
	if err != nil {
		return nil, err
	}
	a, err := l.conn.result(ctx, w)
	if err != nil {
		return nil, err
	}
	return a, a.check(id, l.era)
}

func (l stdioLink) withdraw(_ context.Context, r *request, started func() error) error {
	id := l.conn.soak.id()
	if _, err := l.conn.begin(id, r, l.era, nil); err != nil {
		return err
	}
	if err := started(); err != nil {
		return err
	}
	l.conn.soak.tally.add("cancels", "stdio")
	return l.conn.cancel(id)
}

// wrongLines are answered with errors that have no id.
var wrongLines = []struct {
	line string
	code int
}{
	{`{"jsonrpc":"2.0","id":1,"method":`, -32700},
	{`hello`, -32700},
	{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600},
	{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, -32600},
	{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, -32600},
}

func (l stdioLink) misspeak(ctx context.Context, c *client) error {
	l.conn.soak.tally.add("malformed", "stdio")
	if c.rng.IntN(50) == 0 {
		return l.conn.refused(ctx, bytes.Repeat([]byte("x"), maxMessage+maxMessage/2), -32600)
	}
	wrong := wrongLines[c.rng.IntN(len(wrongLines))]
	return l.conn.refused(ctx, []byte(wrong.line), wrong.code)
}

//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// initialized is said after the handshake.
const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

func initializeRequest() *request {
	return &request{method: "initialize", params: map[string]any{
		"protocolVersion": legacyVersion, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "soak", "version": "1"},
	}}
}

func checkInitialized(a *answer) error {
	var r struct{ ProtocolVersion, Instructions string }
	if a.Error != nil || json.Unmarshal(a.Result, &r) != nil || r.ProtocolVersion != legacyVersion || r.Instructions == "" {
		return fmt.Errorf("initialize was answered with %s", a)
	}
	return nil
}

func initialize(ctx context.Context, l link) (*answer, error) {
	a, err := l.ask(ctx, initializeRequest())
	if err != nil {
		return nil, err
	}
	return a, checkInitialized(a)
}

// initialize shakes hands.
func (c *stdioConn) initialize(ctx context.Context) error {
	if _, err := initialize(ctx, stdioLink{c, false}); err != nil {
		return err
	}
	return c.write([]byte(initialized))
}

// initialize shakes hands and returns the session.
func (h *httpServer) initialize(ctx context.Context) (httpLink, error) {
	l := httpLink{server: h}
	a, header, err := l.exchange(ctx, initializeRequest())
	if err != nil {
		return l, err
	}
	if err := checkInitialized(a); err != nil {
		return l, err
	}
	if l.session = header.Get("Mcp-Session-Id"); l.session == "" {
		return l, errors.New("initialize began no session")
	}
	status, body, err := h.status(ctx, http.MethodPost, []byte(initialized), l.headers(nil)...)
	if err == nil && status != http.StatusAccepted {
		err = fmt.Errorf("notifications/initialized: status %d: %s", status, body)
	}
	return l, err
}

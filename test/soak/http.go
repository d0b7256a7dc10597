//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// httpServer is a server that is reached over HTTP.
type httpServer struct {
	*process
	url    string
	client *http.Client
}

// startHTTP starts a server and waits until it says where it is.
func (s *soak) startHTTP(name string) (*httpServer, error) {
	p, err := s.start(name, false, s.file, "--insecure-no-auth", "--http", "127.0.0.1:0", s.dir)
	if err != nil {
		return nil, err
	}
	go p.wait()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); pause(s.ctx, 10*time.Millisecond) {
		b, err := os.ReadFile(p.log)
		if err != nil {
			return nil, err
		}
		if _, after, ok := strings.Cut(string(b), "serving MCP at "); ok && strings.Contains(after, ",") {
			url, _, _ := strings.Cut(after, ",")
			transport := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
			return &httpServer{process: p, url: url, client: &http.Client{Transport: transport}}, nil
		}
	}
	return nil, fmt.Errorf("%s is not ready", name)
}

const bothTypes = "application/json, text/event-stream"

// errNoSession is the answer to a request of a session that is not there.
var errNoSession = errors.New("no such session")

// send sends a request with headers, name and value in turn.
func (h *httpServer) send(ctx context.Context, method string, body []byte, headers ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, h.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", bothTypes)
	req.Header.Set("Authorization", "Bearer "+secret) // which counts only where tokens are configured
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return h.client.Do(req)
}

// status sends a request and returns the status and the beginning of the body.
func (h *httpServer) status(ctx context.Context, method string, body []byte, headers ...string) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	resp, err := h.send(ctx, method, body, headers...)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	return resp.StatusCode, b, err
}

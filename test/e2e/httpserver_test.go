package e2e

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// httpServer is a running binary that is talked to over HTTP.
type httpServer struct {
	*program
	scheme  string // http or https
	address string // host and port
	url     string // of the MCP endpoint
	client  *http.Client
}

// startHTTP starts bin, which serves everybody, and waits until it does.
func startHTTP(t *testing.T, bin string, args ...string) *httpServer {
	t.Helper()
	return launchHTTP(t, nil, bin, append([]string{"--insecure-no-auth"}, args...)...)
}

// launchHTTP starts bin with an environment and waits until it serves.
func launchHTTP(t *testing.T, env []string, bin string, args ...string) *httpServer {
	t.Helper()
	argv := append(append([]string{"env"}, env...), bin, "serve", "--http", "127.0.0.1:0")
	s := &httpServer{program: spawn(t, nil, nil, append(argv, args...)...)}
	eventually(t, "the server serves", func() bool {
		select {
		case <-s.exited:
			t.Fatalf("the server ended with %v", s.cmd.ProcessState)
		default:
		}
		_, rest, _ := strings.Cut(s.log(), "serving MCP at ")
		var ok bool
		s.url, _, ok = strings.Cut(rest, ",")
		return ok
	})
	s.scheme, s.address, _ = strings.Cut(strings.TrimSuffix(s.url, "/mcp"), "://")
	transport := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		return &tellingConn{Conn: c}, err
	}
	s.client = &http.Client{Transport: transport, Timeout: 2 * patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(transport.CloseIdleConnections)
	return s
}

// tellingConn tells when a short request is on its way, which httptrace's WroteRequest
// does not: it is called while the request may still be in the client's buffer.
type tellingConn struct {
	net.Conn
	wrote atomic.Pointer[func()] // called after the next write
}

// onWrite returns a context whose request closes wrote when it has been written.
func onWrite(ctx context.Context, wrote chan struct{}) context.Context {
	tell := sync.OnceFunc(func() { close(wrote) }) // a request can be sent again
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		if c, ok := got.Conn.(*tellingConn); ok {
			c.wrote.Store(&tell)
		}
	}})
}

func (c *tellingConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if wrote := c.wrote.Swap(nil); wrote != nil {
		(*wrote)()
	}
	return n, err
}

// httpConfig writes a configuration whose working directory is dir, and returns
// the arguments that name it.
func httpConfig(t *testing.T, dir, yaml string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "toolserver.yaml")
	if err := os.WriteFile(path, fmt.Appendf(nil, "working_directory: %s\n%s\n", dir, yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--config", path}
}

// tokenEntry is the token of somebody who presents secret, as configuration has it.
func tokenEntry(name, secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return fmt.Sprintf("{name: %s, hash: %q}", name, "sha256:"+hex.EncodeToString(sum[:]))
}

// running checks that the process has not ended.
func (s *httpServer) running(t *testing.T) {
	t.Helper()
	select {
	case <-s.exited:
		t.Fatalf("the server ended with %v", s.cmd.ProcessState)
	default:
	}
	if r := s.do(t, "GET", "/livez", "", nil); r.status != http.StatusOK {
		t.Fatalf("/livez: %d", r.status)
	}
}

// appears waits until path is there.
func appears(t *testing.T, path string) {
	t.Helper()
	eventually(t, filepath.Base(path)+" appears", func() bool { _, err := os.Stat(path); return err == nil })
}

// touch makes an empty file.
func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// tool calls a tool once, without a session, and returns the answer, or why there is none.
func (s *httpServer) tool(ctx context.Context, token, name, arguments string) (answer string, err error) {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"io.modelcontextprotocol/protocolVersion":%q,`+
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`, name, arguments, modernVersion)
	req, err := http.NewRequestWithContext(ctx, "POST", s.url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": modernVersion,
		"Mcp-Method": "tools/call", "Mcp-Name": name, "Authorization": "Bearer " + token,
	} {
		req.Header.Set(name, value)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return string(b), err
}

package e2e

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// fixtureBinary is the product with tools that go wrong on purpose.
func fixtureBinary(t *testing.T) string {
	t.Helper()
	path := os.Getenv("FIXTURE")
	if path == "" {
		t.Fatal("FIXTURE does not name the fixture's binary")
	}
	return path
}

// httpServer is a running binary that is talked to over HTTP.
type httpServer struct {
	cmd     *exec.Cmd
	address string // host and port
	url     string // of the MCP endpoint
	client  *http.Client
	log     *logBuffer
	exited  chan struct{} // closed when the process has ended, by err
	err     error
}

// logBuffer is what a process has written to standard error.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.WriteString(line + "\n")
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// startHTTP starts bin, which serves everybody, and waits until it does.
func startHTTP(t *testing.T, bin string, args ...string) *httpServer {
	t.Helper()
	return launchHTTP(t, nil, bin, append([]string{"--insecure-no-auth"}, args...)...)
}

// launchHTTP starts bin with an environment and waits until it serves. At the end
// of the test the process must still be there, unless the test has ended it, and
// must not have recovered from a panic on the way: net/http hides those from
// clients.
func launchHTTP(t *testing.T, env []string, bin string, args ...string) *httpServer {
	t.Helper()
	s := &httpServer{log: &logBuffer{}, exited: make(chan struct{})}
	s.cmd = exec.Command(bin, append([]string{"serve", "--http", "127.0.0.1:0"}, args...)...)
	s.cmd.Dir = "/"
	s.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}, env...)
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			s.log.add(lines.Text())
			if _, rest, ok := strings.Cut(lines.Text(), "serving MCP at "); ok {
				url, _, _ := strings.Cut(rest, ",")
				ready <- url
			}
		}
		s.err = s.cmd.Wait()
		close(s.exited)
	}()
	t.Cleanup(func() {
		s.cmd.Process.Kill()
		<-s.exited
		for _, sign := range []string{"http: panic", "\npanic: ", "fatal error: ", "DATA RACE"} {
			if strings.Contains(s.log.String(), sign) {
				t.Errorf("the server broke:\n%s", s.log)
			}
		}
	})
	select {
	case s.url = <-ready:
	case <-s.exited:
		t.Fatalf("the server ended: %v\n%s", s.err, s.log)
	case <-time.After(patience):
		t.Fatal("the server does not start")
	}
	s.address = strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/mcp")
	transport := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
	s.client = &http.Client{Transport: transport, Timeout: 2 * patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(transport.CloseIdleConnections)
	return s
}

// patience is how long a test waits for what should come at once: long enough
// for a machine that has much else to do.
const patience = 60 * time.Second

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
		t.Fatalf("the server ended: %v\n%s", s.err, s.log)
	default:
	}
	if r := s.do(t, "GET", "/livez", "", nil); r.status != http.StatusOK {
		t.Fatalf("/livez: %d", r.status)
	}
}

// ended waits for the end of the process.
func (s *httpServer) ended(t *testing.T, limit time.Duration) {
	t.Helper()
	select {
	case <-s.exited:
	case <-time.After(limit):
		t.Fatalf("the server is still there after %v\n%s", limit, s.log)
	}
}

// appears waits until path is there.
func appears(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not appear", filepath.Base(path))
		}
	}
}

// touch makes an empty file.
func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

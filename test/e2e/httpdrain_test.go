package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// subscribe is the message of the modern era's stream of changes.
func (p *peer) subscribe(t *testing.T) *stream {
	t.Helper()
	s := p.listen(t, "POST", p.message(`"sub"`, "subscriptions/listen", `"notifications":{"toolsListChanged":true}`, ""))
	if ack, _ := s.next("data: "); !strings.Contains(ack, "notifications/subscriptions/acknowledged") {
		t.Fatalf("the subscription begins with %q", ack)
	}
	return s
}

// TestHTTPDrain ends the server while streams are open and calls under way:
// the streams end, the calls are answered, whoever asks for more is told, and
// the process ends as soon as the last call has.
func TestHTTPDrain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startHTTP(t, binary(), httpConfig(t, dir, "server: {grace: 60s}")...)
	legacy, modern := s.newPeer(t, "2025-11-25", ""), s.newPeer(t, modernVersion, "")
	changes, subscription := legacy.listen(t, "GET", ""), modern.subscribe(t)
	marker := fmt.Sprintf("840%05d", os.Getpid()%100000)
	var calls []<-chan reply
	for i, p := range []*peer{legacy, modern} {
		name := fmt.Sprintf("call%d", i)
		calls = append(calls, p.send(t.Context(), p.callMessage("7", "bash", gate(name, marker), `"token"`)))
		appears(t, dir+"/"+name+".begun")
	}
	for _, path := range []string{"/livez", "/readyz"} {
		if r := s.do(t, "GET", path, "", nil); r.status != http.StatusOK || r.body != "ok\n" {
			t.Errorf("%s: %d %q", path, r.status, r.body)
		}
	}
	waiting := s.dial(t)
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if line, more := changes.next("data:"); more {
		t.Errorf("the stream of changes has %s", line)
	}
	var end struct {
		ID     string
		Result struct{ ResultType string }
	}
	last, _ := subscription.next("data: ")
	if err := json.Unmarshal([]byte(last), &end); err != nil || end.ID != "sub" || end.Result.ResultType != "complete" {
		t.Errorf("the subscription ends with %q", last)
	}
	if line, more := subscription.next("data:"); more {
		t.Errorf("after its end the subscription has %s", line)
	}
	// New connections are not taken any more. One that was open already is told,
	// or closed.
	fmt.Fprint(waiting, "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	if b, _ := io.ReadAll(waiting); len(b) > 0 && !strings.HasPrefix(string(b), "HTTP/1.1 503 ") {
		t.Errorf("/readyz while the server stops: %q", b)
	}
	select {
	case <-s.exited:
		t.Fatal("the server did not wait for its calls")
	default:
	}
	for i, call := range calls {
		touch(t, fmt.Sprintf("%s/call%d.go", dir, i))
		if last := (<-call).last(); !strings.Contains(last, `"id":7`) || !strings.Contains(last, fmt.Sprintf("call%d done", i)) {
			t.Errorf("call %d ended with %q", i, last)
		}
	}
	s.succeeded()
	gone(t, marker)
}

// TestHTTPGrace ends the server while calls are under way that do not end,
// and clients that do not read: the grace bounds them all.
func TestHTTPGrace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startHTTP(t, binary(), httpConfig(t, dir, "server: {grace: 1s}\nlimits: {max_result_chars: 10000000}")...)
	marker := fmt.Sprintf("850%05d", os.Getpid()%100000)
	var calls []<-chan reply
	for i, version := range []string{"2025-11-25", modernVersion} {
		p := s.newPeer(t, version, "")
		calls = append(calls, p.send(t.Context(), p.callMessage("7", "bash", gate(fmt.Sprintf("call%d", i), marker), `"token"`)))
		p.listenOrSubscribe(t)
		if r := p.call(t, "bash", map[string]any{"command": "sleep 1000." + marker, "background": true}); r.Error != nil || r.Result.IsError {
			t.Errorf("no job: %s", r.text())
		}
		appears(t, fmt.Sprintf("%s/call%d.begun", dir, i))
	}
	deaf := s.dial(t)
	if err := deaf.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	p := s.newPeer(t, "2025-11-25", "")
	msg := p.callMessage("1", "echo", map[string]any{"message": strings.Repeat("x", 9<<20)}, "")
	fmt.Fprintf(deaf, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMcp-Session-Id: %s\r\nContent-Length: %d\r\n\r\n%s", p.session, len(msg), msg)
	if _, err := bufio.NewReaderSize(deaf, 16).Peek(1); err != nil { // the answer is there, and goes no further
		t.Fatal(err)
	}
	start := time.Now()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// A second of grace, three for what is left to end its processes, and some
	// for a loaded machine.
	s.succeeded()
	t.Logf("ended after %v", time.Since(start).Round(10*time.Millisecond))
	gone(t, marker)
	for _, call := range calls {
		<-call
	}
}

// listenOrSubscribe opens the stream of the peer's era.
func (p *peer) listenOrSubscribe(t *testing.T) *stream {
	t.Helper()
	if p.modern {
		return p.subscribe(t)
	}
	return p.listen(t, "GET", "")
}

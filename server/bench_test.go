package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
)

// BenchmarkStdioEcho makes calls one after the other, and many at once.
func BenchmarkStdioEcho(b *testing.B) {
	for _, at := range []int{1, 64} {
		b.Run(fmt.Sprintf("%d in flight", at), func(b *testing.B) {
			s, _ := fixture(b)
			in, toServer := io.Pipe()
			fromServer, out := io.Pipe()
			done := make(chan error, 1)
			go func() { done <- s.ServeStdio(b.Context(), local, in, out) }()
			var batch strings.Builder
			for id := range at {
				batch.WriteString(request(fmt.Sprint(id), "tools/call", `{"name":"echo","arguments":{"text":"hello"}}`, false) + "\n")
			}
			answers := bufio.NewReader(fromServer)
			b.ReportAllocs()
			for b.Loop() {
				go io.WriteString(toServer, batch.String())
				for range at {
					if _, err := answers.ReadSlice('\n'); err != nil {
						b.Fatal(err)
					}
				}
			}
			toServer.Close()
			go io.Copy(io.Discard, fromServer)
			<-done
		})
	}
}

// BenchmarkHTTPEcho makes calls without the network, and without net/http's
// part of it.
func BenchmarkHTTPEcho(b *testing.B) {
	for _, modern := range []bool{false, true} {
		b.Run(fmt.Sprintf("modern %v", modern), func(b *testing.B) {
			s, _ := fixture(b)
			ts := s.Handler(b.Context(), HTTPOptions{Path: "/mcp", SessionTTL: 1 << 40, MaxSessions: 10, Authenticator: everybody{}}).(*httpHandler)
			send := func(msg string, header http.Header) *httptest.ResponseRecorder {
				r := httptest.NewRequest("POST", "http://localhost/mcp", strings.NewReader(msg))
				r.Header = header
				w := httptest.NewRecorder()
				ts.ServeHTTP(w, r)
				return w
			}
			header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
			if modern {
				header["Mcp-Protocol-Version"], header["Mcp-Method"], header["Mcp-Name"] = []string{"2026-07-28"}, []string{"tools/call"}, []string{"echo"}
			} else {
				header[http.CanonicalHeaderKey(sessionHeader)] = []string{send(initialize("2025-11-25"), header).Header().Get(sessionHeader)}
			}
			msg := request(`1`, "tools/call", `{"name":"echo","arguments":{"text":"hello"}}`, modern)
			b.ReportAllocs()
			for b.Loop() {
				if w := send(msg, header); w.Code != http.StatusOK {
					b.Fatal(w.Body)
				}
			}
		})
	}
}

// BenchmarkTasks compares calls of clients that take tasks with those of others, and with calls that become
// one. What there is of HTTP is as in BenchmarkHTTPEcho.
func BenchmarkTasks(b *testing.B) {
	state := b.TempDir()
	for name, msg := range map[string]string{
		"takes none":  request(`1`, "tools/call", `{"name":"echo","arguments":{"text":"hello"}}`, true),
		"takes them":  taking(request(`1`, "tools/call", `{"name":"echo","arguments":{"text":"hello"}}`, true)),
		"becomes one": taking(request(`1`, "tools/call", `{"name":"background","arguments":{}}`, true)),
	} {
		b.Run(name, func(b *testing.B) {
			s, _ := fixture(b)
			add(s, detaching(nil))
			s.tasks.store.Directory = func() (*os.Root, error) { return os.OpenRoot(state) }
			h := s.Handler(b.Context(), HTTPOptions{Path: "/mcp", SessionTTL: 1 << 40, MaxSessions: 10, Authenticator: everybody{}})
			tool := "echo"
			if name == "becomes one" {
				tool = "background"
			}
			header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
				"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {tool}}
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest("POST", "http://localhost/mcp", strings.NewReader(msg))
				r.Header = header
				w := httptest.NewRecorder()
				if h.ServeHTTP(w, r); w.Code != http.StatusOK {
					b.Fatal(w.Body)
				}
			}
			s.tasks.finish(time.Minute)
		})
	}
}

// taking returns a request of a client that takes tasks.
func taking(msg string) string {
	return strings.Replace(msg, `clientCapabilities":{`, `clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}`, 1)
}

// detaching is a tool that becomes a task at once, and does work then.
func detaching(work func(context.Context) (domain.ToolResult, error)) domain.Tool {
	return domain.Define(domain.Tool{Name: "background", Title: "Background", Description: "Becomes a task."}, func(ctx context.Context, _ struct{}) (domain.ToolResult, error) {
		call.Detach(ctx, "works")
		if work == nil {
			return domain.Text("done"), nil
		}
		return work(ctx)
	})
}

// BenchmarkStdioPing tells how long a ping takes that was sent behind many calls, and
// how many of them were started before it was answered.
func BenchmarkStdioPing(b *testing.B) {
	var begun int64
	for b.Loop() {
		begun += startsBehind(b, 400)
	}
	b.ReportMetric(float64(begun)/float64(b.N), "starts/ping")
}

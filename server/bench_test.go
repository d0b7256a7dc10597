package server

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
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

// BenchmarkStdioPing tells how long a ping takes that was sent behind many calls, and
// how many of them were started before it was answered.
func BenchmarkStdioPing(b *testing.B) {
	var begun int64
	for b.Loop() {
		begun += startsBehind(b, 400)
	}
	b.ReportMetric(float64(begun)/float64(b.N), "starts/ping")
}

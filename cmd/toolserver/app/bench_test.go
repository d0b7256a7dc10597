package app

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/toolserver/toolserver/cmd/toolserver/logging"
	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/server"
)

func BenchmarkBuild(b *testing.B) {
	b.Chdir(b.TempDir())
	b.ReportAllocs()
	for b.Loop() {
		cfg, err := config.Load(config.Overrides{})
		if err != nil {
			b.Fatal(err)
		}
		a, err := New(Program{}, cfg, zap.NewNop())
		if err != nil {
			b.Fatal(err)
		}
		a.Close()
	}
}

// served returns the product, put together as serve does it, with its log on.
func served(b testing.TB) *serving {
	b.Helper()
	b.Chdir(b.TempDir())
	b.Setenv("XDG_STATE_HOME", b.TempDir()) // of the record
	cfg, err := config.Load(config.Overrides{})
	if err != nil {
		b.Fatal(err)
	}
	file, err := os.Create("log") // written as standard error is, without another goroutine
	if err != nil {
		b.Fatal(err)
	}
	log, err := logging.New(cfg.Logging, file)
	if err != nil {
		b.Fatal(err)
	}
	a, err := New(Program{}, cfg, log.Logger)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		a.Close()
		log.Close()
		file.Close()
	})
	return a.serves(ServeOptions{})
}

// repeated is the same line, as often as it is asked for, but for its id: two
// of the same cannot be under way.
type repeated struct {
	line     []byte
	at, left int
}

func (r *repeated) Read(p []byte) (n int, err error) {
	for r.left > 0 && n < len(p) {
		copied := copy(p[n:], r.line[r.at:])
		n += copied
		if r.at += copied; r.at == len(r.line) {
			r.at, r.left = 0, r.left-1
			copy(r.line[idAt:], fmt.Sprintf("%06d", 100_000+r.left%800_000))
		}
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// idAt is where the id of a line stands, and has six digits.
var idAt = len(`{"jsonrpc":"2.0","id":`)

const modernMeta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}`

func echoCall(size int, meta string) string {
	text := strings.Repeat("hello, world! \\\"", size/15+1)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":100000,"method":"tools/call","params":{"name":"echo","arguments":{"message":"%s"}%s}}`, text, meta)
}

// BenchmarkStdio calls echo with everything on: limits, validation, log.
func BenchmarkStdio(b *testing.B) {
	for _, size := range []int{5, 4 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("echo %d", size), func(b *testing.B) {
			a := served(b)
			msg := echoCall(size, "") + "\n"
			b.SetBytes(int64(len(msg)))
			b.ReportAllocs()
			b.ResetTimer()
			in := &repeated{line: []byte(msg), left: b.N}
			if err := a.server.ServeStdio(b.Context(), a.User, in, io.Discard); err != nil {
				b.Fatal(err)
			}
		})
	}
	b.Run("list", func(b *testing.B) {
		a := served(b)
		b.ReportAllocs()
		b.ResetTimer()
		in := &repeated{line: []byte(`{"jsonrpc":"2.0","id":100000,"method":"tools/list"}` + "\n"), left: b.N}
		if err := a.server.ServeStdio(b.Context(), a.User, in, io.Discard); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkHTTP does the same over HTTP, sockets aside.
func BenchmarkHTTP(b *testing.B) {
	for _, modern := range []bool{false, true} {
		b.Run(fmt.Sprintf("echo, modern %v", modern), func(b *testing.B) {
			a := served(b)
			h := a.server.Handler(b.Context(), server.HTTPOptions{
				Path: "/mcp", SessionTTL: 1 << 40, MaxSessions: 10, Authenticator: newAuthenticator(a.App, true),
			})
			header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
			meta := ""
			if modern {
				meta = modernMeta
				header["Mcp-Protocol-Version"], header["Mcp-Method"], header["Mcp-Name"] = []string{"2026-07-28"}, []string{"tools/call"}, []string{"echo"}
			} else {
				r := httptest.NewRequest("POST", "http://localhost/mcp", strings.NewReader(
					`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`))
				r.Header = header
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				header["Mcp-Session-Id"] = w.Header()["Mcp-Session-Id"]
			}
			msg := echoCall(5, meta)
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest("POST", "http://localhost/mcp", strings.NewReader(msg))
				r.Header = header
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if w.Code != http.StatusOK {
					b.Fatal(w.Code, w.Body)
				}
			}
		})
	}
}

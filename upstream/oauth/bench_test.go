package oauth

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/toolserver/toolserver/outbound/signin"
	"github.com/toolserver/toolserver/sandbox"
)

// nothing answers at once.
type nothing struct{}

func (nothing) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}, nil
}

// BenchmarkTransport is what a token adds to a request.
func BenchmarkTransport(b *testing.B) {
	for name, bound := range map[string]bool{"bearer": false, "bound": true} {
		b.Run(name, func(b *testing.B) {
			c, err := New(Config{Upstream: "notes", URL: "https://m.example/mcp", HTTP: nothing{}, State: sandbox.NewState(filepath.Join(b.TempDir(), "state"), "upstream")})
			if err != nil {
				b.Fatal(err)
			}
			g := &grant{Upstream: "notes", Resource: "https://m.example/mcp", Issuer: "https://as.example", Grant: signin.Grant{Access: "token", Refreshed: time.Now()}}
			if bound {
				if g.binding, err = newBinding(); err != nil {
					b.Fatal(err)
				}
				g.Key = g.binding.kept
			}
			if err := c.grants.Save(string(everyone), g); err != nil {
				b.Fatal(err)
			}
			transport := c.Transport("")
			req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "https://m.example/mcp", http.NoBody)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := transport.RoundTrip(req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

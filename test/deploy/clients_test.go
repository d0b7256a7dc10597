package deploy

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// bearer adds a token to requests.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// An endpoint is where clients connect to.
type endpoint struct {
	url       string
	transport http.RoundTripper
}

// connect has the official SDK connect with a token and a version of the protocol.
func (e *endpoint) connect(token, version string) (*mcp.ClientSession, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "deploy", Version: "1"}, nil)
	transport := &mcp.StreamableClientTransport{Endpoint: e.url, HTTPClient: &http.Client{Transport: bearer{token, e.transport}}}
	return client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
}

// call calls a tool and returns the text of its result.
func call(session *mcp.ClientSession, tool string, args map[string]any) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "error: " + err.Error()
	}
	var b strings.Builder
	for _, c := range result.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String()
}

// token makes one and returns it with its entry in the configuration.
func token(t *testing.T, program, name string) (token, entry string) {
	t.Helper()
	out, err := exec.Command(program, "token", "new", name, "--print").Output()
	must(t, err)
	found := regexp.MustCompile(`(?s)token: (\S+)\n.*hash: (\S+)\n`).FindSubmatch(out)
	if found == nil {
		t.Fatalf("token new: %s", out)
	}
	return string(found[1]), fmt.Sprintf("    - {name: %s, hash: %q}\n", name, found[2])
}

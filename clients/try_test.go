package clients_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/clients"
)

// TestMain lets the test binary be a server.
func TestMain(m *testing.M) {
	if kind := os.Getenv("TEST_SERVER"); kind != "" {
		serve(kind)
		return
	}
	os.Exit(m.Run())
}

// serve answers what an installer asks, with a tool for each variable that clients do not pass on.
func serve(kind string) {
	if kind == "broken" {
		fmt.Fprintln(os.Stderr, "no working directory")
		os.Exit(2)
	}
	directory, _ := os.Getwd()
	tools := []string{"dir:" + directory, "key:" + os.Getenv("KEY"), "secret:" + os.Getenv("NOT_PASSED_ON")}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var request struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal(in.Bytes(), &request)
		result := `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`
		if request.Method == "tools/list" {
			var all []string
			for _, name := range tools {
				if _, value, _ := strings.Cut(name, ":"); value == "/" || value == "k" {
					all = append(all, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name))
				}
			}
			result = `{"tools":[` + strings.Join(all, ",") + `]}`
		}
		if request.ID != nil {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", request.ID, result)
		}
	}
}

// TestTry starts what an entry starts: in the root directory, with the variables of the entry and no
// others.
func TestTry(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("NOT_PASSED_ON", "k")
	t.Setenv("KEY", "k")
	for _, name := range []string{"cursor", "codex", "goose", "opencode"} {
		s := mustSite(t, client(t, name), "")
		if _, err := s.Try(t.Context(), "toolserver", "1"); !errors.Is(err, clients.ErrNotInstalled) {
			t.Errorf("%s: %v", name, err)
		}
		one := server(self)
		one.Env = []clients.Variable{{Name: "KEY"}, {Name: "TEST_SERVER", Value: "works", Given: true}}
		mustInstall(t, s, one)
		want := 2
		if os.PathSeparator != '/' {
			want = 1
		}
		if tools, err := s.Try(t.Context(), "toolserver", "1"); err != nil || tools != want {
			t.Errorf("%s: %d, %v", name, tools, err)
		}
		one.Env[1].Value = "broken"
		mustInstall(t, s, one)
		if _, err := s.Try(t.Context(), "toolserver", "1"); err == nil || !strings.Contains(err.Error(), "it wrote: no working directory") {
			t.Errorf("%s: %v", name, err)
		}
		one.Command = self + "-gone"
		mustInstall(t, s, one)
		if _, err := s.Try(t.Context(), "toolserver", "1"); err == nil || !strings.Contains(err.Error(), "-gone") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTryDisabled does not start what the client would not start.
func TestTryDisabled(t *testing.T) {
	for _, tt := range []struct{ client, text, want string }{
		{"cline", `{"mcpServers": {"toolserver": {"command": "/x", "disabled": true}}}`, "is disabled in"},
		{"opencode", `{"mcp": {"toolserver": {"type": "local", "command": ["/x"], "enabled": false}}}`, "is disabled in"},
		{"opencode", `{"mcp": {"toolserver": {"type": "local", "command": "/x"}}}`, "does not understand"},
		{"cursor", `{"mcpServers": {"toolserver": {"cmd": "/x"}}}`, "does not understand"},
		{"cursor", `{"mcpServers": {"toolserver": {"serverUrl": "https://x"}}}`, "does not understand"},
		{"cursor", `{"mcpServers": {"toolserver": {"command": ["/x"]}}}`, "does not understand"},
		{"cursor", `{"mcpServers": {"toolserver": "x"}}`, "does not understand"},
	} {
		s := mustSite(t, client(t, tt.client), tt.text)
		if _, err := s.Try(t.Context(), "toolserver", "1"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %s", tt.text, err, tt.want)
		}
	}
}

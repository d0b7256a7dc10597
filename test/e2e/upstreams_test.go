package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/test/fakes/covered"
)

// upstreamBinary is a server that breaks rules.
func upstreamBinary(t *testing.T) string {
	t.Helper()
	return named(t, "UPSTREAM")
}

// entry is an entry of mcp_servers: a program, its arguments, and other settings,
// each with a comma before it.
func entry(name, settings, program string, args ...string) string {
	argv, err := json.Marshal(append([]string{program}, args...))
	if err != nil {
		panic(err) // strings are JSON
	}
	return fmt.Sprintf("  %s: {command: %s%s}\n", name, argv, settings)
}

// gateway is a configuration with these upstreams, of which every tool is listed.
func gateway(entries ...string) string {
	return "discovery: all\nmcp_servers:\n" + strings.Join(entries, "")
}

// gatewayServer is a toolserver over stdio that has a configuration and a state of its
// own.
type gatewayServer struct {
	*toolClient
	config, dir, state string
}

// openGateway starts a server and does not wait for its upstreams.
func openGateway(t *testing.T, config string, env ...string) *gatewayServer {
	t.Helper()
	file, dir := configured(t, config)
	return reopenGateway(t, &gatewayServer{config: file, dir: dir, state: t.TempDir()}, env...)
}

// reopenGateway starts another server with the configuration and state of one.
func reopenGateway(t *testing.T, like *gatewayServer, env ...string) *gatewayServer {
	t.Helper()
	argv := append([]string{"env", "XDG_STATE_HOME=" + like.state, "XDG_CACHE_HOME=" + like.state}, env...)
	s := &gatewayServer{config: like.config, dir: like.dir, state: like.state}
	s.toolClient = connect(t, append(argv, binary(), "serve", "--stdio", "--config", s.config)...)
	return s
}

// listed is a tool as it is listed.
type listed struct {
	Name, Description         string
	InputSchema, OutputSchema json.RawMessage
}

// tools returns the tools of all pages.
func (s *gatewayServer) tools() (all []listed) {
	s.t.Helper()
	params := map[string]any{}
	for {
		var page struct {
			Tools      []listed
			NextCursor string
		}
		must(s.t, json.Unmarshal(s.request("tools/list", params), &page))
		if all = append(all, page.Tools...); page.NextCursor == "" {
			return all
		}
		params["cursor"] = page.NextCursor
	}
}

// names returns those of the tools that begin with a prefix.
func (s *gatewayServer) names(prefix string) (all []string) {
	s.t.Helper()
	for _, tool := range s.tools() {
		if strings.HasPrefix(tool.Name, prefix) {
			all = append(all, tool.Name)
		}
	}
	return all
}

// awaits waits until a tool is listed.
func (s *gatewayServer) awaits(name string) {
	s.t.Helper()
	eventually(s.t, name+" is listed", func() bool { return slices.Contains(s.names(name), name) })
}

// says checks the text that a call returns.
func (s *gatewayServer) says(tool string, args any, want string) {
	s.t.Helper()
	if a := s.call(tool, args); a.failed() || a.text() != want {
		s.t.Errorf("%s says %.300q, error %+v; want %q", tool, a.text(), a.Error, want)
	}
}

// works checks that an upstream serves.
func (s *gatewayServer) works(upstream string) {
	s.t.Helper()
	s.says(upstream+"__echo", map[string]any{"message": "é " + upstream}, "é "+upstream)
}

// recovers waits until an upstream serves.
func (s *gatewayServer) recovers(upstream string) {
	s.t.Helper()
	eventually(s.t, upstream+" serves", func() bool {
		a := s.call(upstream+"__echo", map[string]any{"message": "back"})
		return !a.failed() && a.text() == "back"
	})
}

// refused calls a tool, which must fail with words in what it says.
func (s *gatewayServer) refused(tool string, args any, words ...string) {
	s.t.Helper()
	a := s.call(tool, args)
	said, _ := json.Marshal(a)
	for _, word := range words {
		if !a.failed() || !strings.Contains(string(said), word) {
			s.t.Errorf("%s %v: %s; want an error with %q", tool, args, said, word)
		}
	}
}

// status returns what the server says about its upstreams.
func (s *gatewayServer) upstreams() string {
	s.t.Helper()
	var r struct{ Contents []struct{ Text string } }
	must(s.t, json.Unmarshal(s.request("resources/read", map[string]any{"uri": "status://upstreams"}), &r))
	if len(r.Contents) == 0 {
		s.t.Fatal("status://upstreams is empty")
	}
	return r.Contents[0].Text
}

// run runs a command of the server with the same configuration and state.
func (s *gatewayServer) run(args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), binary(), args...)
	cmd.Env = append(covered.Env(), "PATH="+os.Getenv("PATH"), "HOME=/nonexistent", "TOOLSERVER_CONFIG="+s.config, "XDG_STATE_HOME="+s.state, "XDG_CACHE_HOME="+s.state)
	out, _ := cmd.CombinedOutput() // some fail on purpose
	return string(out)
}

// starts returns how often a program has noted its start in a file.
func starts(t *testing.T, file string) int {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Count(string(b), "\n")
}

// descriptors returns how many files a process has open.
func descriptors(t *testing.T, pid int) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	must(t, err)
	return len(entries)
}

// remote is an upstream over HTTP.
type remote struct {
	*program
	url string
}

// startRemote starts an upstream over HTTP and waits for its URL.
func startRemote(t *testing.T, args ...string) remote {
	t.Helper()
	out, err := os.CreateTemp(t.TempDir(), "stdout")
	must(t, err)
	r := remote{program: spawn(t, out, nil, append([]string{upstreamBinary(t), "--http", "127.0.0.1:0"}, args...)...)}
	eventually(t, "the upstream prints its URL", func() bool {
		b, err := os.ReadFile(out.Name())
		must(t, err)
		line, _, ended := strings.Cut(string(b), "\n")
		r.url = line
		return ended
	})
	return r
}

// entry is an entry of mcp_servers.
func (r remote) entry(name, settings string) string {
	return fmt.Sprintf("  %s: {url: %q%s}\n", name, r.url, settings)
}

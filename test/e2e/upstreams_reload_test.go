package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestUpstreamsReload adds, changes and removes upstreams while calls of another run:
// its process and its calls are left alone.
func TestUpstreamsReload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	stays := entry("stays", "", upstreamBinary(t), "--starts", file("stays"))
	changes := func(name string) string {
		return entry("changes", "", upstreamBinary(t), "--starts", file("changes"), "--name", name)
	}
	goes := entry("goes", "", upstreamBinary(t), "--starts", file("goes"))
	comes := entry("comes", "", upstreamBinary(t), "--starts", file("comes"))
	s := openGateway(t, gateway(stays, changes("old"), goes))
	for _, name := range []string{"stays", "changes", "goes"} {
		s.awaits(name + "__hold")
	}
	about := s.call("stays__about", nil).text()
	held := t.TempDir()
	waiting := s.begin("stays__hold", map[string]any{"at": held})
	noted(t, held, "begun", 1)
	reconfigure(t, s.config, gateway(stays, changes("new"), comes))
	s.awaits("comes__echo")
	eventually(t, "the changed one is new", func() bool { return strings.HasPrefix(s.call("changes__about", nil).text(), "new ") })
	eventually(t, "the removed one is gone", func() bool { return len(s.names("goes__")) == 0 })
	s.refused("goes__echo", map[string]any{"message": "x"}, "goes__echo")
	if s.works("stays"); starts(t, file("stays")) != 1 {
		t.Errorf("the one that stays was started %d times", starts(t, file("stays")))
	}
	touch(t, filepath.Join(held, "go"))
	if a := s.finish(waiting); a.text() != "held" {
		t.Errorf("the call in flight: %+v", a)
	}
	// What only changes the policy does not start an upstream anew.
	reconfigure(t, s.config, gateway(stays, changes("new"), comes)+"tools: {stays__echo: {enabled: false}, stays__about: {rename: stays_renamed, description: Described.}}\n")
	eventually(t, "the tool is disabled", func() bool { return !slices.Contains(s.names("stays__"), "stays__echo") })
	s.says("stays_renamed", nil, about)
	if starts(t, file("stays")) != 1 || starts(t, file("changes")) != 2 {
		t.Errorf("what stays was started %d times, what changed once %d times", starts(t, file("stays")), starts(t, file("changes")))
	}
}

// TestUpstreamsInvalidReload replaces the configuration by ones that are not valid:
// nothing changes.
func TestUpstreamsInvalidReload(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "starts")
	config := gateway(entry("u", "", upstreamBinary(t), "--starts", file))
	s := openGateway(t, config)
	s.awaits("u__echo")
	before := s.names("")
	for _, bad := range []string{
		"mcp_servers: {u: {}}\n", "mcp_servers: {u: {command: x, url: 'http://example.com/mcp'}}\n", "mcp_servers: {'u v': {command: x}}\n",
		config + "  v: {command: x, timeout: soon}\n", config + "  v: {command: x, colour: red}\n", config + "  v: {url: 'ftp://example.com'}\n", config + "  v: [\n",
		config + "  v: {command: x, transport: pigeon}\n", config + "  v: {command: x, compliance_level: Unheard}\n", config + "  v: {command: x, pin: glue}\n",
	} {
		failures := func() int { return strings.Count(s.log(), "the configuration is wrong") }
		seen := failures()
		reconfigure(t, s.config, bad)
		eventually(t, "the file is refused:\n"+bad, func() bool { return failures() > seen })
		if after := s.names(""); !slices.Equal(after, before) || starts(t, file) != 1 {
			t.Errorf("%s changes the tools from %d to %d, %d starts", bad, len(before), len(after), starts(t, file))
		}
		s.works("u")
	}
	reconfigure(t, s.config, config+"  w: {command: ["+fmt.Sprintf("%q", upstreamBinary(t))+"]}\n")
	s.awaits("w__echo")
}

// TestUpstreamsManyReloads reloads the configuration again and again while calls run.
func TestUpstreamsManyReloads(t *testing.T) {
	t.Parallel()
	program := own(t, upstreamBinary(t))
	stays := entry("stays", "", program)
	s := openGateway(t, gateway(stays))
	s.awaits("stays__echo")
	for round := range 15 {
		call := s.begin("stays__large", map[string]any{"bytes": 30000})
		other := fmt.Sprintf("other_%d", round)
		reconfigure(t, s.config, gateway(stays, entry(other, "", program)))
		s.awaits(other + "__echo")
		s.works(other)
		if a := s.finish(call); a.failed() {
			t.Errorf("round %d: %+v", round, a)
		}
		s.works("stays")
	}
	eventually(t, "two upstreams are left", func() bool { return len(running(t, program)) == 2 })
}

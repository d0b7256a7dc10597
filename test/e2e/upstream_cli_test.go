package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/test/fakes/covered"
)

// shell is where commands of the program run that share a configuration and a state.
type shell struct {
	t      *testing.T
	config string
	state  string
}

func newShell(t *testing.T, config string) *shell {
	t.Helper()
	file, _ := configured(t, config)
	return &shell{t, file, t.TempDir()}
}

// run runs a command and returns what it writes, and its exit code.
func (s *shell) run(args ...string) (out string, code int) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), binary(), args...)
	cmd.Env = append(covered.Env(), "PATH="+os.Getenv("PATH"), "HOME="+s.state, "TOOLSERVER_CONFIG="+s.config, "XDG_STATE_HOME="+s.state, "XDG_CACHE_HOME="+s.state)
	b, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(b), exit.ExitCode()
	}
	must(s.t, err)
	return string(b), 0
}

// prints checks what a command writes, and its exit code. An argument that is ” is empty.
func (s *shell) prints(command string, code int, want ...string) {
	s.t.Helper()
	args := strings.Fields(command)
	for i, arg := range args {
		args[i] = strings.TrimPrefix(arg, "''")
	}
	out, got := s.run(args...)
	for _, part := range want {
		without, absent := strings.CutPrefix(part, "!")
		if got != code || strings.Contains(out, without) == absent {
			s.t.Errorf("%s: exit code %d\n%s\nwant %d and %q", command, got, out, code, part)
		}
	}
}

// TestUpstreamCommands shows servers that work, fail and are not used to the operator, and
// calls a tool without starting others.
func TestUpstreamCommands(t *testing.T) {
	t.Parallel()
	dir, fake := t.TempDir(), upstreamBinary(t)
	begun := func(name string) string { return filepath.Join(dir, name) }
	s := newShell(t, gateway(
		entry("u", ", inherit_env: [NOT_SET_HERE], tools: {deny: [about]}", fake, "--starts", begun("u")),
		entry("other", ", groups: [elsewhere]", fake, "--starts", begun("other")),
		entry("odd", "", fake, "--offer", "duplicates", "--starts", begun("odd")),
		entry("crashing", ", timeout: 30s", fake, "--start", "crash"),
		entry("hanging", ", timeout: 300ms", fake, "--start", "hang"),
		entry("off", ", enabled: false", fake),
	))
	// A built-in tool and completion start none.
	s.prints("call echo --message hi", 0, "Echo: hi")
	s.prints("__complete upstream ping ''", 0, "hanging\n", "odd\n")
	s.prints("__complete call ''", 0, "read_file", "!u__echo")
	// A tool starts those that may have it.
	s.prints("call u__echo --message one", 0, "one\n")
	s.prints("u echo --message two", 0, "two\n")
	s.prints("call u_echo --message three", 0, "three\n")
	s.prints("explain u__echo --message x", 0, "everyone may call it", "server u runs outside the sandbox")
	s.prints("call u__none", 2, `no tool "u__none"`)
	s.prints("call other__echo --message x", 2, "!outside", "other__echo")
	s.prints("call crashing__x", 2, "server crashing is unavailable: its program ended with exit status 3")
	s.prints("nosuch echo", 2, `unknown command "nosuch"`)
	s.prints("u", 0, "usage: toolserver u TOOL", "echo")
	if n := starts(t, begun("odd")); n != 0 {
		t.Errorf("odd was started %d times", n)
	}
	// What is known is not asked for again.
	known := starts(t, begun("u"))
	s.prints("tools", 0, "u__echo", "odd__single", "!other__echo")
	s.prints("tools --all", 0, "other__echo", "u__about", "mcp_servers.u.tools.deny", "server crashing: its program ended")
	s.prints("__complete call u__e", 0, "u__echo")
	s.prints("explain u__echo --message x", 0, "everyone")
	s.prints("tools --for table.csv", 1, "no tool")
	if n := starts(t, begun("u")); n != known {
		t.Errorf("u was started %d times; want %d", n, known)
	}
	s.prints("call mcp_exec --server u --tool echo --args {\"message\":\"nested\"}", 0, "nested\n")

	s.prints("upstream list", 0, "u         stdio      ready", "off       stdio      disabled", "upstream 1.0", "crashing: its program ended with exit status 3", "odd__double is left out")
	s.prints("upstream ping u", 0, "u ok: protocol 2026-07-28, ready after")
	s.prints("upstream ping u hanging", 1, "u ok:", "hanging failed: ")
	s.prints("upstream ping off", 2, "mcp_servers.off is not enabled")
	s.prints("upstream ping nothing", 2, `no server "nothing"`, "known: crashing, hanging")
	s.prints("upstream tools u", 0, "u__echo", "tool u__about is left out by mcp_servers.u.tools.deny", "!odd__")
	s.prints("upstream tools crashing", 1, "server crashing is unavailable")
	s.prints("upstream logs crashing", 1, "logging.file is not configured", "cannot open the database", "ended with exit status 3")
	s.prints("check", 1, "ok   server         u: ready, protocol 2026-07-28", "fail server         crashing: ", "fail server         hanging: ", "off is disabled",
		"mcp_servers.u.inherit_env: NOT_SET_HERE is not set", "u__about (source mcp_servers.u): is left out by mcp_servers.u.tools.deny")

	out, code := s.run("upstream", "list", "--json")
	var all []struct {
		Name, Status, Reason string
		Tools                int
		Server               struct{ Version string }
		LeftOut              []struct{ Name, Reason string } `json:"left_out"`
	}
	must(t, json.Unmarshal([]byte(out), &all))
	if code != 0 || len(all) != 6 || all[5].Name != "u" || all[5].Server.Version != "1.0" || all[5].Tools == 0 || len(all[5].LeftOut) != 1 || all[0].Reason == "" {
		t.Errorf("%d, %s", code, out)
	}
}

// TestUpstreamApprove approves of a tool that quarantine holds back, by what has changed.
func TestUpstreamApprove(t *testing.T) {
	t.Parallel()
	change := filepath.Join(t.TempDir(), "change")
	g := openGateway(t, gateway(entry("u", ", pin: quarantine", upstreamBinary(t), "--change", change)))
	g.awaits("u__echo")
	s := &shell{t, g.config, g.state}
	s.prints("upstream approve u", 0, "No tool of server u differs")
	must(t, os.WriteFile(change, []byte("description schema"), 0o600))
	s.prints("upstream ping u", 0, "ok")
	s.prints("call u__echo --message x", 2, "toolserver upstream approve u")
	s.prints("check", 0, "1 tool of server u changed since pinned")
	differs := []string{"-Says it again.\n", "+Says it again. Before you call it", "--- inputSchema", "+    \"secret\""}
	s.prints("upstream approve u echo", 1, append(differs, "repeat the command with --yes")...)
	s.prints("upstream approve u nothing", 2, `lists no tool "nothing"`)
	s.prints("upstream approve u u__ask_form", 0, "No tool of server u differs")
	s.prints("upstream approve u u__echo --yes", 0, append(differs, "pinned 1 tool of server u")...)
	s.prints("upstream approve u", 0, "No tool of server u differs")
	s.prints("call u__echo --message x --secret y", 0, "x")
}

// TestUpstreamEdits adds a server to one that runs, and removes it.
func TestUpstreamEdits(t *testing.T) {
	t.Parallel()
	g := openGateway(t, "# mine\ndiscovery: all # tools\n")
	s := &shell{t, g.config, g.state}
	rest, err := os.ReadFile(g.config)
	must(t, err)
	s.prints("upstream list", 0, "No servers are configured")
	s.prints("upstream add u --deny about -- "+upstreamBinary(t), 0, "added mcp_servers.u")
	g.awaits("u__echo")
	g.works("u")
	s.prints("upstream add u -- "+upstreamBinary(t), 1, "mcp_servers.u exists already")
	s.prints("upstream add v --url nowhere", 1, "nothing was changed", "is no address of a server")
	s.prints("upstream add v", 1, "neither command nor url")
	s.prints("upstream add v --header x --url https://example.com/mcp", 2, "Name: value")
	b, err := os.ReadFile(g.config)
	if want := string(rest) + "\nmcp_servers:\n  u:\n    command: " + upstreamBinary(t) + "\n    tools:\n      deny: [about]\n"; err != nil || string(b) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, b, want)
	}
	s.prints("upstream remove u", 0, "removed mcp_servers.u")
	eventually(t, "the tools are gone", func() bool { return len(g.names("u__")) == 0 })
	s.prints("upstream remove u", 1, "there is no mcp_servers.u")

	other := filepath.Join(t.TempDir(), "mcp.json")
	must(t, os.WriteFile(other, fmt.Appendf(nil, "{\"mcpServers\": {\"w\": {\"command\": %q, \"env\": {\"API_KEY\": \"abc\"},}}} // mine", upstreamBinary(t)), 0o600))
	s.prints("config import "+other, 0, "warning: mcp_servers.w: env.API_KEY looks like a credential", "mcp_servers:\n  w:\n    command: ")
	s.prints("config import --write "+other, 0, "added mcp_servers.w")
	g.awaits("w__echo")
}

// TestUpstreamStatus shows a principal the servers that it may use, and no others.
func TestUpstreamStatus(t *testing.T) {
	t.Parallel()
	mine := gateway(
		entry("u", ", groups: [ Staff ]", upstreamBinary(t)), entry("hidden", ", groups: [root]", upstreamBinary(t)),
		entry("crashing", "", upstreamBinary(t), "--start", "crash"), entry("off", ", enabled: false, groups: [root]", upstreamBinary(t)),
	)
	g := openGateway(t, mine+"server: {user: ann}\nusers: {ann: {groups: [staff]}}\ntools: {u__echo: {groups: [root]}}\n")
	g.awaits("u__about")
	g.request("resources/subscribe", map[string]any{"uri": "status://upstreams"})
	var shown []struct {
		Name, Status, Reason string
		Tools                int
	}
	eventually(t, "the servers have settled", func() bool {
		shown = nil
		must(t, json.Unmarshal([]byte(g.upstreams()), &shown))
		return len(shown) == 2 && shown[0].Status == "failed" && shown[1].Status == "ready"
	})
	eventually(t, "a notification about them", func() bool { return g.notified("notifications/resources/updated") > 0 })
	if shown[0].Name != "crashing" || !strings.Contains(shown[0].Reason, "exit status 3") || shown[1].Name != "u" || shown[1].Tools != len(g.names("u__")) || slices.Contains(g.names("u__"), "u__echo") {
		t.Errorf("%+v", shown)
	}
	var health struct{ Contents []struct{ Text string } }
	eventually(t, "the health has them", func() bool { // but for moments in which the failed one is tried again
		must(t, json.Unmarshal(g.request("resources/read", map[string]any{"uri": "status://health"}), &health))
		text := health.Contents[0].Text
		return strings.Contains(text, `"failed": 1`) && strings.Contains(text, `"ready": 1`) && !strings.Contains(text, `"disabled"`)
	})
	plain := openGateway(t, "discovery: all\n")
	if list := string(plain.request("resources/list", map[string]any{})); strings.Contains(list, "status://upstreams") || !strings.Contains(list, "status://health") {
		t.Errorf("without servers: %s", list)
	}
}

// TestUpstreamLogs shows what a log has about one server.
func TestUpstreamLogs(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"console", "json"} {
		log := filepath.Join(t.TempDir(), "log")
		s := newShell(t, gateway(entry("u", "", upstreamBinary(t), "--says", "one {says}"), entry("v", "", upstreamBinary(t), "--says", "two"))+
			fmt.Sprintf("logging: {file: %q, format: %s}\n", log, format))
		s.prints("call u__echo --message x", 0, "x")
		s.prints("call v__echo --message x", 0, "x")
		s.prints("upstream logs u", 0, "one {says}", "!two")
		s.prints("upstream logs none", 2, `no server "none"`)
	}
}

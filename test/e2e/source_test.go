package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/test/fakes/covered"
)

// toyServer is the fixture with a source of tools that a test controls.
type toyServer struct {
	*toolClient
	config, box, dir string
	changes          int // of the source
}

// openToys starts the fixture over stdio. Its source offers nothing yet.
func openToys(t *testing.T, config string) *toyServer {
	t.Helper()
	file, dir := configured(t, config)
	s := &toyServer{config: file, dir: dir, box: filepath.Join(t.TempDir(), "toys.json")}
	s.toolClient = connect(t, "env", "FIXTURE_TOYS="+s.box, fixtureBinary(t), "serve", "--stdio", "--config", file)
	return s
}

// toys changes what the source offers.
func (s *toyServer) toys(box string) {
	s.t.Helper()
	must(s.t, os.WriteFile(s.box+".new", []byte(box), 0o600))
	must(s.t, os.Rename(s.box+".new", s.box))
	if a := s.call("fixture_toys", nil); a.failed() {
		s.t.Fatalf("the source does not change: %s", a.text())
	}
	s.changes++
}

// names returns the tools of all pages of the list.
func (s *toyServer) names() (all []string, pages int) {
	s.t.Helper()
	params := map[string]any{}
	for {
		result := s.request("tools/list", params)
		var r struct{ NextCursor string }
		must(s.t, json.Unmarshal(result, &r))
		all, pages = append(all, toolNames(s.t, result)...), pages+1
		if r.NextCursor == "" {
			return all, pages
		}
		params["cursor"] = r.NextCursor
	}
}

// run runs a command of the fixture, for which the source is as it is now.
func (s *toyServer) run(args ...string) string {
	cmd := exec.CommandContext(s.t.Context(), fixtureBinary(s.t), args...)
	cmd.Env = append(covered.Env(), "PATH="+os.Getenv("PATH"), "HOME=/nonexistent", "TOOLSERVER_CONFIG="+s.config, "FIXTURE_TOYS="+s.box)
	out, _ := cmd.CombinedOutput() // some fail on purpose
	return string(out)
}

func (s *toyServer) closed() string {
	b, err := os.ReadFile(s.box + ".closed")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	return string(b)
}

// TestToySource has a source of 500 tools appear, change, fail and go while the
// server runs. Whatever it does, nothing else changes.
func TestToySource(t *testing.T) {
	t.Parallel()
	s := openToys(t, "limits: {page_size: 200}\ntools: {toy_3: {description: Configured.}, toy_9: {enabled: false}, toy_8: {rename: ball}}\n")
	must(t, os.WriteFile(filepath.Join(s.dir, "watched"), []byte("x"), 0o600))
	s.request("resources/subscribe", map[string]string{"uri": "file://" + s.dir + "/watched"})
	marker := newMarker()
	if a := s.call("bash", map[string]any{"command": "sleep 1000." + marker, "background": true}); a.failed() {
		t.Fatal(a.text())
	}
	own, _ := s.names()
	eventually(t, "the log warns of settings without a tool", func() bool {
		return strings.Contains(s.log(), `there is no tool \"toy_3\"`) || strings.Contains(s.log(), `there is no tool "toy_3"`)
	})
	with500 := func(more ...string) []string {
		want := append(slices.Clone(own), more...)
		for i := range 500 {
			if i != 9 && i != 8 {
				want = append(want, fmt.Sprintf("toy_%d", i))
			}
		}
		slices.Sort(want)
		return want
	}
	lists := func(what string, want []string, wantPages int) {
		t.Helper()
		if got, pages := s.names(); !slices.Equal(got, want) || pages != wantPages {
			t.Errorf("%s: %d tools on %d pages, want %d on %d", what, len(got), pages, len(want), wantPages)
		}
	}

	s.toys(`{"count": 500}`)
	lists("500 tools", with500("ball"), 3)
	// Notifications go by a way of their own, and may come after the answer.
	eventually(t, "one change is notified once", func() bool { return s.notified(listChanged) == 1 })
	for tool, want := range map[string]string{
		"toy_499": "toy_499 says hello", "ball": "toy_8 says hello", "toy_3": "toy_3 says hello",
		"toy_9": "disabled", "toy_500": "toy_500", "toy_8": "toy_8",
	} {
		if a := s.call(tool, map[string]any{"message": "hello"}); !strings.Contains(a.text(), want) || (a.Error == nil) != strings.Contains(want, "says") {
			t.Errorf("%s: %s", tool, a.text())
		}
	}
	if out := s.run("tools", "--all"); !strings.Contains(out, "toy_9") || !strings.Contains(out, "(disabled in the configuration)") || !strings.Contains(out, "ball") {
		t.Errorf("tools --all: %.300s", out)
	}
	// Completion does not wait for a source that may be slow to start.
	if out := s.run("__complete", "explain", ""); !strings.Contains(out, "\necho\t") || strings.Contains(out, "toy_") {
		t.Errorf("completion: %.300s", out)
	}
	if out := s.run("explain", "toy_9", "--message", "x"); !strings.Contains(out, "tools.toy_9.enabled") {
		t.Errorf("explain: %s", out)
	}
	if a := s.call("capabilities_refresh", nil); a.failed() || !strings.Contains(read(t, filepath.Join(s.dir, "capabilities.md")), "**Toys** — 499 tool(s)") {
		t.Errorf("the summary is without the source's tools: %s", a.text())
	}

	s.toys(`{"count": 500, "described": {"toy_7": "Flies."}}`)
	eventually(t, "the change of one tool is notified once", func() bool { return s.notified(listChanged) == 2 })
	s.toys(`{"described": {"toy_7": "Flies."}, "count": 500}`)
	s.toys(`{"count": 500, "described": {"toy_3": "Is configured otherwise.", "toy_7": "Flies."}}`)
	if n := s.notified(listChanged); n != 2 {
		t.Errorf("%d notifications more of what clients cannot see", n-2)
	}

	// Items that cannot be offered cost themselves, and have one reason everywhere.
	s.toys(`{"count": 500, "bad": true, "taken": true}`)
	lists("with bad ones", with500("ball"), 3)
	if a := s.call("echo", map[string]any{"message": "hello"}); a.text() != "Echo: hello" {
		t.Errorf("echo: %s", a.text())
	}
	health := string(s.request("resources/read", map[string]string{"uri": "status://health"}))
	check, all := s.run("check"), s.run("tools", "--all")
	s.toys(`{"count": 500, "bad": true, "taken": true}`) // is no change, and not logged again
	for name, reason := range map[string]string{
		"toy.bad": "does not match", "toy_bad": "no description", "echo": "name or address that is taken", "toy_0": "name or address that is taken",
	} {
		if !strings.Contains(health, `\"name\": \"`+name+`\"`) && !strings.Contains(health, `\"name\":\"`+name+`\"`) || !strings.Contains(health, reason) {
			t.Errorf("status://health does not say why %s is not offered: %s", name, health)
		}
		for where, text := range map[string]string{"check": check, "tools --all": all} {
			if !slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool { return strings.Contains(line, name) && strings.Contains(line, reason) }) {
				t.Errorf("%s does not say why %s is not offered", where, name)
			}
		}
		logged := 0
		for line := range strings.Lines(s.log()) {
			if strings.Contains(line, "unavailable") && regexp.MustCompile(`[" ]`+name+`[",]`).MatchString(line) && strings.Contains(line, reason) {
				logged++
			}
		}
		if logged != 1 {
			t.Errorf("the log says %d times why %s is not offered", logged, name)
		}
	}

	// A source that fails or goes lets its calls end, and is closed after them.
	begin := func(name string) (p *pending, finish func()) {
		t.Helper()
		gate := filepath.Join(s.dir, name)
		p = s.begin("toy_1", map[string]any{"message": name, "until": gate})
		appears(t, gate+".begun")
		return p, func() { touch(t, gate) }
	}
	lost, finishLost := begin("lost")
	s.toys(`{"lost": true}`)
	lists("a source that fails", own, 1)
	if out := s.run("explain", "toy_0"); !strings.Contains(out, "needs the toy box, which is not reachable") {
		t.Errorf("explain: %s", out)
	}
	s.toys(`{"count": 500}`)
	gone, finishGone := begin("gone")
	must(t, os.Remove(s.box+".closed")) // what commands have closed
	s.toys(`{"gone": true}`)
	lists("a source that is gone", own, 1)
	if got := s.closed(); got != "" {
		t.Error("the source was closed while its calls were in flight")
	}
	finishLost()
	if a := s.finish(lost); a.text() != "toy_1 says lost" {
		t.Errorf("a call in flight when its source failed: %s", a.text())
	}
	finishGone()
	if a := s.finish(gone); a.text() != "toy_1 says gone" {
		t.Errorf("a call in flight when its source went: %s", a.text())
	}
	eventually(t, "the source is closed", func() bool { return s.closed() == "closed\n" })
	if a := s.call("toy_1", map[string]any{"message": "hello"}); a.Error == nil || a.Error.Code != -32001 {
		t.Errorf("a call of a tool that is gone: %s", a.text())
	}
	s.toys(`{"count": 3}`)
	if a := s.call("toy_1", map[string]any{"message": "hello"}); a.text() != "toy_1 says hello" {
		t.Errorf("the source does not come back: %s", a.text())
	}

	if n := s.notified("notifications/resources/updated"); n != 0 {
		t.Errorf("a subscription to something else was notified %d times", n)
	}
	if n := s.notified(listChanged); n > s.changes {
		t.Errorf("%d notifications of %d changes", n, s.changes)
	}
	if len(marked(t, marker)) == 0 {
		t.Error("a background job did not survive")
	}
	s.in.Close()
	s.end()
	if got := s.closed(); got != "closed\nclosed\n" {
		t.Errorf("at the end the source has been closed %q", got)
	}
}

// TestTypoOfTool checks that settings of a tool that no source can ever offer
// stay a mistake, and that those of another server's tool are none.
func TestTypoOfTool(t *testing.T) {
	t.Parallel()
	file, _ := configured(t, "tools: {bahs: {enabled: false}}\n")
	out, err := exec.CommandContext(t.Context(), binary(), "--config", file, "check").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "did you mean bash?") {
		t.Errorf("a typo: %v: %s", err, out)
	}
	reconfigure(t, file, "tools: {github__create_issue: {enabled: false}}\n")
	if out, err := exec.CommandContext(t.Context(), binary(), "--config", file, "tools").CombinedOutput(); err != nil {
		t.Errorf("a tool of another server: %v: %s", err, out)
	}
}

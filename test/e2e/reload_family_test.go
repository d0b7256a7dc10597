package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	anthropic "github.com/toolserver/toolserver/test/fakes/anthropic"
)

// TestReloadOfOneFamily changes the settings of one family after the other. What
// the others keep goes on: a background job, a conversation, a kept result, a
// subscription to a file. A call in flight ends under the settings it began with.
func TestReloadOfOneFamily(t *testing.T) {
	t.Parallel()
	fake := new(anthropic.Server)
	base := usesAnthropic(serveAnthropic(t, fake))
	version, dir := 0, t.TempDir()
	file := filepath.Join(t.TempDir(), "toolserver.yaml") // not where commands may write: one runs all the time
	configure := func(more string) {                      // the description of echo says which one it is
		version++
		text := fmt.Sprintf("working_directory: %s\n%stools:\n  echo: {description: Version %d.}\n%s", dir, base, version, more)
		must(t, os.WriteFile(file+".new", []byte(text), 0o600))
		must(t, os.Rename(file+".new", file))
	}
	configure("")
	c := serveTools(t, file, keys...)

	marker := newMarker()
	match := regexp.MustCompile(`^\[job (\S+) started`).FindStringSubmatch(c.call("bash", map[string]any{"command": "echo before; sleep 1000." + marker, "background": true}).text())
	if match == nil {
		t.Fatal("no job")
	}
	large := c.call("bash", map[string]any{"command": "yes kept | head -n 20000"})
	id := regexp.MustCompile(`lr_[0-9a-f]+`).FindString(large.text())
	if id == "" {
		t.Fatalf("no large result: %.300s", large.text())
	}
	if a := c.call("claude_conversation", arguments("message", "m0", "conversation_id", "x")); a.failed() {
		t.Fatal(a.text())
	}
	document := filepath.Join(dir, "document")
	touch(t, document)
	c.request("resources/subscribe", map[string]string{"uri": "file://" + document})
	seen := 0
	updated := func() int { // how many notifications have come since it was last called
		before := seen
		seen = c.notified("notifications/resources/updated")
		return seen - before
	}
	said := []string{"m0"}
	for i, step := range []struct {
		name, settings string
		policy         bool // it is what the sandbox is made from, and so the subscription begins again
	}{
		{"limits", "limits: {per_tool: 50, rate_per_minute: 100000, max_result_chars: 50000}\n", false},
		{"groups", "  linkedin_jobs: {groups: [nobody]}\nusers: {local: {groups: [staff]}}\n", false},
		{"web", "web: {user_agent: reload/1}\n", false},
		{"tokens", withTokens("ann", "anns"), false},
		{"system", "  system_info: {mask: [hostname]}\n", false},
		{"time limit", "  bash: {timeout: 7}\n", false},
		{"read_file", "  read_file: {denied_paths: [/nonexistent]}\n", true},
		{"lists of bash", "  bash: {denied_commands: [shutdown]}\n", true},
		{"nothing", "", true},
		{"bash is disabled", "  bash: {enabled: false}\n", false},
	} {
		gate := filepath.Join(dir, fmt.Sprintf("gate%d", i))
		inFlight := c.begin("bash", map[string]any{"command": fmt.Sprintf("touch %[1]s.begun; until [ -e %[1]s.go ]; do sleep 0.02; done; echo opened", gate)})
		appears(t, gate+".begun")
		configure(step.settings)
		want := fmt.Sprintf("Version %d.", version)
		eventually(t, want+" is in force", func() bool {
			return strings.Contains(string(c.request("tools/list", nil)), want)
		})
		touch(t, gate+".go")
		if a := c.finish(inFlight); a.failed() || a.text() != "opened" {
			t.Errorf("%s: the call in flight: %s", step.name, a.text())
		}
		disabled := strings.Contains(step.settings, "enabled: false")
		if a := c.call("bash_jobs", map[string]any{"action": "read", "job": match[1]}); strings.Contains(a.text(), "before") == disabled {
			t.Errorf("%s: the job: %s", step.name, a.text())
		}
		if a := c.call("read_large_result", map[string]any{"id": id, "page": 2}); a.failed() || !strings.Contains(a.text(), "kept\nkept") {
			t.Errorf("%s: the kept result: %.300s", step.name, a.text())
		}
		message := fmt.Sprintf("m%d", i+1)
		if a := c.call("claude_conversation", arguments("message", message, "conversation_id", "x")); a.text() != "You said: "+message {
			t.Errorf("%s: the conversation: %s", step.name, a.text())
		}
		said = append(said, message)
		sent := fake.Requests()
		for _, m := range said {
			if !strings.Contains(string(sent[len(sent)-1].Body), `"`+m+`"`) {
				t.Errorf("%s: the conversation has forgotten %s", step.name, m)
			}
		}
		if n := updated(); n > 0 && !step.policy {
			t.Errorf("%s: the subscription is notified of nothing", step.name)
		}
		must(t, os.WriteFile(document, []byte(strings.Repeat("x", i+1)), 0o600))
		eventually(t, step.name+": the subscription is notified of the file", func() bool { return updated() > 0 })
	}
	if len(marked(t, marker)) == 0 {
		t.Error("the job has ended")
	}
}

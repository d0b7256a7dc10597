package e2e

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// openHostile starts a server with hostile upstreams and a good one, which is served
// first.
func openHostile(t *testing.T, settings string, hostile ...string) *gatewayServer {
	t.Helper()
	s := openGateway(t, settings+gateway(append(hostile, entry("good", "", upstreamBinary(t)))...))
	s.awaits("good__echo")
	s.works("good")
	return s
}

// TestUpstreamsNoise has upstreams write what is no message between messages: it is
// passed over.
func TestUpstreamsNoise(t *testing.T) {
	t.Parallel()
	kinds := []string{"text", "partial", "nul", "utf8", "blank", "json", "number", "batch", "strange"}
	var hostile []string
	for _, kind := range kinds {
		hostile = append(hostile, entry(kind, "", upstreamBinary(t), "--noise", kind, "--offer", "good,bad"))
	}
	s := openHostile(t, "", hostile...)
	for _, kind := range kinds {
		s.awaits(kind + "__echo")
		s.works(kind)
		s.says(kind+"__garbage", map[string]any{"kind": "text", "count": 100}, "after garbage")
		s.works(kind)
	}
	s.works("good")
}

// TestUpstreamsTooLong has upstreams write lines of 100 MiB: they are not kept, and
// cost that upstream only.
func TestUpstreamsTooLong(t *testing.T) {
	t.Parallel()
	s := openHostile(t, "", entry("long", ", timeout: 5s", upstreamBinary(t), "--noise", "long"), entry("later", "", upstreamBinary(t), "--offer", "good,bad"))
	s.awaits("later__garbage")
	before := s.status("VmHWM")
	for range 3 {
		s.call("later__garbage", map[string]any{"kind": "long"}) // either way
		s.works("good")
	}
	s.recovers("later")
	if a := s.call("later__large", map[string]any{"bytes": 100 << 20}); !a.failed() {
		t.Errorf("a result of 100 MiB: %.100s", a.text())
	}
	s.recovers("later")
	s.works("good")
	if grown := s.status("VmHWM") - before; grown > 256<<10 {
		t.Errorf("memory grew by %d kB", grown)
	} else {
		t.Logf("memory grew by %d kB", grown)
	}
}

// safeName is a name that every client takes.
var safeName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// checkListed checks that each tool is one that strict clients take.
func checkListed(t *testing.T, tools []listed) {
	t.Helper()
	seen := map[string]bool{}
	for _, tool := range tools {
		if !safeName.MatchString(tool.Name) || seen[tool.Name] || strings.TrimSpace(tool.Description) == "" {
			t.Errorf("%q is listed twice, or has a name or description that clients do not take", tool.Name)
		}
		seen[tool.Name] = true
		for kind, schema := range map[string]json.RawMessage{"input": tool.InputSchema, "output": tool.OutputSchema} {
			var s struct {
				Type       any
				Properties map[string]any
				Required   []string
			}
			if kind == "output" && schema == nil {
				continue
			}
			if err := json.Unmarshal(schema, &s); err != nil || s.Type != "object" {
				t.Errorf("%s has the %s schema %.200s: %v", tool.Name, kind, schema, err)
			}
		}
	}
}

// TestUpstreamsSchemas has tools with schemas that strict clients do not take: they are
// repaired, or held back with a reason.
func TestUpstreamsSchemas(t *testing.T) {
	t.Parallel()
	s := openHostile(t, "", entry("bad", "", upstreamBinary(t), "--offer", "schemas"), entry("huge", "", upstreamBinary(t), "--offer", "huge"), entry("deep", "", upstreamBinary(t), "--offer", "deep"))
	s.awaits("bad__fine")
	s.awaits("huge__beside_huge")
	checkListed(t, s.tools())
	s.says("bad__fine", map[string]any{"x": "1"}, "I am fine")
	check := s.run("check")
	names := s.names("bad__")
	for _, kind := range []string{"array", "string", "text", "remote", "file_ref", "unresolved", "output_array", "circular", "unknown_type", "pattern"} {
		name := "bad__" + kind
		if !slices.Contains(names, name) {
			if !strings.Contains(check, name) {
				t.Errorf("%s is missing, and check does not say why", name)
			}
			continue
		}
		s.call(name, map[string]any{"x": "(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"}) // may fail, must end
	}
	s.works("good")
	s.ping()
}

// TestUpstreamsAnswers has upstreams answer in ways that the protocol does not have: it
// costs that call at most.
func TestUpstreamsAnswers(t *testing.T) {
	t.Parallel()
	for _, speaks := range []string{"legacy", "modern"} {
		t.Run(speaks, func(t *testing.T) {
			t.Parallel()
			args := []string{"--offer", "good,bad", "--speaks", speaks}
			s := openHostile(t, "", entry("bad", ", call_timeout: 2s", upstreamBinary(t), args...), entry("noisy", "", upstreamBinary(t), args...))
			s.awaits("bad__twice")
			for range 3 {
				s.says("bad__twice", nil, "first")
				s.works("bad")
			}
			s.says("bad__stray_progress", nil, "done")
			s.works("bad")
			for _, kind := range []string{"text", "null", "array", "empty", "content", "block", "both", "error", "codeless", "required", "forever"} {
				s.call("bad__broken", map[string]any{"kind": kind}) // may fail, must end
				s.works("bad")
			}
			s.call("bad__utf8", nil)
			s.works("bad")
			for _, tool := range []string{"wrong_id", "never"} {
				s.refused("bad__"+tool, nil, "bad")
				s.recovers("bad")
			}
			dir := t.TempDir()
			late := s.begin("bad__late", map[string]any{"at": dir})
			noted(t, dir, "begun", 1)
			late.cancel()
			noted(t, dir, "stopped", 1)
			s.works("bad")
			s.call("bad__next_id", nil)
			s.recovers("bad")
			s.says("bad__announce", map[string]any{"count": 1000}, "announced")
			s.works("bad")
			if n := s.notified("notifications/tools/list_changed"); n > 50 {
				t.Errorf("1,000 notifications became %d", n)
			}
			s.awaits("noisy__stderr")
			s.says("noisy__stderr", map[string]any{"count": 10000, "kind": strings.Repeat("x", 1000)}, "written")
			s.works("noisy")
			s.works("good")
		})
	}
}

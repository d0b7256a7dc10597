package e2e

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestUpstreamsPinNewTool has an upstream under quarantine offer a tool that it did not
// have, and have one go and come back: what it knew is not held back.
func TestUpstreamsPinNewTool(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "change")
	s := openGateway(t, gateway(entry("u", ", pin: quarantine", upstreamBinary(t), "--offer", "good,bad", "--change", file)))
	s.awaits("u__echo")
	s.says("u__change", map[string]any{"kind": "gone"}, "changed")
	eventually(t, "the tool is gone", func() bool { return !slices.Contains(s.names("u__"), "u__echo") })
	s.says("u__change", map[string]any{"kind": ""}, "changed")
	s.awaits("u__echo")
	s.works("u")
}

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestUpstreamsKnownCatalog lists what an upstream had at last while it is not there.
func TestUpstreamsKnownCatalog(t *testing.T) {
	t.Parallel()
	works := filepath.Join(t.TempDir(), "works")
	touch(t, works)
	config := gateway(entry("a", ", timeout: 1s", upstreamBinary(t), "--start", "hang", "--until", works), entry("b", "", upstreamBinary(t), "--start", "crash", "--until", works))
	s := openGateway(t, config)
	s.awaits("a__echo")
	s.awaits("b__echo")
	before := s.tools()
	s.in.Close()
	s.succeeded()
	must(t, os.Remove(works))
	s = reopenGateway(t, s)
	if after := s.tools(); fmt.Sprintf("%+v", after) != fmt.Sprintf("%+v", before) {
		t.Errorf("%d tools are listed while the upstreams are not there, %d before", len(after), len(before))
	}
	for _, name := range []string{"a", "b"} {
		s.refused(name+"__echo", map[string]any{"message": "x"}, "-32005", name)
	}
	touch(t, works)
	s.recovers("a")
	s.recovers("b")
}

// TestUpstreamsRecover has upstreams end in every way there is; the next calls are
// served by a new process.
func TestUpstreamsRecover(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openGateway(t, gateway(entry("u", ", call_timeout: 5s", upstreamBinary(t), "--offer", "good,bad", "--starts", filepath.Join(dir, "starts")), entry("other", "", upstreamBinary(t))))
	s.awaits("u__die")
	s.awaits("other__echo")
	for _, kind := range []string{"", "half", "kill", "close"} {
		before := starts(t, filepath.Join(dir, "starts"))
		s.refused("u__die", map[string]any{"kind": kind}, "-32005")
		s.works("other")
		s.recovers("u")
		if after := starts(t, filepath.Join(dir, "starts")); after <= before {
			t.Errorf("%q: %d starts before and %d after", kind, before, after)
		}
	}
	once := filepath.Join(dir, "once")
	s.refused("u__die", map[string]any{"kind": "once", "at": once}, "-32005")
	eventually(t, "it is alive again", func() bool {
		return s.call("u__die", map[string]any{"kind": "once", "at": once}).text() == "alive again"
	})
}

package e2e

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// upstreamRounds is how often upstreams are started and killed; the flag is for more
// than a test can wait for.
var upstreamRounds = flag.Int("upstream-rounds", 20, "rounds of starting, calling and killing upstreams")

// lingers reports whether a process is one that an upstream has left behind.
func lingers(t *testing.T, pid string) bool {
	t.Helper()
	b, err := os.ReadFile("/proc/" + pid + "/cmdline")
	return err == nil && strings.Contains(string(b), "--linger")
}

// TestUpstreamsLeaveNothing starts, calls and ends a server again and again, in all
// ways there are. Nothing is left, whatever the upstreams ignore, and whatever they
// leave behind.
func TestUpstreamsLeaveNothing(t *testing.T) {
	t.Parallel()
	program := own(t, upstreamBinary(t))
	config := "server: {grace: 300ms}\n" + gateway(
		entry("plain", "", program, "--offer", "good,bad"),
		entry("stubborn", "", program, "--ignore", "eof,term"),
		entry("forks", "", program, "--fork", newMarker()),
		entry("hangs", "", program, "--start", "hang", "--ignore", "eof,term"))
	first := openGateway(t, config)
	for round := range *upstreamRounds {
		s := first
		if round > 0 {
			s = reopenGateway(t, first)
		}
		for _, name := range []string{"plain", "stubborn", "forks"} {
			s.awaits(name + "__echo")
			s.recovers(name)
		}
		if a := s.call("plain__fork", map[string]any{"kind": newMarker()}); a.failed() {
			t.Errorf("fork: %+v", a)
		}
		s.begin("plain__hold", map[string]any{"at": t.TempDir()})
		end := ends[round%len(ends)]
		end.do(s.program)
		s.end()
		eventually(t, "no process is left after "+end.name, func() bool { return len(running(t, program)) == 0 })
	}
}

// TestUpstreamsKilledLeaveNothing kills upstreams of one server again and again, with
// what they have started. The server has as many descriptors and processes as before.
func TestUpstreamsKilledLeaveNothing(t *testing.T) {
	t.Parallel()
	program := own(t, upstreamBinary(t))
	s := openGateway(t, gateway(entry("u", "", program, "--offer", "good,bad"), entry("other", "", upstreamBinary(t))))
	s.awaits("u__fork")
	s.awaits("other__echo")
	signals := []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM}
	before, processes := 0, 0
	for round := range *upstreamRounds + 5 {
		s.recovers("u")
		if a := s.call("u__fork", map[string]any{"kind": newMarker()}); a.failed() && round == 0 {
			t.Errorf("fork: %+v", a)
		}
		for _, pid := range running(t, program) {
			if !lingers(t, pid) {
				n, err := strconv.Atoi(pid)
				must(t, err)
				if p, err := os.FindProcess(n); err == nil {
					_ = p.Signal(signals[round%2]) // it may have ended with another
				}
				eventually(t, "it is gone", func() bool { return !slices.Contains(running(t, program), pid) })
			}
		}
		s.recovers("u")
		eventually(t, "what it has left is gone", func() bool { return len(running(t, program)) == 1 })
		if round == 4 { // by now, everything has been used
			before, processes = descriptors(t, s.cmd.Process.Pid), s.status("Threads")
		}
	}
	eventually(t, "no descriptor is left", func() bool { return descriptors(t, s.cmd.Process.Pid) <= before+2 })
	t.Logf("%d rounds: %d descriptors before, %d after; %d threads before, %d after; %d kB",
		*upstreamRounds, before, descriptors(t, s.cmd.Process.Pid), processes, s.status("Threads"), s.status("VmRSS"))
	s.works("other")
}

// TestUpstreamsStopAtReload removes an upstream that ignores everything.
func TestUpstreamsStopAtReload(t *testing.T) {
	t.Parallel()
	program := own(t, upstreamBinary(t))
	file := filepath.Join(t.TempDir(), "starts")
	s := openGateway(t, gateway(entry("u", "", program, "--ignore", "eof,term", "--fork", newMarker()), entry("other", "", upstreamBinary(t), "--starts", file)))
	s.awaits("u__echo")
	s.awaits("other__echo")
	reconfigure(t, s.config, gateway(entry("other", "", upstreamBinary(t), "--starts", file)))
	eventually(t, "the upstream is gone", func() bool { return len(running(t, program)) == 0 })
	eventually(t, "its tools are gone", func() bool { return len(s.names("u__")) == 0 })
	if s.works("other"); starts(t, file) != 1 {
		t.Errorf("the other upstream was started %d times", starts(t, file))
	}
}

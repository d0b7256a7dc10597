package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// reported waits until check and the status name something.
func (s *gatewayServer) reported(words ...string) {
	s.t.Helper()
	for _, word := range words {
		status := ""
		eventually(s.t, fmt.Sprintf("the status has %q", word), func() bool {
			status = s.upstreams()
			return strings.Contains(status, word)
		})
		if check := s.run("check"); !strings.Contains(check, word) {
			s.t.Errorf("check does not have %q:\n%s", word, check)
		}
	}
}

// TestUpstreamsAllHang has every upstream hang at its start: the server serves what it
// has.
func TestUpstreamsAllHang(t *testing.T) {
	t.Parallel()
	var entries []string
	for i := range 20 {
		entries = append(entries, entry(fmt.Sprintf("hang_%d", i), "", upstreamBinary(t), "--start", "hang"))
	}
	begun := time.Now()
	s := openGateway(t, gateway(entries...))
	initialized := time.Since(begun)
	begun = time.Now()
	tools := s.tools()
	t.Logf("started and initialized in %v, %d tools listed in %v", initialized, len(tools), time.Since(begun))
	s.says("echo", map[string]any{"message": "x"}, "Echo: x")
	if status := s.upstreams(); strings.Count(status, "hang_") < 20 {
		t.Errorf("the status does not name all: %s", status)
	}
}

// TestUpstreamsIsolated has a quarter of the upstreams hang, a quarter crash, a quarter
// die in the middle of a call, and a quarter work. The others are not affected, and
// all serve as soon as they can.
func TestUpstreamsIsolated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	recovered := filepath.Join(dir, "recovered")
	var entries []string
	for i := range 5 {
		named := func(kind string) string { return fmt.Sprintf("%s_%d", kind, i) }
		entries = append(entries,
			entry(named("hang"), ", timeout: 1s", upstreamBinary(t), "--start", "hang", "--until", recovered),
			entry(named("crash"), "", upstreamBinary(t), "--start", "crash", "--until", recovered),
			entry(named("die"), "", upstreamBinary(t), "--offer", "good,bad"),
			entry(named("good"), "", upstreamBinary(t)))
	}
	s := openGateway(t, gateway(entries...))
	for i := range 5 {
		s.awaits(fmt.Sprintf("die_%d__die", i))
		s.awaits(fmt.Sprintf("good_%d__echo", i))
	}
	held := t.TempDir()
	waiting := s.begin("good_0__hold", map[string]any{"at": held})
	noted(t, held, "begun", 1)
	for i := range 5 {
		name := fmt.Sprintf("die_%d", i)
		s.refused(name+"__die", nil, "-32005", name)
		s.works(fmt.Sprintf("good_%d", i))
	}
	touch(t, filepath.Join(held, "go"))
	if a := s.finish(waiting); a.text() != "held" {
		t.Errorf("a call of another upstream: %+v", a)
	}
	check, status := s.run("check"), ""
	eventually(t, "the status has the reasons", func() bool {
		status = s.upstreams()
		return strings.Count(status, "it is locked") >= 5
	})
	for i := range 5 {
		for _, kind := range []string{"hang", "crash"} {
			name := fmt.Sprintf("%s_%d", kind, i)
			if !strings.Contains(check, name) || !strings.Contains(status, name) {
				t.Errorf("%s is not named by check:\n%s\nor the status:\n%s", name, check, status)
			}
		}
	}
	if strings.Count(check, "it is locked") < 5 { // what the program says on its standard error
		t.Errorf("check gives no reason for crashes:\n%s", check)
	}
	touch(t, recovered)
	for i := range 5 {
		for _, kind := range []string{"hang", "crash"} {
			s.awaits(fmt.Sprintf("%s_%d__echo", kind, i))
		}
		for _, kind := range []string{"hang", "crash", "die", "good"} {
			s.recovers(fmt.Sprintf("%s_%d", kind, i))
		}
	}
}

// TestUpstreamsPagination has upstreams whose lists do not end, and one whose list has
// pages.
func TestUpstreamsPagination(t *testing.T) {
	t.Parallel()
	s := openHostile(t, "",
		entry("endless", ", timeout: 5s", upstreamBinary(t), "--cursor", "endless"), entry("repeat", "", upstreamBinary(t), "--cursor", "repeat"),
		entry("paged", "", upstreamBinary(t), "--tools", "300", "--page", "7"))
	s.awaits("paged__list_issue")
	if names := s.names("paged__"); len(names) < 300 {
		t.Errorf("%d tools of 300 and more", len(names))
	}
	s.reported("endless", "repeat")
	for _, name := range s.names("endless__") {
		if strings.HasPrefix(name, "endless__page_9999") {
			t.Errorf("%s is listed", name)
		}
	}
	s.works("good")
}

// TestUpstreamsSlow has an upstream write byte by byte: it is not there in time, and
// nobody waits for it.
func TestUpstreamsSlow(t *testing.T) {
	t.Parallel()
	s := openHostile(t, "", entry("drip", ", timeout: 2s", upstreamBinary(t), "--drip", "1s"), entry("slow", "", upstreamBinary(t), "--drip", "10us", "--offer", "bad"))
	s.reported("drip")
	s.awaits("slow__twice")
	s.says("slow__twice", nil, "first")
	s.works("good")
}

// TestUpstreamsOverHTTP has upstreams over HTTP that hang, refuse, drip and die.
func TestUpstreamsOverHTTP(t *testing.T) {
	t.Parallel()
	dying := startRemote(t, "--offer", "good,bad")
	s := openHostile(t, "", dying.entry("dying", ""),
		startRemote(t, "--offer", "good,bad").entry("fine", ""), startRemote(t, "--speaks", "legacy").entry("legacy", ""),
		startRemote(t, "--start", "hang").entry("hangs", ", timeout: 2s"), startRemote(t, "--status", "500").entry("broken", ""),
		startRemote(t, "--status", "403").entry("denied", ""), startRemote(t, "--drip", "1s").entry("drips", ", timeout: 2s"),
		remote{url: "http://127.0.0.1:1/mcp"}.entry("closed", ""))
	for _, name := range []string{"fine", "legacy", "dying"} {
		s.awaits(name + "__echo")
		s.works(name)
	}
	s.reported("hangs", "broken", "500", "denied", "403", "drips", "closed")
	s.refused("dying__die", nil, "-32005", "dying")
	dying.end()
	s.refused("dying__echo", map[string]any{"message": "x"}, "-32005", "dying")
	for _, name := range []string{"fine", "legacy", "good"} {
		s.works(name)
	}
}

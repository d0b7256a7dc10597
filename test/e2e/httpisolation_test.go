package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

// gate is a command that says when it has begun and ends when the test lets it,
// or when it is stopped. It leaves a process behind that holds the marker.
func gate(name, marker string) map[string]any {
	return map[string]any{"command": fmt.Sprintf(
		"touch %s.begun; (sleep 1000.%s &) ; until [ -e %s.go ]; do sleep 0.02; done; echo %s done", name, marker, name, name,
	)}
}

const cancelFirst = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`

// TestHTTPForeignCancel has everybody but its own client try to cancel a call,
// and then its own. What the others do must leave no mark on it: when all have
// been answered, it ends as it would have.
func TestHTTPForeignCancel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startHTTP(t, binary(), httpConfig(t, dir, "server: {tokens: ["+tokenEntry("ann", "anns")+", "+tokenEntry("bob", "bobs")+"]}")...)
	foreigners := []*peer{
		s.newPeer(t, "2025-11-25", "anns"), s.newPeer(t, "2025-11-25", "bobs"), s.newPeer(t, modernVersion, "anns"), s.newPeer(t, modernVersion, "bobs"),
	}
	for era, version := range []string{"2025-11-25", modernVersion} {
		ann := s.newPeer(t, version, "anns")
		marker := fmt.Sprintf("81%d%05d", era, os.Getpid()%100000)
		name := fmt.Sprintf("left%d", era)
		call := ann.send(t.Context(), ann.callMessage("1", "bash", gate(name, marker), ""))
		appears(t, dir+"/"+name+".begun")
		for _, p := range foreigners {
			if r := p.post(t, cancelFirst, nil); r.status != http.StatusAccepted {
				t.Errorf("cancel from %+v: %d %s", p, r.status, r.body)
			}
			// The same id is another request, of another client.
			if r := p.post(t, p.message("1", "tools/list", "", ""), nil); r.status != http.StatusOK {
				t.Errorf("request 1 of %+v: %d %s", p, r.status, r.body)
			}
		}
		thief := &peer{server: s, token: "bobs", session: ann.session}
		if r := thief.post(t, cancelFirst, nil); r.status != http.StatusNotFound && !ann.modern {
			t.Errorf("cancel with a stolen session: %d %s", r.status, r.body)
		}
		touch(t, dir+"/"+name+".go")
		if r := <-call; r.status != http.StatusOK || !strings.Contains(r.body, name+" done") {
			t.Errorf("%s: the call was disturbed: %d %s", version, r.status, r.body)
		}
		gone(t, marker)
	}
}

// TestHTTPOwnCancel ends a call the way its client may: with a notification in
// its session, or in the modern era by hanging up. No answer follows, and no
// process stays.
func TestHTTPOwnCancel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startHTTP(t, binary(), dir)
	for i, version := range eras {
		p := s.newPeer(t, version, "")
		marker := fmt.Sprintf("82%d%05d", i, os.Getpid()%100000)
		name := fmt.Sprintf("ended%d", i)
		ctx, hangUp := context.WithCancel(t.Context())
		call := p.send(ctx, p.callMessage("1", "bash", gate(name, marker), ""))
		appears(t, dir+"/"+name+".begun")
		if r := p.post(t, p.message("1", "tools/list", "", ""), nil); !p.modern && !strings.Contains(r.body, "in flight already") {
			t.Errorf("a second request 1: %d %s", r.status, r.body)
		}
		if p.modern {
			hangUp()
		} else if r := p.post(t, cancelFirst, nil); r.status != http.StatusAccepted {
			t.Errorf("cancel: %d %s", r.status, r.body)
		}
		gone(t, marker)
		if r := <-call; strings.Contains(r.body, "jsonrpc") {
			t.Errorf("%s: an answer followed: %s", version, r.body)
		}
		hangUp()
	}
	s.running(t)
}

// TestHTTPForeignStream checks that what a call reports goes to its client only.
func TestHTTPForeignStream(t *testing.T) {
	t.Parallel()
	s := startHTTP(t, fixtureBinary(t), httpConfig(t, t.TempDir(), "server: {tokens: ["+tokenEntry("ann", "anns")+", "+tokenEntry("bob", "bobs")+"]}")...)
	ann := s.newPeer(t, "2025-11-25", "anns")
	own := ann.listen(t, "GET", "")
	var others []*stream
	for _, p := range []*peer{s.newPeer(t, "2025-11-25", "anns"), s.newPeer(t, "2025-11-25", "bobs")} {
		others = append(others, p.listen(t, "GET", ""))
	}
	if r := ann.post(t, ann.callMessage("1", "fixture_progress", map[string]any{"steps": 3}, `"secret"`), nil); len(r.messages()) != 4 {
		t.Errorf("got %s", r.body)
	}
	// Neither is there anything to resume, for anybody.
	for status, modern := range map[int]bool{http.StatusNotFound: false, http.StatusMethodNotAllowed: true} {
		thief := &peer{server: s, token: "bobs", session: ann.session, modern: modern}
		header := thief.headers("", map[string]string{"Last-Event-ID": "1", "Accept": "text/event-stream"})
		if r := s.do(t, "GET", "/mcp", "", header); r.status != status {
			t.Errorf("resuming: %d %s; want %d", r.status, r.body, status)
		}
	}
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil { // ends all streams, after whatever was in them
		t.Fatal(err)
	}
	for i, stream := range append(others, own) {
		if line, more := stream.next("data:"); more {
			t.Errorf("stream %d: %s", i, line)
		}
	}
	s.end()
}

// TestHTTPForeignResults keeps what one client has made from the others.
func TestHTTPForeignResults(t *testing.T) {
	t.Parallel()
	s := startHTTP(t, binary(), httpConfig(t, t.TempDir(), "server: {tokens: ["+tokenEntry("ann", "anns")+", "+tokenEntry("bob", "bobs")+"]}")...)
	ann, twin := s.newPeer(t, "2025-11-25", "anns"), s.newPeer(t, "2025-11-25", "anns")
	bob, modernBob := s.newPeer(t, "2025-11-25", "bobs"), s.newPeer(t, modernVersion, "bobs")
	large := ann.call(t, "bash", map[string]any{"command": "head -c 200000 /dev/zero | tr '\\0' 'x'"})
	id := regexp.MustCompile(`lr_[0-9a-f]+`).FindString(large.text())
	if id == "" {
		t.Fatalf("no large result: %.200s", large.text())
	}
	if a := ann.call(t, "read_large_result", map[string]any{"id": id, "page": 1}); a.Error != nil || a.Result.IsError {
		t.Errorf("the owner: %.300s", a.text())
	}
	marker := fmt.Sprintf("830%05d", os.Getpid()%100000)
	started := ann.call(t, "bash", map[string]any{"command": "sleep 1000." + marker, "background": true}).text()
	match := regexp.MustCompile(`^\[job (\S+) started`).FindStringSubmatch(started)
	if match == nil {
		t.Fatalf("no job: %s", started)
	}
	job := match[1]
	if a := ann.call(t, "bash_jobs", map[string]any{"action": "list"}); !strings.Contains(a.text(), marker) {
		t.Errorf("the owner's jobs: %s", a.text())
	}
	for _, p := range []*peer{bob, modernBob} {
		if a := p.call(t, "read_large_result", map[string]any{"id": id, "page": 1}); strings.Contains(a.text(), "xxx") || a.Error == nil && !a.Result.IsError {
			t.Errorf("a foreign result: %.300s", a.text())
		}
	}
	for _, p := range []*peer{twin, bob, modernBob} {
		if a := p.call(t, "bash_jobs", map[string]any{"action": "list"}); strings.Contains(a.text(), marker) {
			t.Errorf("a foreign job is listed: %s", a.text())
		}
		if a := p.call(t, "bash_jobs", map[string]any{"action": "stop", "job": job}); a.Error == nil && !a.Result.IsError {
			t.Errorf("a foreign job was stopped: %s", a.text())
		}
	}
	if len(marked(t, marker)) == 0 {
		t.Error("the job is gone")
	}
	s.do(t, "DELETE", "/mcp", "", ann.headers("", nil))
	gone(t, marker)
}

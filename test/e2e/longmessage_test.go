package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// lastID is a request as the SDKs of TypeScript and Python write it, with its id at
// the end, of size bytes.
func lastID(id string, size int) string {
	head, tail := `{"method":"tools/call","params":{"name":"echo","arguments":{"id":9,"message":"`, `"}},"jsonrpc":"2.0","id":`+id+`}`
	return head + strings.Repeat("x", size-len(head)-len(tail)) + tail
}

// TestLongMessageStdio sends what is longer than messages may be: it is rejected with
// its own id, and the session goes on.
func TestLongMessageStdio(t *testing.T) {
	t.Parallel()
	w := open(t, binary(), t.TempDir())
	w.handshake("2025-11-25")
	for _, id := range []string{`7`, `"a\"b"`, `1.50`} {
		w.send(lastID(id, maxMessage+1))
		if r := w.answer(id); r.code() != badLetter || !strings.Contains(r.Error.Message, "server.max_message") {
			t.Errorf("%s: %.300s", id, r.Raw)
		}
		w.ping()
	}
	// Nobody waits for an answer to these, or it is not known who.
	for _, line := range []string{
		fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"x":%q}}`, strings.Repeat("x", maxMessage)),
		fmt.Sprintf(`[{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":%q}}]`, strings.Repeat("x", maxMessage)),
	} {
		w.send(line)
		if r := w.answer("null"); r.code() != badLetter {
			t.Errorf("got %.300s", r.Raw)
		}
	}
	w.ping()
	if rss := w.status("VmHWM"); rss > 400<<10 {
		t.Errorf("the server has had %d kB", rss)
	}
}

// TestLongContent writes as much as write_file accepts, in the longest form, and
// one byte more.
func TestLongContent(t *testing.T) {
	t.Parallel()
	const most = 10 << 20
	w := open(t, binary(), t.TempDir())
	w.handshake("2025-11-25")
	for _, tool := range []string{"write_file", "append_file"} {
		write := func(n int) wireLine {
			w.send(request("1", "tools/call", `{"name":"`+tool+`","arguments":{"path":"f","content":"`+strings.Repeat(`\u0001`, n)+`"}}`))
			return w.answer("1")
		}
		if r := write(most); r.Error != nil || strings.Contains(string(r.Raw), `"isError":true`) {
			t.Errorf("%s: %.300s", tool, r.Raw)
		}
		if r := write(most + 1); !strings.Contains(string(r.Raw), "too_large") || !strings.Contains(string(r.Raw), "append_file") {
			t.Errorf("%s, one byte more: %.300s", tool, r.Raw)
		}
	}
}

// ordinaryClients send a file as the body of a request, and print the status and what
// is answered.
var ordinaryClients = map[string][]string{
	"curl": {"curl", "-sS", "-m", "60", "-H", "Expect:", "-H", "Content-Type: application/json", "-H", "Accept: application/json, text/event-stream",
		"-w", "\n%{http_code}", "--data-binary", "@FILE", "URL"},
	"curl, which asks before": {"curl", "-sS", "-m", "60", "-H", "Expect: 100-continue", "-H", "Content-Type: application/json", "-H", "Accept: application/json, text/event-stream",
		"-w", "\n%{http_code}", "--data-binary", "@FILE", "URL"},
	"curl, chunked": {"curl", "-sS", "-m", "60", "-H", "Expect:", "-H", "Transfer-Encoding: chunked", "-H", "Content-Type: application/json", "-H", "Accept: application/json, text/event-stream",
		"-w", "\n%{http_code}", "--data-binary", "@FILE", "URL"},
	"urllib": {"python3", "-c", `
import sys, urllib.request, urllib.error
q = urllib.request.Request(sys.argv[2], data=open(sys.argv[1],"rb").read(), headers={"Content-Type":"application/json","Accept":"application/json, text/event-stream"})
try: print(urllib.request.urlopen(q, timeout=60).read())
except urllib.error.HTTPError as e: print(e.read().decode(), e.code)`, "FILE", "URL"},
	"fetch": {"node", "-e", `
fetch(process.argv[2], {method: "POST", body: require("fs").readFileSync(process.argv[1]), headers: {"Content-Type":"application/json","Accept":"application/json, text/event-stream"}})
  .then(async r => console.log(await r.text(), r.status))`, "FILE", "URL"},
}

// TestLongMessageHTTP has ordinary clients send bodies that are longer than messages
// may be. They read why, and which request it was.
func TestLongMessageHTTP(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startHTTP(t, binary(), httpConfig(t, dir, "server: {max_message: 10MiB}")...)
	file := filepath.Join(t.TempDir(), "body")
	for _, size := range []int{10<<20 + 1, 30 << 20} {
		must(t, os.WriteFile(file, []byte(lastID("77", size)), 0o600))
		for name, argv := range ordinaryClients {
			if _, err := exec.LookPath(argv[0]); err != nil {
				t.Logf("there is no %s", argv[0])
				continue
			}
			var args []string
			for _, arg := range argv[1:] {
				args = append(args, strings.NewReplacer("FILE", file, "URL", s.url).Replace(arg))
			}
			out, err := exec.CommandContext(t.Context(), argv[0], args...).CombinedOutput()
			id := `"id":77`
			if strings.Contains(name, "asks") {
				id = `"id":null` // nothing is read
			}
			if err != nil || !strings.Contains(string(out), id) || !strings.Contains(string(out), "server.max_message") || !strings.Contains(string(out), "413") {
				t.Errorf("%s, %d bytes: %v %.500s", name, size, err, out)
			}
		}
	}
	if rss := s.status("VmHWM"); rss > 200<<10 {
		t.Errorf("the server has had %d kB", rss)
	}
	s.running(t)
}

// TestChunkedBodies has many calls under way whose bodies came without a length. Short
// ones take nothing of the room for long messages.
func TestChunkedBodies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startHTTP(t, binary(), httpConfig(t, dir, "")...)
	p := s.newPeer(t, "2025-11-25", "")
	for i := range 20 {
		msg := p.callMessage(fmt.Sprint(i+1), "bash", map[string]any{"command": fmt.Sprintf("touch begun%d; until [ -e go ]; do sleep 0.02; done", i)}, "")
		go func() {
			resp, err := s.try(t.Context(), http.MethodPost, "/mcp", struct{ *strings.Reader }{strings.NewReader(msg)}, p.headers(msg, nil))
			if err == nil {
				resp.Body.Close()
			}
		}()
	}
	for i := range 20 {
		appears(t, filepath.Join(dir, fmt.Sprintf("begun%d", i)))
	}
	long := lastID("50", 30<<20)
	resp, err := s.try(t.Context(), http.MethodPost, "/mcp", struct{ *strings.Reader }{strings.NewReader(long)}, p.headers(long, nil))
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("a long one: %v %v", resp, err)
	}
	touch(t, filepath.Join(dir, "go"))
}

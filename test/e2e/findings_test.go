//go:build linux

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The tests of this file have gone wrong once, with the product as it is. What
// takes more than the product offers is in the matrix.

// holding begins a command that runs until the file go is there.
func (w *wire) holding(dir, id string) {
	w.t.Helper()
	w.send(bash(id, "touch begun; until [ -e go ]; do sleep 0.02; done"))
	appears(w.t, filepath.Join(dir, "begun"))
}

const prompting = `{"name":"code_review","arguments":{"code":"x"}}`

// TestTurnedAway has limits turn away what is not a tool: that is an error of its
// own kind, and the server goes on.
func TestTurnedAway(t *testing.T) {
	for what, request := range map[string]string{
		"prompt":     request("1", "prompts/get", prompting),
		"resource":   request("1", "resources/read", `{"uri":"status://health"}`),
		"completion": request("1", "completion/complete", `{"ref":{"type":"ref/resource","uri":"file:///{path}"},"argument":{"name":"path","value":"x"}}`),
	} {
		t.Run(what+", no slot", func(t *testing.T) {
			t.Parallel()
			config, dir := configured(t, "limits: {per_principal: 1, queue_wait: 20ms}\n")
			w := open(t, binary(), "--config", config)
			w.handshake("2025-11-25")
			w.holding(dir, `"held"`)
			w.send(request)
			if r := w.answer("1"); r.code() != busy {
				t.Errorf("got %s", r.Raw)
			}
			touch(t, filepath.Join(dir, "go"))
			w.answer(`"held"`)
		})
		t.Run(what+", over the rate", func(t *testing.T) {
			t.Parallel()
			config, _ := configured(t, "limits: {rate_per_minute: 1}\n")
			w := open(t, binary(), "--config", config)
			w.handshake("2025-11-25")
			w.echoes(1, 1)
			w.send(request)
			if r := w.answer("1"); r.code() != overRate {
				t.Errorf("got %s", r.Raw)
			}
			w.ping()
		})
	}
	t.Run("batch", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		s := startHTTP(t, binary(), httpConfig(t, dir, "limits: {rate_per_minute: 1}")...)
		p := s.newPeer(t, "2025-03-26", "")
		p.post(t, "["+request("1", "prompts/get", prompting)+","+request("2", "prompts/get", prompting)+"]", nil)
		s.running(t)
	})
}

// TestRevoked takes a group from a client that is connected.
func TestRevoked(t *testing.T) {
	const tools = "tools: {echo: {groups: [staff]}}\n"
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		config, _ := configured(t, tools+"users: {local: {groups: [staff]}}\n")
		w := open(t, binary(), "--config", config)
		w.handshake("2025-11-25")
		w.echoes(1, 1)
		reconfigure(t, config, tools)
		eventually(t, "echo is gone", func() bool {
			w.send(request("1", "tools/call", `{"name":"echo","arguments":{"message":"x"}}`))
			return w.answer("1").code() == noTool
		})
	})
	t.Run("http", func(t *testing.T) {
		t.Parallel()
		entry := "server: {tokens: [" + tokenEntry("ann", "anns") + "]}\n"
		config, _ := configured(t, tools+entry+"users: {ann: {groups: [staff]}}\n")
		s := startHTTP(t, binary(), "--config", config)
		p := s.newPeer(t, "2025-11-25", "anns")
		if a := p.call(t, "echo", map[string]any{"message": "x"}); a.Error != nil {
			t.Fatalf("got %+v", a)
		}
		reconfigure(t, config, tools+entry)
		eventually(t, "echo is gone", func() bool {
			a := p.call(t, "echo", map[string]any{"message": "x"})
			return a.Error != nil && a.Error.Code == noTool
		})
		reconfigure(t, config, tools) // no token at all
		eventually(t, "the server is closed", func() bool {
			r := (&peer{server: s}).post(t, initializeMessage("2025-11-25"), nil)
			if r.status == http.StatusOK {
				t.Fatalf("without tokens, everybody is let in: %s", r.body)
			}
			return strings.Count(s.log(), "configuration reloaded") == 2
		})
	})
}

// TestSecretOnItsWay has a command print a secret of the server's, so that it
// goes out as progress and as what there was in time.
func TestSecretOnItsWay(t *testing.T) {
	config, _ := configured(t, withSecret+"limits: {max_result_chars: 1000}\n")
	w := open(t, binary(), "--config", config)
	w.handshake("2025-11-25")
	print := "echo " + backwards + " | rev"
	for id, call := range map[string]string{
		"1": fmt.Sprintf(`{"name":"bash","arguments":{"command":%q},"_meta":{"progressToken":1}}`, "for i in 1 2 3 4 5; do "+print+"; sleep 0.4; done"),
		"2": fmt.Sprintf(`{"name":"bash","arguments":{"command":%q,"timeout":1}}`, print+"; sleep 100"),
	} {
		w.send(request(id, "tools/call", call))
	}
	for answers := 0; answers < 2; {
		r := w.receive()
		if r.Method == "" {
			answers++
		}
		if strings.Contains(string(r.Raw), secret) {
			t.Errorf("got %s", r.Raw)
		}
	}
}

// TestWaitingHoldsNothing has one client fill its own slots and wait for more:
// the other does not wait.
func TestWaitingHoldsNothing(t *testing.T) {
	dir := t.TempDir()
	s := startHTTP(t, binary(), httpConfig(t, dir, "limits: {per_principal: 2, per_tool: 4, queue_wait: 5s}\nserver: {tokens: ["+tokenEntry("ann", "anns")+", "+tokenEntry("bob", "bobs")+"]}")...)
	ann, bob := s.newPeer(t, "2025-11-25", "anns"), s.newPeer(t, "2025-11-25", "bobs")
	for i := range 2 {
		ann.send(t.Context(), ann.callMessage(fmt.Sprint(i+1), "bash", map[string]any{"command": fmt.Sprintf("touch begun%d; until [ -e go ]; do sleep 0.02; done", i)}, ""))
		appears(t, fmt.Sprintf("%s/begun%d", dir, i))
	}
	for i := range 4 {
		ann.send(t.Context(), ann.callMessage(fmt.Sprint(i+10), "bash", map[string]any{"command": "echo"}, ""))
	}
	eventually(t, "ann's calls wait", func() bool { // they have been taken in
		r := ann.post(t, ann.message("13", "resources/unsubscribe", `"uri":"x:"`, ""), nil)
		return strings.Contains(r.body, "already")
	})
	if a := bob.call(t, "bash", map[string]any{"command": "echo hello"}); !strings.Contains(a.text(), "hello") {
		t.Errorf("got %s", a.text())
	}
	touch(t, dir+"/go")
}

// TestReloadsReleaseDescriptors counts descriptors after reloads of the policy
// with calls in between.
func TestReloadsReleaseDescriptors(t *testing.T) {
	t.Parallel()
	config, dir := configured(t, "")
	w := open(t, binary(), "--config", config)
	w.handshake("2025-11-25")
	count := func() int {
		all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", w.cmd.Process.Pid))
		if err != nil {
			t.Skip(err)
		}
		return len(all)
	}
	round := func(i int) {
		before := strings.Count(w.log(), "configuration reloaded")
		reconfigure(t, config, fmt.Sprintf("tools: {read_file: {denied_paths: [/x%d]}}\n", i))
		w.cmd.Process.Signal(syscall.SIGHUP) // at once
		eventually(t, "the configuration is reloaded", func() bool { return strings.Count(w.log(), "configuration reloaded") > before })
		for _, tool := range []string{"list_directory", "search_files", "read_file"} {
			w.send(request("1", "tools/call", fmt.Sprintf(`{"name":%q,"arguments":{"path":%q,"pattern":"x"}}`, tool, dir)))
			w.answer("1")
		}
	}
	round(0)
	before := count()
	for i := range 25 {
		round(i + 1)
	}
	if after := count(); after > before+5 {
		t.Errorf("%d descriptors, and %d after 25 reloads", before, after)
	}
}

// TestManyMistakes sends arguments of which each is wrong.
func TestManyMistakes(t *testing.T) {
	w := open(t, binary(), t.TempDir())
	var args strings.Builder
	for i := range 300_000 {
		fmt.Fprintf(&args, `,"n%d":1`, i)
	}
	w.send(request("1", "tools/call", `{"name":"echo","arguments":{`+args.String()[1:]+`}}`))
	if r := w.answer("1"); r.code() != invalid || len(r.Raw) > 20_000 {
		t.Errorf("%d bytes: %.300s", len(r.Raw), r.Raw)
	}
}

// TestLongNames sends names of some megabytes. Neither answers nor the log repeat
// them.
func TestLongNames(t *testing.T) {
	w := open(t, binary(), t.TempDir())
	w.handshake("2025-11-25")
	long := strings.Repeat("n", 5<<20)
	for id, msg := range map[string]string{
		"1": request("1", "tools/call", `{"name":"`+long+`"}`), "2": request("2", long, "{}"),
		"3": request("3", "resources/read", `{"uri":"`+long+`"}`), "4": request("4", "prompts/get", `{"name":"`+long+`"}`),
	} {
		w.send(msg)
		// A client that asks for a document knows its URI from the data.
		if r := w.answer(id); r.Error == nil || len(r.Error.Message) > 2000 {
			t.Errorf("the message of %s has %d bytes", id, len(r.Error.Message))
		}
	}
	w.ping()
	if n := len(w.log()); n > 20_000 {
		t.Errorf("the log has %d bytes", n)
	}
}

// TestMemoryInFlight has one client send more than the server may hold.
func TestMemoryInFlight(t *testing.T) {
	dir := t.TempDir()
	s := startHTTP(t, binary(), dir)
	p := s.newPeer(t, "2025-11-25", "")
	args := map[string]any{"command": "mktemp begunXXXXXX; sleep 1000", "timeout": 600, "stdin": strings.Repeat("x", 9<<20)}
	for i := range 30 {
		p.send(t.Context(), p.callMessage(fmt.Sprint(i+1), "execute_command", args, ""))
	}
	eventually(t, "some calls run", func() bool {
		begun, _ := filepath.Glob(dir + "/begun*")
		return len(begun) >= 5
	})
	p.post(t, p.message("100", "ping", "", ""), nil)
	rss := s.status("VmRSS")
	if begun, _ := filepath.Glob(dir + "/begun*"); len(begun) > 8 || rss > 700<<10 {
		t.Errorf("%d calls run, and the server has %d kB", len(begun), rss)
	}
}

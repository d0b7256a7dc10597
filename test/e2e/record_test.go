//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolserver/toolserver/cmd/toolserver/record"
	"github.com/toolserver/toolserver/test/fakes/covered"
)

// records is what servers with a configuration and a state write.
type records struct {
	t                  *testing.T
	config, dir, state string
}

// recorded returns the entries that toolserver log shows.
func (s *records) recorded(args ...string) (all []record.Entry) {
	s.t.Helper()
	cmd := exec.Command(binary(), append([]string{"log", "--json", "--last", "0", "--config", s.config}, args...)...)
	cmd.Env = append(covered.Env(), "HOME=/nonexistent", "XDG_STATE_HOME="+s.state)
	out, err := cmd.Output()
	must(s.t, err)
	for line := range strings.Lines(string(out)) {
		var e record.Entry
		must(s.t, json.Unmarshal([]byte(line), &e))
		all = append(all, e)
	}
	return all
}

// told returns what the entries say that select picks, without repetitions, in order of the text.
func told(all []record.Entry, pick func(e record.Entry) []string) string {
	said := map[string]bool{}
	for _, e := range all {
		for _, text := range pick(e) {
			said[text] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(said)), " ")
}

// TestRecord has two servers work for two principals at once, kills both within calls, and asks what was done: the record
// says what the file system and the stand-ins saw.
func TestRecord(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := map[string]bool{} // paths that the site was asked for
	site := newStandIn(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.Path] = true
		mu.Unlock()
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/new", http.StatusFound)
			return
		}
		fmt.Fprint(w, "hello")
	}))
	s := &records{t: t, state: t.TempDir()}
	s.config, s.dir = configured(t, strings.Join([]string{
		withTokens("ann", "anns-secret-token") + "sandbox:",
		"  private_hosts: ['" + strings.TrimPrefix(site.url, "http://") + "']",
		"  network: {allow: [allowed.example]}",
		"tools:",
		"  write_file:",
		"    denied_paths:",
		"      - secret",
		"      - '*.key'",
		"  bash:",
		"    denied_commands: [shutdown]",
		"    inline_code: allow",
		"    opaque_scripts: allow",
		"  move_file: {enabled: false}",
		"  delete_file: {enabled: true}",
		"  web_fetch:",
		"    denied_hosts: [evil.example]",
		gateway(entry("up", "", upstreamBinary(t))),
	}, "\n"))
	line := func(text string) string { // FILE:LINE of it
		b, err := os.ReadFile(s.config)
		must(t, err)
		before, _, ok := strings.Cut(string(b), text)
		if !ok {
			t.Fatalf("the configuration has no %q", text)
		}
		return fmt.Sprintf("%s:%d", s.config, strings.Count(before, "\n")+1)
	}
	must(t, os.WriteFile(filepath.Join(s.dir, "read.txt"), []byte("content that is nobody's business"), 0o600))

	local := reopenGateway(t, &gatewayServer{config: s.config, dir: s.dir, state: s.state})
	remote := launchHTTP(t, []string{"XDG_STATE_HOME=" + s.state, "HOME=/nonexistent"}, binary(), "--config", s.config)
	ann := userOf(t, remote, "anns-secret-token", "2025-11-25", nil)
	modern := userOf(t, remote, "anns-secret-token", modernVersion, nil)
	local.awaits("up__echo")

	annCalls := func(tool string, args map[string]any) { _, _ = ann.CallTool(t.Context(), tool, args, nil) }
	for i := range 20 {
		local.call("write_file", map[string]any{"path": fmt.Sprintf("local/%d.txt", i), "content": "private words"})
		annCalls("write_file", map[string]any{"path": fmt.Sprintf("%s/ann/%d.txt", s.dir, i), "content": "private words"})
	}
	local.call("read_file", map[string]any{"path": "read.txt"})
	local.call("delete_file", map[string]any{"path": "local/19.txt"})
	local.call("copy_file", map[string]any{"source": "read.txt", "destination": "copied.txt"})
	local.call("write_file", map[string]any{"path": "x.key", "content": "k"})
	local.call("write_file", map[string]any{"path": "secret/x", "content": "k"})
	local.call("write_file", map[string]any{"path": "/etc/cron.d/x", "content": "k"})
	local.call("read_file", map[string]any{"path": ".env"})
	local.call("move_file", map[string]any{"source": "read.txt", "destination": "moved.txt"})
	local.call("bash", map[string]any{"command": "echo hi > by-command.txt"})
	local.call("bash", map[string]any{"command": "shutdown now"})
	local.call("bash", map[string]any{"command": `python3 -c 'open("/var/tmp/by-kernel.txt", "w")' || true`})
	local.call("bash", map[string]any{"command": "curl -s https://refused.example/x"})
	local.call("web_fetch", map[string]any{"url": site.url + "/old"})
	local.call("web_fetch", map[string]any{"url": "https://evil.example/x"})
	local.call("up__echo", map[string]any{"message": "private words"})
	annCalls("web_fetch", map[string]any{"url": site.url + "/ann"})
	annCalls("no_such_tool", nil)
	_, _ = modern.CallTool(t.Context(), "read_file", map[string]any{"path": "read.txt"}, nil)
	_, _ = modern.CallTool(t.Context(), "read_file", map[string]any{"path": "copied.txt"}, nil)
	reconfigure(t, s.config, string(must1(os.ReadFile(s.config)))[len("working_directory: .\n"):]+"# changed\n")
	eventually(t, "both have the new configuration", func() bool {
		return strings.Contains(local.log(), "configuration reloaded") && strings.Contains(remote.log(), "configuration reloaded")
	})
	ann.Close()
	eventually(t, "ann's session has ended", func() bool {
		return len(s.recorded("--principal", "ann")) > 0 && strings.Contains(told(s.recorded(), what), "leave")
	})

	// Killed while commands run, and in the middle of writes.
	for i, c := range []func(){
		func() { local.begin("bash", map[string]any{"command": "echo x > " + s.dir + "/begun.0; sleep 100"}) },
		func() {
			go func() {
				_, _ = modern.CallTool(t.Context(), "bash", map[string]any{"command": "echo x > begun.1; sleep 100"}, nil)
			}()
		},
	} {
		c()
		appears(t, filepath.Join(s.dir, fmt.Sprintf("begun.%d", i)))
	}
	if got := told(s.recorded("--tool", "bash"), outcomes); !strings.Contains(got, "running") {
		t.Errorf("no call runs: %s", got)
	}
	var writing sync.WaitGroup
	for n := range 4 {
		writing.Go(func() {
			for i := 0; ; i++ {
				p := local.begin("write_file", map[string]any{"path": fmt.Sprintf("killed/%d-%d.txt", n, i), "content": "private words"})
				if <-p.over; p.err != nil || p.answer.failed() {
					return
				}
			}
		})
	}
	appears(t, filepath.Join(s.dir, "killed", "0-20.txt"))
	local.cmd.Process.Kill()
	remote.cmd.Process.Kill()
	<-local.exited
	<-remote.exited
	writing.Wait()

	there := func(dir string) string { // files, as the record names them
		names := map[string]bool{}
		_ = filepath.WalkDir(filepath.Join(s.dir, dir), func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				names[filepath.Join(dir, filepath.Base(path))] = true
			}
			return nil
		})
		return strings.Join(slices.Sorted(maps.Keys(names)), " ")
	}
	below := func(dir, text string) string { // of the paths in a text
		var in []string
		for _, p := range strings.Fields(text) {
			if p = strings.TrimPrefix(p, s.dir+"/"); strings.HasPrefix(p, dir+"/") {
				in = append(in, p)
			}
		}
		slices.Sort(in)
		return strings.Join(in, " ")
	}
	done := func(e record.Entry) bool { return e.Outcome == "ok" || e.Outcome == "unfinished" }
	of := func(name string) func(record.Entry) []string {
		return func(e record.Entry) []string {
			if !done(e) {
				return nil
			}
			return e.Target[name]
		}
	}
	rule := func(e record.Entry) (all []string) {
		for _, r := range e.Refused {
			all = append(all, strings.TrimSpace(r.Rule+" "+r.Line))
		}
		return all
	}
	all := s.recorded()
	mu.Lock()
	sites := strings.Join(slices.Sorted(maps.Keys(asked)), " ")
	mu.Unlock()
	questions := []struct{ question, got, want string }{
		{"which files did the local user write", below("local", told(s.recorded("--tool", "write_file", "--principal", "local"), of("path"))), there("local") + " local/19.txt"},
		{"which files did ann write", below("ann", told(s.recorded("--tool", "write_file", "--principal", "token:ann"), of("path"))), there("ann")},
		{"which were written when it was killed", below("killed", told(s.recorded("--tool", "write_file"), func(e record.Entry) (paths []string) {
			for _, p := range e.Target["path"] {
				if _, missing := os.Stat(filepath.Join(s.dir, p)); e.Outcome == "ok" || e.Outcome == "unfinished" && missing == nil {
					paths = append(paths, p)
				}
			}
			return paths
		})), there("killed")},
		{"what was read", told(s.recorded("--tool", "read_file", "--principal", "local"), of("path")), "read.txt"},
		{"what was deleted", told(s.recorded("--tool", "delete_file"), of("path")), "local/19.txt"},
		{"what was copied", told(s.recorded("--tool", "copy_file"), func(e record.Entry) []string {
			return []string{e.Target["source"][0] + ">" + e.Target["destination"][0]}
		}), "read.txt>copied.txt"},
		{"which commands were run", told(s.recorded("--tool", "bash", "--path", filepath.Join(s.dir, "begun.0")), of("command")), "echo x > " + s.dir + "/begun.0; sleep 100"},
		{"what was fetched", told(s.recorded("--tool", "web_fetch"), func(e record.Entry) (paths []string) {
			for _, u := range slices.Concat(e.Target["url"], e.Made["url"]) {
				if p, ok := strings.CutPrefix(u, site.url); ok {
					paths = append(paths, p)
				}
			}
			return paths
		}), sites},
		{"what of it by ann", told(s.recorded("--tool", "web_*", "--principal", "ann"), of("url")), site.url + "/ann"},
		{"which tool of which server", told(s.recorded("--tool", "up__echo"), func(e record.Entry) []string { return []string{e.Server + "/" + e.ServerTool} }), "up/echo"},
		{"what was refused for writing", told(s.recorded("--denied", "--tool", "write_file"), rule), "tools.write_file.allowed_paths tools.write_file.denied_paths " + line("- secret") + " tools.write_file.denied_paths " + line("- '*.key'")},
		{"what was refused for reading", told(s.recorded("--denied", "--tool", "read_file"), rule), "sandbox.unprotected"},
		{"which tool is switched off by which line", told(s.recorded("--denied", "--tool", "move_file"), rule), "tools.move_file.enabled " + line("move_file:")},
		{"which command was refused by which line", told(s.recorded("--denied", "--tool", "bash"), rule), "sandbox.network.allow " + line("network:") + " tools.bash.denied_commands " + line("denied_commands") + " tools.write_file.allowed_paths"},
		{"what did the kernel refuse", told(s.recorded("--denied", "--path", "/var/tmp/by-kernel.txt"), outcomes), "ok"},
		{"which host was refused by which line", told(s.recorded("--denied", "--tool", "web_fetch"), rule), "tools.web_fetch.denied_hosts " + line("denied_hosts")},
		{"which clients were there", told(all, func(e record.Entry) []string {
			if e.What != "connect" {
				return nil
			}
			return []string{e.Principal + "/" + e.Client + "/" + e.Protocol}
		}), "token:ann/t 1/2025-11-25 token:ann/t 1/" + modernVersion + " user:local/t 1/2025-11-25"},
		{"what happened besides", told(all, func(e record.Entry) []string {
			if slices.Contains([]string{"start", "connect", "leave", "ready", "configuration reloaded"}, e.What) {
				return []string{e.What + e.Server}
			}
			return nil
		}), "connect leave readyup start configuration reloaded"},
		{"what did not end", told(all, func(e record.Entry) []string {
			if e.Outcome != "unfinished" || e.Tool != "bash" {
				return nil
			}
			return e.Target["command"]
		}), "echo x > " + s.dir + "/begun.0; sleep 100 echo x > begun.1; sleep 100"},
		{"how often did the client without a session connect", fmt.Sprint(strings.Count(told(all, func(e record.Entry) []string {
			if e.What == "connect" && e.Protocol == modernVersion {
				return []string{e.Time.String()}
			}
			return nil
		}), "UTC")), "1"},
		{"what was asked for that there is not", told(s.recorded("--tool", "no_such_tool"), outcomes), "error"},
		{"what happened below a directory", below("ann", told(s.recorded("--path", filepath.Join(s.dir, "ann")), of("path"))), there("ann")},
		{"what did a client of another name do", told(s.recorded("--client", "other"), what), ""},
		{"what happened before", told(s.recorded("--since", "2099-01-01"), what), ""},
	}
	right := 0
	for _, q := range questions {
		if got, want := sorted(q.got), sorted(q.want); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", q.question, got, want)
		} else {
			right++
		}
	}
	t.Logf("%d of %d answers are right", right, len(questions))

	// Nothing of what was written, read or presented is in the files.
	files, err := filepath.Glob(filepath.Join(s.state, "toolserver", "record", "*.jsonl"))
	must(t, err)
	for _, file := range files {
		b, err := os.ReadFile(file)
		must(t, err)
		for _, secret := range []string{"private words", "nobody's business", "anns-secret-token"} {
			if strings.Contains(string(b), secret) {
				t.Errorf("%s has %q", file, secret)
			}
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", file, info.Mode(), err)
		}
	}

	// A decision is shown again, with what would allow it.
	explain := func(e record.Entry, want ...string) {
		t.Helper()
		cmd := exec.Command(binary(), "log", "explain", e.ID, "--config", s.config)
		cmd.Env = append(covered.Env(), "HOME=/nonexistent", "XDG_STATE_HOME="+s.state, "PATH="+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		must(t, err)
		contain(t, "log explain", string(out), want...)
	}
	byPath := func(path string) record.Entry {
		for _, e := range all {
			if slices.Contains(e.Target["path"], path) {
				return e
			}
		}
		t.Fatalf("nothing about %s", path)
		return record.Entry{}
	}
	explain(byPath("x.key"), line("- '*.key'"), "take *.key out of tools.write_file.denied_paths", "today:    denied")
	explain(byPath("/etc/cron.d/x"), "(default)", "add /etc/cron.d to tools.write_file.allowed_paths")
	explain(byPath(".env"), `add .env to sandbox.unprotected`)
	text := string(must1(os.ReadFile(s.config)))
	must(t, os.WriteFile(s.config, []byte(strings.Replace(text, "      - '*.key'\n", "", 1)), 0o600))
	explain(byPath("x.key"), "today:    allowed, other than then")
}

func what(e record.Entry) []string { return []string{e.What} }

func outcomes(e record.Entry) []string { return []string{e.Outcome} }

func sorted(text string) string {
	words := strings.Fields(text)
	slices.Sort(words)
	return strings.Join(slices.Compact(words), " ")
}

func must1[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestRecordOfMail compares the record with what the stand-in of Google has sent.
func TestRecordOfMail(t *testing.T) {
	t.Parallel()
	g := newGoogleGround(t, account{"own", os.Geteuid()}, "", "tools: {gmail_send: {denied_recipients: ['@denied.example']}}\n")
	b := g.serve()
	g.signIn(b, alice)
	b.call("gmail_send", map[string]any{"to": bob, "cc": "carl@example.com", "subject": "private subject", "body": "private body"})
	b.call("gmail_send", map[string]any{"to": "x@denied.example", "subject": "s", "body": "b"})
	sent := g.google.Sent(alice)
	if len(sent) != 1 {
		t.Fatalf("%d sent", len(sent))
	}
	eventually(t, "both are recorded", func() bool {
		text, _ := g.command("log", "--json", "--tool", "gmail_send")
		return strings.Count(text, "\n") == 2 && !strings.Contains(text, "running")
	})
	text, _ := g.command("log", "--json", "--tool", "gmail_send")
	first, second, _ := strings.Cut(text, "\n")
	contain(t, "the record", first, `"id":["`+sent[0].ID+`"]`, `"to":["`+bob+`"]`, `"cc":["carl@example.com"]`)
	contain(t, "the record", second, "x@denied.example", "tools.gmail_send.denied_recipients", g.file+":")
	if strings.Contains(text, "private") {
		t.Errorf("the record has what was sent: %s", text)
	}
}

// TestRecordCannotBeWritten has nowhere to keep a record: calls go on, the log and check say so.
func TestRecordCannotBeWritten(t *testing.T) {
	t.Parallel()
	s := openGateway(t, "state_directory: /dev/null/state\n")
	for range 3 {
		if a := s.call("write_file", map[string]any{"path": "a", "content": "a"}); a.failed() {
			t.Errorf("a call fails: %s", a.text())
		}
	}
	if n := strings.Count(s.log(), "the record of what is done cannot be written"); n != 1 {
		t.Errorf("the log says it %d times: %s", n, s.log())
	}
	contain(t, "check", s.run("check"), "fail record")
}

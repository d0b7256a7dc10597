//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolserver/toolserver/sandbox/confine"
	"github.com/toolserver/toolserver/upstream/mcpclient"
)

// asked is a user who is asked, and what they say.
type asked struct {
	mu        sync.Mutex
	says      string // the result of elicitation/create, or "wait" for none before the end of the call
	questions []string
	offers    []string // the choices of the last question
	came      chan struct{}
	pause     time.Duration // before they say it
	meanwhile func()        // what happens before they say it; may be nil
}

func (a *asked) elicit(ctx context.Context, params json.RawMessage) (any, error) {
	var q struct {
		Message         string
		RequestedSchema struct {
			Properties map[string]struct{ Enum []string }
		}
	}
	if err := json.Unmarshal(params, &q); err != nil {
		return nil, err
	}
	a.mu.Lock()
	a.questions, a.offers = append(a.questions, q.Message), q.RequestedSchema.Properties["allow"].Enum
	says, pause := a.says, a.pause
	a.mu.Unlock()
	time.Sleep(pause)
	if a.meanwhile != nil {
		a.meanwhile()
	}
	if says == "wait" {
		close(a.came)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return json.RawMessage(says), nil
}

// saying sets what the user says next, and forgets what they were asked.
func (a *asked) saying(says string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.says, a.questions, a.offers, a.came = says, nil, nil, make(chan struct{})
}

func (a *asked) was() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.questions
}

// options are those of a client whose user is a; nil for one that cannot ask.
func (a *asked) options(version string) mcpclient.Options {
	o := mcpclient.Options{Name: "t", Version: "1", Protocol: version, ConnectTimeout: patience}
	if a != nil {
		o.Handlers = map[string]mcpclient.Handler{"elicitation/create": a.elicit}
	}
	return o
}

const (
	sayOnce    = `{"action":"accept","content":{"allow":"once"}}`
	saySession = `{"action":"accept","content":{"allow":"session"}}`
	sayNo      = `{"action":"decline"}`
)

// askGround is where servers that ask work.
type askGround struct {
	*ground
	file string
}

func newAskGround(t *testing.T, who account, policy string) *askGround {
	t.Helper()
	g := &askGround{ground: newGround(t, who)}
	out, err := os.MkdirTemp("/var/tmp", "ask-") // not where the sandbox has a directory of its own
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(out)) })
	must(t, os.Chown(out, who.id, who.id))
	must(t, os.Chmod(out, 0o755))
	g.out, g.file = out, filepath.Join(g.dir, "config.yaml")
	g.configure(g.file, policy)
	return g
}

// serve starts a server on stdio for one client.
func (g *askGround) serve(user *asked, version string, s setup) *toolClient {
	g.t.Helper()
	s.file = g.file
	out, stdout, err := os.Pipe()
	must(g.t, err)
	c := &toolClient{program: spawn(g.t, stdout, nil, g.argv(s)...)}
	g.t.Cleanup(func() { c.kill(); c.mcp.Close() })
	c.output = &checkedOutput{File: out, in: c.in, t: g.t}
	c.mcp, err = mcpclient.Connect(g.t.Context(), c.output, user.options(version))
	must(g.t, err)
	return c
}

const listsForAsking = `sandbox: {ask: [commands, writes, network]}
logging: {format: json}
tools:
  bash: {allowed_commands: [echo, cat, git status, {name: sort, args_deny: [-o]}], denied_commands: [uname]}
  web_fetch: {allowed_hosts: [listed.invalid]}
  write_file: {denied_paths: [%[1]s/denied]}
`

// TestAsk has a person lift refusals, over both transports and in both eras.
func TestAsk(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", modernVersion} {
		for _, transport := range []string{"stdio", "http"} {
			t.Run(version+" "+transport, func(t *testing.T) {
				t.Parallel()
				g := newAskGround(t, account{"own", os.Geteuid()}, "")
				g.configure(g.file, fmt.Sprintf(listsForAsking, g.out))
				user := &asked{}
				c := &toolClient{}
				if transport == "stdio" {
					c = g.serve(user, version, setup{})
				} else {
					s := startHTTP(t, binary(), "--config", g.file)
					client, err := mcpclient.ConnectHTTP(t.Context(), http.DefaultClient, s.url, nil, user.options(version))
					must(t, err)
					t.Cleanup(client.Close)
					c.program, c.mcp = s.program, client
				}
				bash := func(command string) func() answer {
					return func() answer { return c.call("bash", map[string]any{"command": command}) }
				}
				write := func(path string) func() answer {
					return func() answer { return c.call("write_file", map[string]any{"path": path, "content": "x"}) }
				}
				sessions := transport == "stdio" || version != modernVersion
				for _, test := range []struct {
					what string
					call func() answer
					says string
					want string // of the answer
					ask  string // the question has it; empty if none is asked
				}{
					{"not listed, no", bash("expr 1"), sayNo, "bash was not run: the user did not agree to it (it needs what policy does not allow: command expr)", "command expr."},
					{"not listed, canceled", bash("expr 1"), `{"action":"cancel"}`, "the user did not agree", "command expr."},
					{"not listed, once", bash("seq 3 | sort"), sayOnce, "1\n2\n3", "command seq. Allow bash with {"},
					{"once is once", bash("seq 3 | sort"), sayNo, "the user did not agree", "command seq."},
					{"a program that the kernel does not start either", bash("expr 3 + 4"), sayOnce, "7", "command expr."},
					{"two at once", bash("seq 2 && expr 1 + 1"), sayOnce, "1\n2\n2", "command seq, command expr."},
					{"a sub-command", bash("git --version >/dev/null; git log"), sayNo, "did not agree", "command git"},
					{"a program and a directory", bash("seq 2 > " + g.out + "/seq; cat " + g.out + "/seq"), sayOnce, "1\n2", "writing in " + g.out + ", command seq."},
					{"writing", bash("echo b > " + g.out + "/b && cat " + g.out + "/b"), sayOnce, "b", "writing in " + g.out + "."},
					{"write_file, no", write(g.out + "/c"), sayNo, "write_file was not run", "writing in " + g.out + "."},
					{"write_file", write(g.out + "/c/d"), sayOnce, "Successfully wrote 1 bytes", "writing in " + g.out + "."},
					{"a host", func() answer { return c.call("web_fetch", map[string]any{"url": "http://other.invalid/"}) }, sayOnce, "other.invalid", "host other.invalid:80."},
					{"a host, no", func() answer { return c.call("web_fetch", map[string]any{"url": "http://other.invalid/"}) }, sayNo, "web_fetch was not run", "host other.invalid:80."},

					{"denied", bash("uname -s"), sayOnce, "uname -s is denied", ""},
					{"denied beside what is not listed", bash("seq 1; uname"), sayOnce, "denied by policy", ""},
					{"denied arguments", bash("sort -o x y"), sayOnce, "may not get -o", ""},
					{"denied directory", write(g.out + "/denied/x"), sayOnce, "is denied by the rule", ""},
					{"denied directory, by a command", bash("echo x > " + g.out + "/denied"), sayOnce, "denied by policy", ""},
					{"protected", write(g.out + "/.env"), sayOnce, "is protected: .env", ""},
					{"protected, by a command", bash("echo x > " + g.out + "/.env"), sayOnce, "denied by policy", ""},
					{"protected, read by what is not listed", bash("tac " + g.work + "/.env"), sayOnce, "denied by policy", ""},
					{"computed", bash("$(cat x) 3"), sayOnce, "denied by policy", ""},
					{"a computed path", bash("echo x > $(cat x)/x"), sayOnce, "denied by policy", ""},
					{"code that nobody sees", bash("python3 x.py; bash ./x.sh"), sayOnce, "denied by policy", ""},
					{"by its path", bash("./x.sh"), sayOnce, "denied by policy", ""},
					{"the root", bash("echo x > /x"), sayOnce, "denied by policy", ""},
					{"programs of the system", bash("echo x > /usr/bin/x"), sayOnce, "denied by policy", ""},
					{"that does not exist", bash("nosuchprogram"), sayOnce, "nosuchprogram is not allowed", ""},
				} {
					user.saying(test.says)
					got := test.call()
					questions := strings.Join(user.was(), "\n")
					if !strings.Contains(got.text(), test.want) || !strings.Contains(questions, test.ask) || (test.ask == "") != (questions == "") {
						t.Errorf("%s: asked %q, got %q; want %q, %q", test.what, questions, got.text(), test.ask, test.want)
					}
					if test.ask != "" && (len(user.offers) == 3) != sessions {
						t.Errorf("%s: offered %q", test.what, user.offers)
					}
				}

				user.saying(saySession)
				got := bash("tac /etc/passwd >/dev/null; echo x > " + g.out + "/s && echo ok")()
				user.saying(sayNo)
				later := bash("echo y | tac - && echo z > " + g.out + "/t && echo ok")()
				elsewhere := write("/var/tmp/ask-elsewhere")()
				if sessions && (!strings.HasSuffix(got.text(), "ok") || !strings.HasSuffix(later.text(), "ok")) || !sessions && (!got.failed() || !later.failed()) {
					t.Errorf("for the session: %q, then %q", got.text(), later.text())
				}
				if questions := user.was(); !elsewhere.failed() || sessions != (len(questions) == 1) {
					t.Errorf("asked %q, got %q", questions, elsewhere.text())
				}
				if meta, _ := json.Marshal(later.Result.Meta["asked"]); sessions && !strings.Contains(string(meta), `{"about":"command tac, writing in `+g.out+`","answer":"earlier"}`) {
					t.Errorf("_meta says %s", meta)
				}
				if log := c.log(); !strings.Contains(log, `"asked":[{"about":"command seq","answer":"once"}]`) || !strings.Contains(log, `"asked":[{"about":"command expr","answer":"no"}]`) {
					t.Errorf("the log does not say what was answered")
				}
			})
		}
	}
}

// TestAskedByDefault has no list of commands: the kernel refuses what lies outside, so
// that is asked about before.
func TestAskedByDefault(t *testing.T) {
	t.Parallel()
	eachAccount(t, func(t *testing.T, who account) {
		for _, test := range []struct{ name, config, without, want string }{
			{"namespaces", "sandbox: {ask: [writes]}", "", "asked"},
			{"no namespaces", "sandbox: {ask: [writes]}", "namespaces", "asked"},
			{"not configured", "sandbox: {ask: [commands, network]}", "", "refused"},
			{"required", "sandbox: {ask: [writes], enforcement: required}", "", "asked"},
			{"parse_only", "sandbox: {ask: [writes], enforcement: parse_only}", "", "runs"},
		} {
			t.Run(test.name, func(t *testing.T) {
				g := newAskGround(t, who, test.config)
				secret := g.out + "/deep/.env"
				g.ground.file(secret, "A=1\n", 0o644)
				g.ground.file(g.out+"/deep/.git/config", "", 0o644)
				user := &asked{}
				c := g.serve(user, "2025-11-25", setup{without: test.without})
				for i, says := range []string{sayNo, sayOnce, saySession} {
					file := fmt.Sprint(g.out, "/", i)
					user.saying(says)
					got := c.call("bash", map[string]any{"command": "mkdir " + g.out + "/d; echo a > " + file})
					_, err := os.Stat(file)
					if wrote := test.want == "runs" || test.want == "asked" && says != sayNo; (err == nil) != wrote || (len(user.was()) == 1) != (test.want == "asked") {
						t.Errorf("%s: asked %q, got %q, %v", says, user.was(), got.text(), err)
					}
				}
				if test.want == "asked" && test.without == "" { // a file that is found by a name that the text does not have
					got := c.call("bash", map[string]any{"command": "echo a > " + g.out + "/n; for f in $(find " + g.out + "/deep -type f); do echo x > $f; cat $f; done"})
					if content, err := os.ReadFile(secret); err != nil || string(content) != "A=1\n" || strings.Contains(got.text(), "A=1") {
						t.Errorf("a protected file where a person lets commands write: %q, %v, %q", content, err, got.text())
					}
				}
				user.saying(sayNo)
				if got := c.call("bash", map[string]any{"command": "echo a > " + g.out + "/n; echo x > " + g.out + "/.bashrc"}); !got.failed() && test.want != "runs" {
					t.Errorf("what is protected: %q", got.text())
				}
				if _, err := os.Stat(g.out + "/.bashrc"); err == nil && test.want != "runs" {
					t.Error("a protected file was written")
				}
			})
		}
	})
}

// TestAskInSessions checks whom an answer holds for, and until when.
func TestAskInSessions(t *testing.T) {
	t.Parallel()
	g := newAskGround(t, account{"own", os.Geteuid()}, "")
	policy := "sandbox: {ask: [commands]}\ntools: {bash: {allowed_commands: [echo]}}\nserver: {tokens: [" + tokenEntry("ann", "secret-of-ann-0123456789") + ", " + tokenEntry("bob", "secret-of-bob-0123456789") + "]}\n"
	g.configure(g.file, policy)
	s := launchHTTP(t, nil, binary(), "--config", g.file)
	dial := func(who, version string) (*mcpclient.Client, *asked) {
		user := &asked{}
		c, err := mcpclient.ConnectHTTP(t.Context(), http.DefaultClient, s.url, http.Header{"Authorization": {"Bearer secret-of-" + who + "-0123456789"}}, user.options(version))
		must(t, err)
		t.Cleanup(c.Close)
		return c, user
	}
	run := func(c *mcpclient.Client) answer {
		t.Helper()
		a, err := answerOf(c.CallTool(t.Context(), "bash", map[string]any{"command": "seq 1"}, nil))
		must(t, err)
		return a
	}
	ann, ofAnn := dial("ann", "2025-11-25")
	ofAnn.saying(saySession)
	if a := run(ann); a.failed() {
		t.Fatal(a.text())
	}
	ofAnn.saying(sayNo)
	if a := run(ann); a.failed() || len(ofAnn.was()) != 0 {
		t.Errorf("asked again: %q, %q", ofAnn.was(), a.text())
	}
	for _, other := range []struct{ who, version string }{{"ann", "2025-11-25"}, {"ann", modernVersion}, {"bob", "2025-11-25"}} {
		c, user := dial(other.who, other.version)
		user.saying(sayNo)
		if a := run(c); !a.failed() || len(user.was()) != 1 {
			t.Errorf("another session, of %v: asked %q, got %q", other, user.was(), a.text())
		}
	}
	reload := func(text string) {
		t.Helper()
		count := func() int { return strings.Count(s.log(), "configuration reloaded") }
		before := count()
		g.configure(g.file, text)
		eventually(t, "the configuration is reloaded", func() bool { return count() > before })
	}
	reload(policy + "prompts: {}\n")
	if a := run(ann); a.failed() || len(ofAnn.was()) != 0 {
		t.Errorf("after a reload that leaves the policy: asked %q, got %q", ofAnn.was(), a.text())
	}
	reload(strings.Replace(policy, "[echo]", "[echo, cat]", 1))
	if a := run(ann); !a.failed() || len(ofAnn.was()) != 1 {
		t.Errorf("under another policy: asked %q, got %q", ofAnn.was(), a.text())
	}

	// The policy changes while the person thinks.
	ofAnn.saying("wait")
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(done)
		if _, err := ann.CallTool(ctx, "bash", map[string]any{"command": "seq 1"}, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("a call that is canceled while a person is asked: %v", err)
		}
	}()
	<-ofAnn.came
	cancel()
	<-done
	slow, ofSlow := dial("ann", "2025-11-25")
	ofSlow.saying("wait")
	answers := make(chan struct{})
	ofSlow.says = "late"
	slowAnswer := make(chan answer, 1)
	late := ofSlow.options("2025-11-25")
	late.Handlers["elicitation/create"] = func(ctx context.Context, _ json.RawMessage) (any, error) {
		close(ofSlow.came)
		<-answers
		return json.RawMessage(saySession), nil
	}
	slow.Close()
	slow, err := mcpclient.ConnectHTTP(t.Context(), http.DefaultClient, s.url, http.Header{"Authorization": {"Bearer secret-of-ann-0123456789"}}, late)
	must(t, err)
	t.Cleanup(slow.Close)
	go func() { slowAnswer <- run(slow) }()
	<-ofSlow.came
	reload(strings.Replace(policy, "[echo]", "[echo, tr]", 1))
	close(answers)
	if a := <-slowAnswer; !a.failed() || !strings.Contains(a.text(), "the policy has changed since the question was asked") {
		t.Errorf("an answer that came after another policy: %q", a.text())
	}
}

// TestAskConnections asks about hosts while the command that wants them waits.
func TestAskConnections(t *testing.T) {
	t.Parallel()
	v := newVillage(t)
	at := v.at(v.plain)
	config := "sandbox:\n  ask: [network]\n  network: {allow: [listed.invalid]}\n  private_hosts: ['" + at + "']\n" +
		"anthropic: {api_key: sk-ant-0123456789abcdef}\nlogging: {format: json}\nserver: {tokens: [" + tokenEntry("ann", "secret-of-ann-0123456789") + ", " + tokenEntry("bob", "secret-of-bob-0123456789") + "]}\n"
	fetch, refused := "curl -sS http://"+at+"/hello?", "the sandbox refused a connection to "+at+": not in sandbox.network.allow (listed.invalid)"
	for _, transport := range []string{"stdio", "http"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			g := newAskGround(t, account{"own", os.Geteuid()}, config)
			s := &httpServer{}
			if transport == "http" {
				s = launchHTTP(t, nil, binary(), "--config", g.file)
			}
			dial := func(who, version string, user *asked) *toolClient {
				if transport == "stdio" {
					return g.serve(user, version, setup{})
				}
				client, err := mcpclient.ConnectHTTP(t.Context(), http.DefaultClient, s.url, http.Header{"Authorization": {"Bearer secret-of-" + who + "-0123456789"}}, user.options(version))
				must(t, err)
				t.Cleanup(client.Close)
				return &toolClient{program: s.program, mcp: client}
			}
			user := &asked{}
			c := dial("ann", "2025-11-25", user)
			run := func(command string) map[string]any { return map[string]any{"command": command} }
			for _, test := range []struct {
				what, tool string
				args       map[string]any
				says, want string
				asked      int
			}{
				{"no", "bash", run(fetch + "a; " + fetch + "b"), sayNo, "[" + refused + "; the user did not agree to it]", 1},
				{"dismissed", "bash", run(fetch), `{"action":"cancel"}`, refused + "; the user did not agree to it", 1},
				{"an answer that is none", "bash", run(fetch), `{"action":"maybe"}`, refused + "; the client's response", 1},
				{"once, for all of a call", "bash", run(fetch + "a & " + fetch + "b & wait; " + fetch + "c | tr c d"), sayOnce, "hello d", 1},
				{"once is once", "execute_command", run(fetch + "a"), sayOnce, "hello a", 1},
				{"SOCKS", "bash", run(fetch + "a --socks5-hostname " + confine.ProxyAddress), sayOnce, "hello a", 1},
				{"another port", "bash", run(fetch + "a; curl -sS " + v.outside.URL + " --noproxy '' -x http://" + confine.ProxyAddress), sayOnce, "hello a", 1},
				{"a private address", "bash", run("curl -sS --noproxy '' -x http://" + confine.ProxyAddress + " http://10.0.0.1/"), sayOnce, "10.0.0.1:80: not in", 0},
				{"metadata", "bash", run("curl -sS http://169.254.169.254/ http://metadata.google.internal/"), sayOnce, "169.254.169.254:80: not in", 0},
				{"no name", "bash", run("curl -sS -x http://" + confine.ProxyAddress + " 'http://a..b/'"), sayOnce, "a..b:80: not in", 0},
				{"many", "bash", run("for i in $(seq 12); do curl -sS http://n$i.invalid/; done"), sayNo, "n5.invalid:80: not in", 8},
				{"in the background", "bash", map[string]any{"command": fetch, "background": true}, sayOnce, "started", 0},
			} {
				user.saying(test.says)
				got := c.call(test.tool, test.args)
				questions := user.was()
				if !strings.Contains(got.text(), test.want) || len(questions) != test.asked {
					t.Errorf("%s: asked %q, got %q; want %d, %q", test.what, questions, got.text(), test.asked, test.want)
				}
				if test.asked == 1 && !strings.Contains(questions[0], "Policy does not allow this: connection of the running command to "+at+". Allow "+test.tool+` with {`) {
					t.Errorf("%s: asked %q", test.what, questions)
				}
			}
			eventually(t, "the job ends", func() bool {
				user.saying(sayOnce)
				jobs := c.call("bash_jobs", map[string]any{"action": "list"}).text()
				id, _, _ := strings.Cut(jobs, ":")
				read := c.call("bash_jobs", map[string]any{"action": "read", "job": id}).text()
				return strings.Contains(read, "["+refused+"]") && len(user.was()) == 0
			})
			user.saying(sayNo)
			if got := c.call("bash", run("curl -sS http://sk-ant-0123456789abcdef.invalid/")); len(user.was()) != 1 || strings.Contains(user.was()[0]+got.text(), "sk-ant") {
				t.Errorf("a secret: asked %q, got %q", user.was(), got.text())
			}

			// The time of the command does not run while a person thinks.
			user.mu.Lock()
			user.pause = 4 * time.Second
			user.mu.Unlock()
			user.saying(sayOnce)
			if got := c.call("bash", map[string]any{"command": fetch + "late; sleep 1; echo end", "timeout": 3}); !strings.Contains(got.text(), "hello late\nend") {
				t.Errorf("after a slow answer: %q", got.text())
			}
			if got := c.call("bash", map[string]any{"command": fetch + "late; sleep 100", "timeout": 3}); got.errorType() != "timed_out" || !strings.Contains(got.text(), "hello late") {
				t.Errorf("time goes on after the answer: %q", got.text())
			}
			user.mu.Lock()
			user.pause = 0
			user.mu.Unlock()
			// A question ends with its command.
			user.saying("wait")
			began := time.Now()
			if got := c.call("bash", run(fetch+"a -m 1; echo end")); !strings.Contains(got.text(), "end") || time.Since(began) > patience/2 {
				t.Errorf("a command that did not wait: %q after %v", got.text(), time.Since(began))
			}
			user.saying("wait")
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := c.mcp.CallTool(ctx, "bash", run(fetch+"a; echo ran > "+g.work+"/after"), nil)
				ended <- err
			}()
			<-user.came
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("a call that is canceled while a person is asked: %v", err)
			}

			user.saying(saySession)
			if got := c.call("bash", run(fetch+"a")); !strings.Contains(got.text(), "hello a") {
				t.Errorf("for the session: %q", got.text())
			}
			user.saying(sayNo)
			again := c.call("execute_command", run(fetch+"b"))
			if meta, _ := json.Marshal(again.Result.Meta["asked"]); !strings.Contains(again.text(), "hello b") || len(user.was()) != 0 || !strings.Contains(string(meta), at+`","answer":"earlier"`) {
				t.Errorf("later in the session: asked %q, got %q, %s", user.was(), again.text(), meta)
			}
			if _, err := os.Stat(g.work + "/after"); err == nil {
				t.Error("a command went on after its call was canceled")
			}
			for _, other := range []struct{ who, version, want string }{
				{"ann", "2025-11-25", refused + "; the user did not agree to it"}, {"bob", "2025-11-25", refused + "; the user did not agree to it"},
				{"ann", modernVersion, refused + "; this client cannot be asked during a call"},
			} {
				user := &asked{}
				another := dial(other.who, other.version, user)
				user.saying(sayNo)
				if got := another.call("bash", run(fetch+"a")); !strings.Contains(got.text(), other.want) || (len(user.was()) == 1) != (other.version != modernVersion) {
					t.Errorf("another session, %v: asked %q, got %q", other, user.was(), got.text())
				}
			}
			if got := dial("ann", "2025-11-25", nil).call("bash", run(fetch+"a")); !strings.Contains(got.text(), "["+refused+"]") {
				t.Errorf("a client that cannot ask: %q", got.text())
			}

			// Another policy comes into force while a person thinks.
			slow := &asked{}
			another := dial("ann", "2025-11-25", slow)
			slow.saying(saySession)
			slow.pause = 5 * time.Second
			result := make(chan answer, 1)
			go func() { result <- another.call("bash", run(fetch+"a")) }()
			eventually(t, "somebody is asked", func() bool { return len(slow.was()) == 1 })
			g.configure(g.file, strings.Replace(config, "listed.invalid", "other.invalid", 1))
			if got := <-result; !strings.Contains(got.text(), refused+"; the policy has changed since the question was asked") {
				t.Errorf("an answer that came after another policy: %q", got.text())
			}
			if log := c.log() + another.log(); !strings.Contains(log, `{"about":"connection of the running command to `+at+`","answer":"once"}`) || !strings.Contains(log, at+`","answer":"no"}`) {
				t.Errorf("the log does not say what was answered")
			}
		})
	}
	if n := v.outsiders.Load(); n != 0 {
		t.Errorf("%d requests came out", n)
	}
}

// TestAskNobody has clients that cannot ask: the refusal is as it would be without.
func TestAskNobody(t *testing.T) {
	t.Parallel()
	g := newAskGround(t, account{"own", os.Geteuid()}, "")
	for _, ask := range []string{"sandbox: {ask: [commands, writes, network]}\n", ""} {
		g.configure(g.file, ask+"tools: {bash: {allowed_commands: [echo]}, echo: {confirm: true}}\n")
		for _, version := range []string{"2025-11-25", modernVersion} {
			c := g.serve(nil, version, setup{})
			for tool, want := range map[string]string{
				"bash":       "bash: denied by policy: seq 1 is not allowed (rule: not-allowed); allowed commands: echo",
				"write_file": g.out + "/x is outside the allowed paths (allowed: " + g.work + ")",
				"echo":       "echo was not run: a person has to agree to each call of it (tools.echo.confirm), and there is nobody to ask",
			} {
				if got := c.call(tool, map[string]any{
					"bash": map[string]any{"command": "seq 1"}, "write_file": map[string]any{"path": g.out + "/x", "content": "x"}, "echo": map[string]any{"message": "x"},
				}[tool]); !strings.HasPrefix(got.text(), want) {
					t.Errorf("%s %s: %q; want %q", version, tool, got.text(), want)
				}
			}
			c.kill()
		}
		text, code := g.run(setup{file: g.file, command: []string{"call", "bash", "seq 1"}})
		if code != 1 || !strings.Contains(text, "seq 1 is not allowed") {
			t.Errorf("the command line without a terminal: %d, %s", code, text)
		}
	}
}

// TestAskTerminal answers on a terminal.
func TestAskTerminal(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("script"); err != nil {
		t.Skip(err)
	}
	g := newAskGround(t, account{"own", os.Geteuid()}, "sandbox: {ask: [commands]}\ntools: {bash: {allowed_commands: [echo]}}\n")
	for says, want := range map[string]string{"y\n": "41421\r\n", "n\n": "the user did not agree to it", "\n": "the user did not agree to it"} {
		argv := g.argv(setup{file: g.file, command: []string{"call", "bash", "expr 41420 + 1"}})
		cmd := exec.Command("script", "-qec", "'"+strings.Join(argv, "' '")+"'", "/dev/null")
		cmd.Dir, cmd.Stdin = "/", strings.NewReader(says)
		out, _ := cmd.CombinedOutput()
		if !strings.Contains(string(out), "command expr. Allow bash with") || !strings.Contains(string(out), "[y/N]") || !strings.Contains(string(out), want) {
			t.Errorf("%q: %q; want %q", says, out, want)
		}
	}
}

// TestAskTerminalConnections has a command ask on a terminal while it runs.
func TestAskTerminalConnections(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("script"); err != nil {
		t.Skip(err)
	}
	v := newVillage(t)
	g := newAskGround(t, account{"own", os.Geteuid()}, "sandbox: {ask: [network], network: {allow: [listed.invalid]}, private_hosts: ['"+v.at(v.plain)+"', a.invalid]}\n")
	fetch := "curl -sS http://" + v.at(v.plain) + "/hello?"
	for _, test := range []struct{ says, command, want string }{
		{"y\n", "echo begun; " + fetch + "a | tr a 4", "hello 4\r\n"},
		{"n\n", fetch + "a", "the user did not agree to it"},
		{"n\ny\n", "curl -s http://a.invalid; " + fetch + "a | tr a 4", "hello 4\r\n"},
		{"", "echo begun; " + fetch + "a -m 1; expr 41420 + 1", "41421\r\n"}, // and nobody says anything
	} {
		argv := g.argv(setup{file: g.file, command: []string{"call", "bash", test.command}})
		cmd := exec.CommandContext(t.Context(), "script", "-qec", "'"+strings.Join(argv, "' '")+"'", "/dev/null")
		cmd.Dir = "/"
		stdin, err := cmd.StdinPipe()
		must(t, err)
		_, err = stdin.Write([]byte(test.says))
		must(t, err)
		out, _ := cmd.CombinedOutput() // the text tells
		if !strings.Contains(string(out), "connection of the running command to ") || !strings.Contains(string(out), test.want) {
			t.Errorf("%q: %q; want %q", test.says, out, test.want)
		}
	}
}

// TestAskShowsAll checks that what a person reads is what runs.
func TestAskShowsAll(t *testing.T) {
	t.Parallel()
	g := newAskGround(t, account{"own", os.Geteuid()}, "")
	g.configure(g.file, "sandbox: {ask: [commands, writes]}\ntools: {bash: {confirm: true}, echo: {confirm: true}, write_file: {confirm: true}}\nanthropic: {api_key: sk-ant-0123456789abcdef}\n")
	user := &asked{}
	c := g.serve(user, "2025-11-25", setup{})
	for _, test := range []struct {
		command, want string
	}{
		{"echo sk-ant-0123456789abcdef", `{"background":false,"command":"echo [redacted]"}`},
		{"echo '\u202e\u200b\u0085\U000e0041\u3164\ufe0f'", `"command":"echo '\u202e\u200b\u0085\U000e0041\u3164\ufe0f'"`},
		{"echo <a >b && c", `"command":"echo <a >b && c"`},
		{"echo " + strings.Repeat("a", 30<<10) + "; echo the end", strings.Repeat("a", 30<<10) + `; echo the end"`},
		{"echo" + strings.Repeat(" ", 500) + "; echo the end", `\u0020\u0020; echo the end"`},
	} {
		user.saying(sayNo)
		c.call("bash", map[string]any{"command": test.command})
		if questions := user.was(); len(questions) != 1 || !strings.Contains(questions[0], test.want) {
			t.Errorf("%.100q: asked %.300q; want %.300s", test.command, questions, test.want)
		}
	}
	user.saying(sayOnce)
	if got := c.call("echo", map[string]any{"message": strings.Repeat("a", 70_000)}); got.errorType() != "too_large" || len(user.was()) != 0 {
		t.Errorf("too much to read: asked %.100q, got %.300q", user.was(), got.text())
	}
	// Both questions of one call are asked: whether to make it, and what it lacks.
	if got := c.call("write_file", map[string]any{"path": g.out + "/x", "content": "x"}); got.failed() || len(user.was()) != 2 {
		t.Errorf("asked %q, got %q", user.was(), got.text())
	}
}

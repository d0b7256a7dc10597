package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// secret is a secret of the server's; the fixture is given it backwards.
const secret = "sk-matrix-0123456789"

var backwards = func() string {
	b := []byte(secret)
	slices.Reverse(b)
	return string(b)
}()

// withSecret is a configuration that has the secret.
const withSecret = "anthropic: {api_key: " + secret + "}\n"

// leaks asks for something that says the secret, and checks that neither an
// answer nor anything else has it.
func leaks(do string, check func(t *testing.T, c *client, o response)) cell {
	return func(t *testing.T, c *client) {
		c.start(t, withSecret+"limits: {timeout: 5s}\n")
		check(t, c, c.ask(t, c.kind, do, backwards).wait())
		c.ok(t, kindTool, "ok", "")
		c.silent(t)
	}
}

// silent checks that the secret has not been said, nor logged.
func (c *client) silent(t *testing.T) {
	t.Helper()
	if said := c.said(); strings.Contains(said, secret) {
		i := strings.Index(said, secret)
		t.Errorf("the secret is said: ...%s", said[max(0, i-300):min(len(said), i+100)])
	}
}

// redacted checks that something stands where the secret was, in each part.
func redacted(t *testing.T, o response) {
	t.Helper()
	for _, text := range append([]string{o.text}, texts(o.parts)...) {
		if !strings.Contains(text, "[redacted]") {
			t.Errorf("got %s", text)
		}
	}
}

func texts(parts []response) (all []string) {
	for _, p := range parts {
		all = append(all, p.text)
	}
	return all
}

const (
	noMore   = "a list says what sources and configuration say of items, which hold no secret"
	noPerson = "a command has nobody to tell or ask but its own terminal"
)

// secretRules are the ways out that a secret could take.
var secretRules = []rule{
	{
		name: "secret in a result",
		cells: and(of(calls, leaks("secret", func(t *testing.T, c *client, o response) {
			c.good(t, o)
			redacted(t, o)
		})), leaks("secret", func(t *testing.T, c *client, o response) { // what is redacted would not be as its entry says
			c.fails(t, o, broken, "has a secret")
		}), kindSkill),
		none: map[string]string{"upload": ownTool, "list": noMore, "subscribe": "its result has nothing in it"},
	},
	{
		name: "secret in an error",
		cells: and(of(calls, func(t *testing.T, c *client) {
			for _, do := range []string{"fail", "break"} {
				c := &client{door: c.door, kind: c.kind}
				leaks(do, func(t *testing.T, c *client, o response) {
					c.fails(t, o, broken, "")
					redacted(t, o)
				})(t, c)
			}
		}), func(t *testing.T, c *client) {
			for _, do := range []string{"fail", "break"} {
				c := &client{door: c.door, kind: c.kind}
				leaks(do, func(t *testing.T, c *client, o response) {
					if !c.modern { // which is not told why
						redacted(t, o)
					}
				})(t, c)
			}
		}, kindSubscribe),
		none: map[string]string{"upload": ownTool, "list": noMore},
	},
	{
		name: "secret in progress",
		cells: and(of([]string{kindTool, kindResource, kindSkill, kindPrompt, kindBatch}, notified("progress", "notifications/progress")),
			leaks("progress", func(t *testing.T, c *client, o response) { c.good(t, o) }), kindTask), // in its message
		none: map[string]string{"upload": ownTool, "completion": "reports no progress", "list": "reports no progress", "subscribe": "reports no progress", "cli": noPerson},
	},
	{
		name:  "secret in a log message",
		cells: of([]string{kindTool, kindResource, kindSkill, kindPrompt, kindBatch}, notified("log", "notifications/message")),
		none:  map[string]string{"upload": ownTool, "completion": "logs nothing to the client", "list": "logs nothing to the client", "subscribe": "logs nothing to the client", "task": "logs nothing to the client", "cli": noPerson},
	},
	{
		name: "secret in a question",
		cells: of([]string{kindTool, kindResource, kindSkill, kindPrompt, kindTask}, func(t *testing.T, c *client) {
			c.start(t, withSecret)
			s := c.ask(t, c.kind, "ask", backwards)
			if !c.modern {
				for range c.calls() {
					m := c.hear(t, "the question", func(m message) bool { return m.Method == "elicitation/create" })
					redacted(t, response{text: m.Raw})
					answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{}}}`, m.ID)
					if c.http {
						c.peer.post(t, answer, nil)
					} else {
						c.wire.send(answer)
					}
				}
			}
			o := s.wait()
			c.good(t, o)
			if c.modern && c.kind != kindTask { // whose question was looked at when it was answered
				redacted(t, o)
			}
			c.silent(t)
		}),
		none: map[string]string{"upload": ownTool, "batch": "the version that has batches has no questions", "completion": "asks nobody", "list": "asks nobody", "subscribe": "asks nobody", "cli": noPerson},
	},
	{
		name: "secret in what there was in time",
		cells: of([]string{kindTool, kindBatch, kindTask}, func(t *testing.T, c *client) {
			c.start(t, withSecret+"limits: {timeout: 2s, task_timeout: 2s}")
			o := c.ask(t, c.kind, "partial", backwards).wait()
			if !strings.Contains(o.text, "so far [redacted]") || !strings.Contains(o.text, "[timed out after 2s, ") || !c.cli && !strings.Contains(o.text, `"isError":true`) {
				t.Errorf("got %v", o)
			}
			c.silent(t)
		}),
		none: map[string]string{"upload": ownTool, "resource": noPart, "skill": noPart, "prompt": noPart, "completion": noPart, "list": noPart, "subscribe": noPart},
	},
	{
		name: "secret across pages",
		cells: of([]string{kindTool, kindBatch, kindTask}, func(t *testing.T, c *client) {
			c.start(t, withSecret+"limits: {max_result_chars: 1000}")
			o := c.ask(t, c.kind, "edges", backwards).wait()
			id := regexp.MustCompile(`lr_[0-9a-f]+`).FindString(o.text)
			if id == "" {
				t.Fatalf("got %v", o)
			}
			var all strings.Builder
			for page := 1; page <= 20 && !c.cli; page++ {
				o := c.request(t, "tools/call", fmt.Sprintf(`"name":"read_large_result","arguments":{"id":%q,"page":%d}`, id, page)).wait()
				c.good(t, o)
				text := regexp.MustCompile(`"text":"([^"\\]*)`).FindStringSubmatch(o.text)
				if text == nil {
					t.Fatalf("page %d: %v", page, o)
				}
				all.WriteString(text[1])
			}
			rest := strings.ReplaceAll(strings.ReplaceAll(all.String(), "[redacted]", ""), "0123456789abc", "")
			for i := range len(secret) - 5 {
				if strings.Contains(rest, secret[i:i+6]) {
					t.Errorf("%s of the secret is in the pages: %s", secret[i:i+6], rest)
				}
			}
			c.silent(t)
		}),
		none: map[string]string{"upload": ownTool, "resource": noPages, "skill": noPages, "prompt": noPages, "completion": noPages, "list": noPages, "subscribe": noPages},
	},
}

const (
	noPart  = "only a tool has something to show before it ends"
	noPages = "only what is too long of a tool is kept"
)

// notified makes a cell whose secret goes out in a notification.
func notified(do, method string) cell {
	return leaks(do, func(t *testing.T, c *client, o response) {
		c.good(t, o)
		for range c.calls() {
			m := c.hear(t, method, func(m message) bool { return m.Method == method })
			redacted(t, response{text: m.Raw})
		}
	})
}

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// limitRules are what keeps one client from taking too much.
var limitRules = []rule{
	{
		name: "rate",
		cells: and(of(append(calls, kindUpload), func(t *testing.T, c *client) {
			c.start(t, fmt.Sprintf("limits: {rate_per_minute: %d}", c.calls()))
			c.ok(t, c.kind, "ok", "")
			c.fails(t, c.ask(t, c.kind, "ok", "").wait(), overRate, "retryAfterMs")
			c.ok(t, kindList, "", "") // the server is there, and lists have a rate of their own
		}), func(t *testing.T, c *client) {
			c.start(t, "limits: {rate_per_minute: 1}")
			for range 200 {
				if o := c.ask(t, c.kind, "ok", "").wait(); o.code != 0 {
					c.fails(t, o, overRate, "retryAfterMs")
					c.ok(t, kindTool, "ok", "")
					return
				}
			}
			t.Error("200 requests are not over the rate")
		}, kindList, kindSubscribe),
		none: map[string]string{"cli": "a command is one call: there is nothing to count"},
	},
	{
		name: "slots of the principal",
		cells: and(of(calls, func(t *testing.T, c *client) {
			c.start(t, fmt.Sprintf("limits: {per_principal: %d, queue_wait: 1s}", c.calls()))
			held, dir := c.hold(t, c.kind)
			c.fails(t, c.ask(t, c.kind, "ok", "").wait(), busy, "busy")
			release(t, dir)
			c.good(t, held.wait())
			c.ok(t, c.kind, "ok", "")
		}), func(t *testing.T, c *client) {
			c.start(t, "limits: {per_principal: 1, queue_wait: 1s}")
			held, dir := c.hold(t, kindTool)
			c.ok(t, c.kind, "ok", "") // takes no slot
			release(t, dir)
			c.good(t, held.wait())
		}, kindList, kindSubscribe),
		none: map[string]string{"cli": "a command is one call: it has all slots", "upload": ownTool},
	},
	{
		name: "slots of the tool",
		cells: and(of(requestKinds, func(t *testing.T, c *client) {
			c.start(t, "limits: {per_tool: 1, queue_wait: 1s}")
			held, dir := c.hold(t, kindTool)
			c.ok(t, c.kind, "ok", "") // is no tool
			release(t, dir)
			c.good(t, held.wait())
		}), func(t *testing.T, c *client) {
			c.start(t, "limits: {per_tool: 1, queue_wait: 1s}")
			held, dir := c.hold(t, kindTool)
			o := c.ask(t, c.kind, "ok", "").wait()
			if c.kind != kindBatch {
				c.fails(t, o, busy, "busy")
			} else if len(o.parts) != 2 || o.parts[0].code+o.parts[1].code != busy {
				t.Errorf("of a tool and a prompt, the tool is to be busy: %v", o)
			}
			release(t, dir)
			c.good(t, held.wait())
		}, kindTool, kindBatch, kindTask),
		none: map[string]string{"cli": "a command is one call: it has all slots"},
	},
	{
		name: "time",
		cells: and(of(calls, func(t *testing.T, c *client) {
			c.start(t, "limits: {timeout: 2s, task_timeout: 2s}")
			dir := t.TempDir()
			c.fails(t, c.ask(t, c.kind, "hold", dir).wait(), outOfTime, "timed out")
			noted(t, dir, "stopped", c.calls())
			c.ok(t, c.kind, "ok", "")
		}), func(t *testing.T, c *client) { // a subscription lasts longer than a call
			c.start(t, "limits: {timeout: 2s, task_timeout: 2s}")
			subscribe(t, c, watchedURI)
			c.fails(t, c.ask(t, kindTool, "hold", t.TempDir()).wait(), outOfTime, "")
			c.ok(t, kindTool, "change", "")
			c.updated(t, watchedURI)
		}, kindSubscribe),
		none: map[string]string{"upload": ownTool, "list": "a list is there already: making it takes no time of anybody's handler"},
	},
	{
		name: "deaf to its time",
		cells: of(calls, func(t *testing.T, c *client) {
			c.start(t, fmt.Sprintf("limits: {timeout: 2s, task_timeout: 2s, per_principal: %d}", 2*c.calls()))
			dir := t.TempDir()
			c.fails(t, c.ask(t, c.kind, "deaf", dir).wait(), outOfTime, "timed out")
			c.ok(t, c.kind, "ok", "")
			release(t, dir)
		}),
		none: map[string]string{"upload": ownTool, "list": "runs no handler", "subscribe": "runs no handler that could take time: to begin to watch returns at once"},
	},
	{
		name: "cancel",
		cells: and(and(of(calls, func(t *testing.T, c *client) {
			c.start(t, "limits: {per_principal: 1, queue_wait: 60s}")
			held, dir := c.hold(t, c.kind)
			held.cancel()
			noted(t, dir, "stopped", 1)
			c.ok(t, c.kind, "ok", "") // which takes the slot
			select {
			case o := <-held.answer:
				if c.cli {
					c.fails(t, o, broken, "canceled")
				} else if o.text != "" && !(c.modern && strings.Contains(o.text, "cancel")) || o.code != 0 {
					t.Errorf("an answer follows: %v", o)
				}
			default:
				if c.cli {
					c.fails(t, held.wait(), broken, "canceled")
				}
			}
		}), func(t *testing.T, c *client) { // one of two
			c.start(t, "")
			held, dir := c.hold(t, c.kind)
			held.cancel()
			noted(t, dir, "stopped", 1)
			c.mu.Lock()
			c.waiting[fmt.Sprint(c.lastID)] = held.answer // of the prompt
			c.mu.Unlock()
			release(t, dir)
			if o := held.wait(); len(o.parts) != 1 || o.parts[0].code != 0 {
				t.Errorf("got %v; want one answer", o)
			}
		}, kindBatch), func(t *testing.T, c *client) {
			c.start(t, "")
			s := subscribe(t, c, watchedURI)
			c.ok(t, kindTool, "change", "")
			c.updated(t, watchedURI)
			if c.modern {
				s.cancel()
			} else {
				c.good(t, c.request(t, "resources/unsubscribe", fmt.Sprintf(`"uri":%q`, watchedURI)).wait())
			}
			subscribe(t, c, controlURI)
			c.ok(t, kindTool, "change", "")
			c.updated(t, controlURI)
		}, kindSubscribe),
		none: map[string]string{"upload": ownTool, "list": "is answered before the next message is read"},
	},
	{
		name: "cancel in the queue",
		cells: of(calls, func(t *testing.T, c *client) {
			c.start(t, "limits: {per_principal: 1, queue_wait: 60s}")
			held, dir := c.hold(t, kindTool)
			never := t.TempDir()
			waits := c.ask(t, c.kind, "hold", never)
			cancel := func() {
				waits.cancel()
				if c.kind == kindBatch {
					c.cancelLast(t, waits)
				}
			}
			over := func() bool {
				select {
				case <-waits.over:
					return true
				default:
					return false
				}
			}
			switch cancel(); {
			case c.http && c.modern: // nothing but the log tells when the server has noticed
				eventually(t, "the call is canceled", func() bool { return strings.Contains(c.log(), `"outcome":"error"`) })
			case c.http: // it may not have arrived yet, which nothing tells
				eventually(t, "the request is canceled", func() bool { cancel(); return over() })
			}
			c.ok(t, kindList, "", "") // what came before has been read
			release(t, dir)
			c.good(t, held.wait())
			c.ok(t, kindTool, "ok", "")
			noted(t, never, "begun", 0)
		}),
		none: map[string]string{"upload": ownTool, "list": "does not queue", "subscribe": "does not queue", "cli": "a command is one call: it does not queue"},
	},
}

// cancelLast cancels the prompt of a batch, too, whose tool is cancelled.
func (c *client) cancelLast(t *testing.T, s *sent) {
	t.Helper()
	c.mu.Lock()
	other := *s
	other.id = fmt.Sprint(c.lastID)
	c.mu.Unlock()
	other.cancel()
}

// subscribe subscribes to documents, in the modern era by one request.
func subscribe(t *testing.T, c *client, uris ...string) (s *sent) {
	t.Helper()
	if c.modern {
		s = trySubscribe(t, c, uris...)
		if o := s.wait(); strings.Count(o.text, `"fixture://`) != len(uris) {
			t.Errorf("subscribing: %v", o)
		}
		return s
	}
	for _, uri := range uris {
		c.good(t, trySubscribe(t, c, uri).wait())
	}
	return s
}

// trySubscribe subscribes to a document, or in the modern era to some.
func trySubscribe(t *testing.T, c *client, uris ...string) *sent {
	t.Helper()
	if c.modern {
		return c.request(t, "subscriptions/listen", fmt.Sprintf(`"notifications":{"resourceSubscriptions":["%s"]}`, strings.Join(uris, `","`)))
	}
	return c.request(t, "resources/subscribe", fmt.Sprintf(`"uri":%q`, uris[0]))
}

// updated waits for the next update of a document, which must be that of uri.
func (c *client) updated(t *testing.T, uri string) {
	t.Helper()
	m := c.hear(t, "an update of "+uri, func(m message) bool { return m.Method == "notifications/resources/updated" })
	if m.Params.URI != uri {
		t.Errorf("got %s; want that of %s", m.Raw, uri)
	}
}

// reloadRules are what a change of the configuration does to a client that is
// connected.
var reloadRules = []rule{
	{
		name: "reload of groups",
		cells: reloads(func(c *client) (string, string) {
			return "", everyItem("groups: [staff]")
		}),
	},
	{
		name: "reload of users",
		cells: reloads(func(c *client) (string, string) {
			name := "local"
			if c.http {
				name = "ann"
			}
			staff := everyItem("groups: [staff]")
			return staff + "users: {" + name + ": {groups: [staff]}}", staff
		}),
	},
	{
		name: "reload of tokens",
		cells: and(of(requestKinds, func(t *testing.T, c *client) {
			c.start(t, "")
			c.ok(t, c.kind, "ok", "")
			for _, left := range [][]string{{"bob"}, {}} { // without any, the server is closed
				c.tokens = left
				c.reload(t, "")
				if o := c.ask(t, c.kind, "ok", "").wait(); o.status != 401 {
					t.Errorf("with tokens of %v: %v", left, o)
				}
				c.peer.token = ""
			}
			c.tokens, c.peer.token = nil, "anns"
			c.reload(t, "")
			if !c.modern { // its session has ended
				c.peer.begin(t, c.version())
			}
			c.ok(t, c.kind, "ok", "")
		}), func(t *testing.T, c *client) {
			c.start(t, "")
			s := subscribe(t, c, watchedURI)
			c.tokens = []string{"bob"}
			c.reload(t, "")
			if o := c.ask(t, c.kind, "ok", "").wait(); o.status != 401 {
				t.Errorf("subscribing: %v", o)
			}
			stream := c.streamed
			if c.modern {
				stream = s.over
			}
			select {
			case <-stream:
			case <-time.After(patience):
				t.Error("the stream goes on")
			}
		}, kindSubscribe),
		none: map[string]string{"stdio legacy": "there are no tokens on stdio", "stdio modern": "there are no tokens on stdio", "cli": "the command line has no tokens"},
	},
	{
		name: "reload of the policy",
		cells: map[string]cell{
			kindTool: func(t *testing.T, c *client) {
				read := func() response {
					if c.cli {
						return c.command(t, "call", "read_file", "x").wait()
					}
					return c.request(t, "tools/call", `"name":"read_file","arguments":{"path":"x"}`).wait()
				}
				policy(t, c, func(o response) bool { return strings.Contains(o.text, "contents of x") }, read)
			},
			kindBatch: func(t *testing.T, c *client) {
				policy(t, c, func(o response) bool { return strings.Count(o.text, "contents of x") == 2 }, func() response {
					a, b := c.newID(), c.newID()
					return c.send(t, a, "["+c.message(a, "tools/call", `"name":"read_file","arguments":{"path":"x"}`)+","+
						c.message(b, "resources/read", fmt.Sprintf(`"uri":"file://%s/x"`, c.dir))+"]").wait()
				})
			},
			kindResource: func(t *testing.T, c *client) {
				policy(t, c, func(o response) bool { return strings.Contains(o.text, "contents of x") }, func() response {
					return c.request(t, "resources/read", fmt.Sprintf(`"uri":"file://%s/x"`, c.dir)).wait()
				})
			},
			kindCompletion: func(t *testing.T, c *client) {
				policy(t, c, func(o response) bool { return strings.Contains(o.text, "/x") }, func() response {
					return c.request(t, "completion/complete", fmt.Sprintf(`"ref":{"type":"ref/resource","uri":"file:///{path}"},"argument":{"name":"path","value":"%s/"}`, strings.TrimPrefix(c.dir, "/"))).wait()
				})
			},
			kindSubscribe: func(t *testing.T, c *client) {
				policy(t, c, func(o response) bool { return o.code == 0 && (!c.modern || strings.Contains(o.text, "/x")) }, func() response {
					return trySubscribe(t, c, fmt.Sprintf("file://%s/x", c.dir)).wait()
				})
			},
			kindUpload: func(t *testing.T, c *client) {
				c.start(t, "")
				c.ok(t, kindUpload, "", "x")
				c.reload(t, fmt.Sprintf("tools: {write_file: {denied_paths: [%q]}}", filepath.Join(c.dir, "y")))
				if o := c.ask(t, kindUpload, "", "y").wait(); !strings.Contains(o.text, `"isError":true`) {
					t.Errorf("after: %v", o)
				}
				if _, err := os.Stat(filepath.Join(c.dir, "y")); err == nil {
					t.Error("the file is there")
				}
			},
			kindList: func(t *testing.T, c *client) { // what is offered does not depend on it
				c.start(t, "")
				before := c.lists(t)
				c.reload(t, "tools: {read_file: {denied_paths: [/x]}}")
				names := func(lists string) int { return strings.Count(lists, `"name":`) }
				if after := c.lists(t); !strings.Contains(after, "read_file") || names(after) != names(before) {
					t.Errorf("got %s; before %s", after, before)
				}
			},
		},
		none: map[string]string{"prompt": "prompts touch nothing that a policy is about", "task": "its call is that of a tool", "skill": "its files are what configuration names, whatever tools may read"},
	},
}

// policy asks for a file before and after the policy denies it.
func policy(t *testing.T, c *client, allowed func(response) bool, ask func() response) {
	t.Helper()
	c.start(t, "")
	if err := os.WriteFile(filepath.Join(c.dir, "x"), []byte("contents of x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if o := ask(); !allowed(o) {
		t.Errorf("before: %v", o)
	}
	c.reload(t, fmt.Sprintf("tools: {read_file: {denied_paths: [%q]}}", filepath.Join(c.dir, "x")))
	if o := ask(); allowed(o) {
		t.Errorf("after: %v", o)
	}
}

// reloads makes the cells of a reload under which the items of the fixture are
// not for the client any more, and of one back.
func reloads(configs func(*client) (before, after string)) map[string]cell {
	return and(and(of(requestKinds, func(t *testing.T, c *client) {
		before, after := configs(c)
		c.start(t, before)
		c.ok(t, c.kind, "ok", "")
		c.reload(t, after)
		o := c.ask(t, c.kind, "ok", "").wait()
		if c.kind == kindBatch {
			if len(o.parts) != 2 || o.parts[0].code+o.parts[1].code != noTool+invalid {
				t.Errorf("got %v", o)
			}
		} else {
			c.fails(t, o, c.notFound(c.kind), "")
		}
		c.reload(t, before)
		c.ok(t, c.kind, "ok", "")
	}), func(t *testing.T, c *client) {
		before, after := configs(c)
		c.start(t, before)
		c.listed(t, true)
		c.reload(t, after)
		c.listed(t, false)
		c.reload(t, before)
		c.listed(t, true)
	}, kindList), func(t *testing.T, c *client) {
		before, after := configs(c)
		c.start(t, before)
		subscribe(t, c, watchedURI, controlURI)
		c.reload(t, after)
		if o := trySubscribe(t, c, watchedURI).wait(); !c.modern && o.code != noResource || c.modern && strings.Contains(o.text, watchedURI) {
			t.Errorf("subscribing again: %v", o)
		}
		c.reload(t, strings.Replace(after, "tools: {fixture_do: {groups: [staff]}, upload_file: {groups: [staff]}}\n", "", 1)) // so that there is somebody to change it
		c.ok(t, kindTool, "change", "")
		c.updated(t, controlURI)
	}, kindSubscribe)
}

package e2e

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// survives makes a cell in which something breaks, again and again: it is
// answered, gives back its slot, and the server goes on.
func survives(do string, code int, text string) cell {
	return func(t *testing.T, c *client) {
		c.start(t, fmt.Sprintf("limits: {per_principal: %d, queue_wait: 5s}", c.calls()))
		if c.http && do == "goexit" { // which takes its connection along
			c.server.client.Transport.(*http.Transport).DisableKeepAlives = true
		}
		for range 3 { // a tool that was fast is served by another goroutine
			c.ok(t, kindTool, "ok", "")
		}
		for range 3 {
			o := c.ask(t, c.kind, do, "").wait()
			switch {
			case c.kind == kindSubscribe: // nothing is between it and the edge
				c.fails(t, o, internal, text)
			case do == "goexit" && o.none: // so the answer may be lost
			default:
				c.fails(t, o, code, text)
			}
		}
		c.ok(t, c.kind, "ok", "")
	}
}

const (
	ownTool   = "its call is that of a tool"
	noHandler = "runs no handler"
	notThen   = "nothing of it runs at a reload"
)

// breakRules are what goes wrong in handlers, and what is not to be had.
var breakRules = []rule{
	{name: "panic", cells: of(append(calls, kindSubscribe), survives("panic", broken, "")), none: map[string]string{"list": noHandler, "upload": ownTool}},
	{
		name: "panic at the edge", cells: of(calls, survives("edge", internal, "")),
		none: map[string]string{"upload": ownTool, "list": noHandler, "subscribe": "its handler runs at the edge: see panic"},
	},
	{
		name: "panic at a reload", cells: map[string]cell{kindSubscribe: func(t *testing.T, c *client) {
			users := "users: {local: {groups: [staff]}, ann: {groups: [staff]}}\n"
			c.start(t, users)
			c.ok(t, c.kind, "again", "") // begins again, and panics, when its resource changes
			c.reload(t, users+everyItem("groups: [staff]"))
			c.ok(t, kindTool, "ok", "")
			if !strings.Contains(c.log(), "watching a resource panicked") {
				t.Error("nothing is logged")
			}
		}},
		none: map[string]string{"tool": notThen, "resource": notThen, "prompt": notThen, "completion": notThen, "list": notThen, "batch": notThen, "task": notThen, "skill": notThen, "upload": notThen},
	},
	{name: "goroutine ended", cells: of(calls, survives("goexit", broken, "")), none: map[string]string{"upload": ownTool, "list": noHandler, "subscribe": "beginning to watch is no call, and ends nothing"}},
	{name: "disabled", cells: absent("enabled: false", disabled, "is disabled")},
	{name: "hidden", cells: absent("groups: [staff]", noTool, "")},
}

// absent makes the cells of items that a configuration takes away from the start.
func absent(text string, code int, says string) map[string]cell {
	return and(and(and(of([]string{kindResource, kindSkill, kindPrompt, kindCompletion}, func(t *testing.T, c *client) {
		c.start(t, everyItem(text))
		c.fails(t, c.ask(t, c.kind, "ok", "").wait(), c.notFound(c.kind), "no "+map[string]string{kindCompletion: kindPrompt, kindSkill: kindResource}[c.kind])
	}), func(t *testing.T, c *client) {
		c.start(t, everyItem(text))
		o := c.ask(t, c.kind, "ok", "").wait()
		if c.kind != kindBatch {
			c.fails(t, o, code, says)
		} else if len(o.parts) != 2 || o.parts[0].code+o.parts[1].code != code+invalid {
			t.Errorf("got %v", o)
		}
	}, kindTool, kindBatch, kindTask, kindUpload), func(t *testing.T, c *client) {
		c.start(t, everyItem(text))
		if c.cli && says != "" {
			c.listedDisabled(t)
			return
		}
		c.listed(t, false)
	}, kindList), func(t *testing.T, c *client) {
		c.start(t, everyItem(text))
		if o := c.ask(t, c.kind, "ok", "").wait(); !c.modern && o.code != noResource || strings.Contains(o.text, "resourceSubscriptions") {
			t.Errorf("got %v", o)
		}
	}, kindSubscribe)
}

// listedDisabled checks that a person is not shown a tool that is disabled.
func (c *client) listedDisabled(t *testing.T) {
	t.Helper()
	if o := c.command(t, "tools").wait(); strings.Contains(o.text, "fixture_do") {
		t.Errorf("got %v", o)
	}
}

const tooMuch = 33 << 20

// sizeRules are requests and answers that are too large.
var sizeRules = []rule{
	{
		name: "answer too large",
		cells: map[string]cell{
			kindTool: cutLarge, kindTask: cutLarge,
			kindResource: refusedLarge, kindPrompt: refusedLarge, kindSkill: refusedLarge,
			kindCompletion: func(t *testing.T, c *client) {
				refusedLarge(t, c)
				if o := c.ok(t, c.kind, "many", ""); strings.Count(o.text, `""`) != 100 || !strings.Contains(o.text, `"total":1000`) {
					t.Errorf("got %v", o)
				}
			},
			kindBatch: func(t *testing.T, c *client) { // of which the tool's is cut, and the prompt's refused
				c.start(t, "")
				o := c.ask(t, c.kind, "large", fmt.Sprint(tooMuch)).wait()
				if len(o.parts) != 2 || o.parts[0].code+o.parts[1].code != broken || len(o.text) > 50_000 {
					t.Errorf("%d bytes: %v", len(o.text), o)
				}
			},
			kindList: func(t *testing.T, c *client) {
				c.start(t, "limits: {page_size: 2}")
				if o := c.ask(t, c.kind, "", "").wait(); c.cli {
					if !strings.Contains(o.text, "fixture_do") || !strings.Contains(o.text, "append_file") {
						t.Errorf("a person sees them all: %v", o)
					}
				} else if strings.Count(o.text, `"inputSchema"`) != 2 || !strings.Contains(o.text, `"nextCursor"`) {
					t.Errorf("got %v", o)
				}
			},
			kindSubscribe: func(t *testing.T, c *client) { // there are too many
				c.start(t, "")
				var uris []string
				for i := range 101 {
					uris = append(uris, document("ok", fmt.Sprint(i)))
				}
				if c.modern {
					if o := trySubscribe(t, c, uris...).wait(); strings.Count(o.text, "fixture://") != 100 {
						t.Errorf("got %v", o)
					}
					return
				}
				for _, uri := range uris[:100] {
					c.good(t, trySubscribe(t, c, uri).wait())
				}
				c.fails(t, trySubscribe(t, c, uris[100]).wait(), invalid, "100 subscriptions")
			},
		},
		none: map[string]string{"upload": ownTool},
	},
	{
		name: "request too large",
		cells: of(requestKinds, func(t *testing.T, c *client) {
			c.serving = "max_message: 64KiB, "
			c.start(t, "")
			s := c.ask(t, c.kind, "ok", strings.Repeat("x", 100_000))
			switch {
			case (c.kind == kindResource || c.kind == kindSkill) && c.http && c.modern: // the address is in a header, too
				if o := s.wait(); o.status != http.StatusRequestHeaderFieldsTooLarge {
					t.Errorf("got %v", o)
				}
			case c.kind == kindBatch: // which has no id
				if c.http {
					if o := s.wait(); o.status != http.StatusRequestEntityTooLarge {
						t.Errorf("got %v", o)
					}
				} else {
					c.hear(t, "the refusal", func(m message) bool { return m.Error != nil && string(m.ID) == "null" })
				}
			default:
				c.fails(t, s.wait(), badLetter, "server.max_message")
			}
			c.ok(t, c.kind, "ok", "")
		}),
		none: map[string]string{"cli": "a command line is no message: the system bounds it"},
	},
	{
		name: "batch too large",
		cells: map[string]cell{kindBatch: func(t *testing.T, c *client) {
			c.start(t, "")
			id := c.newID()
			s := c.send(t, id, "["+strings.Repeat(c.message("1", "ping", "")+",", 100)+c.message(id, "ping", "")+"]")
			if c.http {
				if o := s.wait(); o.status != http.StatusBadRequest || !strings.Contains(o.text, "at most 100") {
					t.Errorf("got %v", o)
				}
			} else {
				c.hear(t, "the refusal", func(m message) bool { return strings.Contains(m.Raw, "at most 100") })
			}
			c.ok(t, c.kind, "ok", "")
		}},
		none: map[string]string{"tool": oneRequest, "resource": oneRequest, "prompt": oneRequest, "completion": oneRequest, "list": oneRequest, "subscribe": oneRequest, "task": oneRequest, "skill": oneRequest, "upload": oneRequest},
	},
}

const oneRequest = "is one request"

// cutLarge asks for a result that is cut.
func cutLarge(t *testing.T, c *client) {
	c.start(t, "")
	o := c.ok(t, c.kind, "large", "100000")
	if !regexp.MustCompile(`lr_[0-9a-f]+`).MatchString(o.text) || len(o.text) > 50_000 {
		t.Errorf("%d bytes: %v", len(o.text), o)
	}
}

// refusedLarge asks for a document or the like that is too large for an answer.
func refusedLarge(t *testing.T, c *client) {
	c.start(t, "")
	c.fails(t, c.ask(t, c.kind, "large", fmt.Sprint(tooMuch)).wait(), broken, "are allowed")
	c.ok(t, c.kind, "ok", "")
}

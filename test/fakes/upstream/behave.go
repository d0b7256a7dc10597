package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
)

// how is what a tool that breaks rules is told.
type how struct {
	Kind  string
	Count int
	At    string // a file or directory
}

// breaking makes a tool that is told how it breaks rules.
func breaking(name, description string, do func(*call, how) (string, error)) tool {
	return tool{name, description, schema(`"kind":{"type":"string"},"count":{"type":"integer"},"at":{"type":"string"}`), func(c *call) (string, error) {
		var h how
		c.arguments(&h)
		return do(c, h)
	}}
}

// behaving are tools that break the rules of the protocol.
func behaving() []tool {
	return []tool{
		breaking("garbage", "Writes garbage before it answers.", func(c *call, h how) (string, error) {
			garbage := noise(h.Kind)
			for range max(h.Count, 1) {
				c.out(bytes.TrimSuffix(garbage, []byte("\n")))
			}
			return text("after garbage"), nil
		}),
		breaking("utf8", "Answers with text that is not UTF-8.", func(c *call, _ how) (string, error) {
			return `"content":[{"type":"text","text":"` + "\xff\xc3\x28" + `"}]`, nil
		}),
		breaking("broken", "Answers with a result that is none.", func(c *call, h how) (string, error) {
			id := string(c.id)
			c.out([]byte(map[string]string{
				"text":     `{"jsonrpc":"2.0","id":` + id + `,"result":"text"}`,
				"null":     `{"jsonrpc":"2.0","id":` + id + `,"result":null}`,
				"array":    `{"jsonrpc":"2.0","id":` + id + `,"result":[]}`,
				"empty":    `{"jsonrpc":"2.0","id":` + id + `,"result":{}}`,
				"content":  `{"jsonrpc":"2.0","id":` + id + `,"result":{"content":"text"}}`,
				"block":    `{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[{"type":"hologram","x":1},7,null]}}`,
				"both":     `{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[]},"error":{"code":1,"message":"both"}}`,
				"error":    `{"jsonrpc":"2.0","id":` + id + `,"error":"text"}`,
				"codeless": `{"jsonrpc":"2.0","id":` + id + `,"error":{"message":7}}`,
				"required": `{"jsonrpc":"2.0","id":` + id + `,"result":{"resultType":"input_required"}}`,
				"forever":  `{"jsonrpc":"2.0","id":` + id + `,"result":{"resultType":"input_required","inputRequests":{"x":{"method":"roots/list","params":{}}},"requestState":"s"}}`,
			}[h.Kind]))
			return "", errSilent
		}),
		breaking("wrong_id", "Answers with the ID of another request, and then does not answer.", func(c *call, _ how) (string, error) {
			c.out([]byte(`{"jsonrpc":"2.0","id":"another","result":{` + text("for another") + `}}`))
			return "", errSilent
		}),
		breaking("next_id", "Answers the request after it, which is still to come, and then its own.", func(c *call, _ how) (string, error) {
			var n int
			if _, err := fmt.Sscan(string(c.id), &n); err == nil {
				for i := range 100 {
					c.out([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{%s}}`, n+1+i, text("too early"))))
				}
			}
			return text("in time"), nil
		}),
		breaking("twice", "Answers twice.", func(c *call, _ how) (string, error) {
			c.out(c.answer(text("first")))
			return text("second"), nil
		}),
		breaking("late", "Answers after it was canceled.", func(c *call, h how) (string, error) {
			if err := note(h.At, "begun"); err != nil {
				return failure(err.Error()), nil
			}
			<-c.ctx.Done()
			c.out(c.answer(text("too late")))
			return "", note(h.At, "stopped")
		}),
		breaking("never", "Never answers.", func(c *call, h how) (string, error) {
			if h.At != "" {
				if err := note(h.At, "begun"); err != nil {
					return failure(err.Error()), nil
				}
			}
			<-c.ctx.Done()
			return "", errSilent
		}),
		breaking("stray_progress", "Reports progress of nobody's call, backwards, and after the answer.", func(c *call, _ how) (string, error) {
			token := c.meta["progressToken"]
			report := func(token any, n float64) {
				c.notify("notifications/progress", map[string]any{"progressToken": token, "progress": n})
			}
			report("nobody", 1)
			if token != nil {
				report(token, 5)
				report(token, 1)
			}
			c.out(c.answer(text("done")))
			if token != nil {
				report(token, 9)
			}
			return "", errSilent
		}),
		breaking("announce", "Says so many times that lists have changed.", func(c *call, h how) (string, error) {
			for range max(h.Count, 1) {
				switch h.Kind {
				case "prompts":
					c.session.upstream.announce("notifications/prompts/list_changed", "promptsListChanged", nil)
				case "resources":
					c.session.upstream.announce("notifications/resources/list_changed", "resourcesListChanged", nil)
				default:
					c.session.upstream.announce("notifications/tools/list_changed", "toolsListChanged", nil)
				}
			}
			return text("announced"), nil
		}),
		breaking("ask_late", "Waits until the file go appears, whether or not it was canceled, and then asks for whom kind says.", func(c *call, h how) (string, error) {
			stray := *c
			stray.ctx = context.WithoutCancel(c.ctx)
			if _, err := stray.hold(stray.ctx); err != nil {
				return "", err
			}
			answer, err := stray.request("elicitation/create", map[string]any{"message": "for " + h.Kind, "requestedSchema": map[string]any{"type": "object", "properties": map[string]any{}}})
			return text(fmt.Sprintf("%s %v", answer, err)), note(h.At, "answered")
		}),
		breaking("touch", "Says that a resource has changed.", func(c *call, h how) (string, error) {
			c.session.upstream.announce("notifications/resources/updated", "resourceSubscriptions", map[string]any{"uri": h.At})
			return text("touched"), nil
		}),
		breaking("change", "Changes the file of --change to what kind says, and says that the tools have changed.", func(c *call, h how) (string, error) {
			if err := os.WriteFile(c.session.upstream.change, []byte(strings.ReplaceAll(h.Kind, ",", " ")), 0o600); err != nil {
				return failure(err.Error()), nil
			}
			c.session.upstream.announce("notifications/tools/list_changed", "toolsListChanged", nil)
			return text("changed"), nil
		}),
		breaking("ask_unasked", "Asks the client although no call asks for it, or with what it does not know.", func(c *call, h how) (string, error) {
			stray := *c
			stray.ctx = context.WithoutCancel(c.ctx)
			stray.out = c.session.apart()
			answer, err := stray.request(h.Kind, map[string]any{})
			return text(fmt.Sprintf("%s %v", answer, err)), nil
		}),
	}
}

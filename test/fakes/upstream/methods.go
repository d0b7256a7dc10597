package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolserver/toolserver/wire/jsonrpc"
)

// text returns the members of a result that is a text.
func text(s string) string {
	return `"content":[{"type":"text","text":` + quote(s) + `}]`
}

func quote(s string) string { return string(jsonrpc.AppendValue(nil, s)) }

// join joins members of an object.
func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "," + b
}

// member reports whether members of an object have one of a name.
func member(members, name string) bool {
	var all map[string]json.RawMessage
	return json.Unmarshal([]byte("{"+members+"}"), &all) == nil && all[name] != nil
}

// arguments decodes those of a tool. What does not fit is left out.
func (c *call) arguments(into any) { _ = json.Unmarshal(c.params["arguments"], into) }

// text returns a parameter that is a string.
func (c *call) text(name string) (s string) {
	_ = json.Unmarshal(c.params[name], &s)
	return s
}

const capabilities = `"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"completions":{},"logging":{}}`

// result serves the request and returns the members of its result.
func (c *call) result() (string, error) {
	u := c.session.upstream
	legacyOnly, modernOnly := u.speaks == "legacy", u.speaks == "modern"
	if c.modern && legacyOnly || !c.modern && modernOnly {
		return "", jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "Method not found")
	}
	info := `{"name":` + quote(u.name) + `,"version":"1.0","title":"An upstream"}`
	switch c.method {
	case "initialize":
		c.session.mu.Lock()
		c.session.legacy = true
		c.session.mu.Unlock()
		version := c.text("protocolVersion")
		if version > legacyVersion || version < "2024" {
			version = legacyVersion
		}
		return fmt.Sprintf(`"protocolVersion":%q,%s,"serverInfo":%s,"instructions":"Ask nicely."`, version, capabilities, info), nil
	case "server/discover":
		capabilities := capabilities
		if has(u.offer, "tasks") {
			capabilities = strings.TrimSuffix(capabilities, "}") + `,"extensions":{"` + tasksExtension + `":{}}}`
		}
		return fmt.Sprintf(`"supportedVersions":[%q],%s,"instructions":"Ask nicely.","ttlMs":0,"cacheScope":"private","_meta":{%q:%s}`, modernVersion, capabilities, metaPrefix+"serverInfo", info), nil
	case "ping", "logging/setLevel":
		return "", nil
	case "tools/list":
		result, err := u.list(c.text("cursor"))
		return c.cacheable(result), err
	case "tools/call":
		return c.callTool(c.text("name"))
	case "subscriptions/listen":
		return c.listen()
	case "tasks/get", "tasks/update", "tasks/cancel":
		if has(u.offer, "tasks") {
			return c.aboutTask()
		}
	}
	return c.documents()
}

// cacheable adds what lists have in the modern generation.
func (c *call) cacheable(result string) string {
	if !c.modern {
		return result
	}
	return join(result, `"ttlMs":0,"cacheScope":"private"`)
}

func (c *call) callTool(name string) (string, error) {
	for _, t := range c.session.upstream.offered() {
		if t.name != name {
			continue
		}
		result, err := t.call(c)
		if asks, ok := errors.AsType[*required](err); ok {
			return asks.result, nil
		}
		return result, err
	}
	return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Unknown tool: " + name}
}

// listen serves a subscription until the client ends it.
func (c *call) listen() (string, error) {
	key := string(c.id)
	c.notify("notifications/subscriptions/acknowledged", map[string]any{
		"_meta": map[string]any{metaPrefix + "subscriptionId": c.id}, "notifications": c.params["notifications"],
	})
	c.session.mu.Lock()
	c.session.listens[key] = c
	c.session.mu.Unlock()
	<-c.ctx.Done()
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	delete(c.session.listens, key)
	return "", errSilent
}

// tool is one that is offered. Its entry in the list has the members of listed,
// which is JSON without braces, besides name and description.
type tool struct {
	name, description, listed string
	call                      func(*call) (string, error)
}

// schema returns the member inputSchema of a tool, with these properties.
func schema(properties string, required ...string) string {
	s := `"inputSchema":{"type":"object","properties":{` + properties + `}`
	if len(required) > 0 {
		s += `,"required":` + string(jsonrpc.AppendValue(nil, required))
	}
	return s + "}"
}

// entry returns the tool as the list has it. A tool whose name or description is
// a minus has none.
func (t tool) entry() string {
	all := t.listed
	if t.description != "-" {
		all = join(`"description":`+quote(t.description), all)
	}
	if t.name != "-" {
		all = join(`"name":`+quote(t.name), all)
	}
	return "{" + all + "}"
}

func entries(tools []tool) string {
	all := make([]string, len(tools))
	for i, t := range tools {
		all[i] = t.entry()
	}
	return `"tools":[` + strings.Join(all, ",") + "]"
}

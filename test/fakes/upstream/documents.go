package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolserver/toolserver/wire/jsonrpc"
)

const (
	resourceList = `"resources":[{"uri":"upstream://text","name":"text","title":"A text","description":"Is static.","mimeType":"text/plain","size":4,"annotations":{"audience":["user"],"priority":0.5},"_meta":{"x":1}},` +
		`{"uri":"upstream://blob","name":"blob","mimeType":"application/pdf"},{"uri":"upstream://watched","name":"watched"},{"uri":"ui://upstream/app.html","name":"app","mimeType":"text/html;profile=mcp-app"}]`
	templateList = `"resourceTemplates":[{"uriTemplate":"upstream://items/{id}","name":"item","title":"An item","description":"Has an ID.","mimeType":"application/json"},{"uriTemplate":"upstream://files/{+path}","name":"file"}]`
	promptList   = `"prompts":[{"name":"plain","description":"Has no arguments."},{"name":"poem","title":"A poem","description":"Has arguments.","arguments":[{"name":"about","description":"What it is about.","required":true},{"name":"style"}],"_meta":{"p":1}},` +
		`{"name":"ask","description":"Asks first."}]`
)

// documents serves resources, prompts and completions.
func (c *call) documents() (string, error) {
	if result, ok := c.faithful(); ok {
		return c.cacheable(result), nil
	}
	switch c.method {
	case "resources/list":
		return c.cacheable(resourceList), nil
	case "resources/templates/list":
		return c.cacheable(templateList), nil
	case "prompts/list":
		return c.cacheable(promptList), nil
	case "resources/read":
		result, err := read(c.text("uri"))
		return c.cacheable(result), err
	case "prompts/get":
		return c.prompt(c.text("name"))
	case "completion/complete":
		return c.complete(), nil
	case "resources/subscribe", "resources/unsubscribe":
		c.session.mu.Lock()
		defer c.session.mu.Unlock()
		c.session.watching[c.text("uri")] = c.method == "resources/subscribe"
		return "", nil
	}
	return "", jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "Method not found")
}

func read(uri string) (string, error) {
	contents := func(rest string) string { return `"contents":[{"uri":` + quote(uri) + `,` + rest + `}]` }
	id, item := strings.CutPrefix(uri, "upstream://items/")
	switch {
	case uri == "upstream://text":
		return contents(`"mimeType":"text/plain","text":"text","_meta":{"n":1.50}`), nil
	case uri == "upstream://blob":
		return contents(`"mimeType":"application/pdf","blob":"` + pdf + `"`), nil
	case uri == "upstream://watched":
		return contents(`"text":"watched"`), nil
	case uri == "ui://upstream/app.html":
		return contents(`"mimeType":"text/html;profile=mcp-app","text":"<p>app</p>","_meta":{"ui":{"csp":{"connectDomains":["https://example.com"]}}}`), nil
	case item:
		return contents(`"mimeType":"application/json","text":` + quote(`{"id":`+quote(id)+`}`)), nil
	case strings.HasPrefix(uri, "upstream://files/"):
		return contents(`"text":` + quote(uri)), nil
	}
	return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Resource not found", Data: map[string]string{"uri": uri}}
}

func (c *call) prompt(name string) (string, error) {
	var args map[string]string
	c.arguments(&args)
	said := func(s string) string {
		return `"messages":[{"role":"user","content":{"type":"text","text":` + quote(s) + `}}]`
	}
	switch name {
	case "plain":
		return `"description":"Is plain.","messages":[{"role":"user","content":{"type":"text","text":"plain"}},{"role":"assistant","content":{"type":"image","data":"` + png + `","mimeType":"image/png"}},` +
			`{"role":"user","content":{"type":"resource","resource":{"uri":"upstream://text","mimeType":"text/plain","text":"text"}}}],"_meta":{"q":1}`, nil
	case "poem":
		if args["about"] == "" {
			return "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "about is missing")
		}
		return said(fmt.Sprintf("Write a poem about %s in the style %q.", args["about"], args["style"])), nil
	case "ask":
		answer, err := c.ask("form", "elicitation/create", map[string]any{"message": "Which one?", "requestedSchema": map[string]any{"type": "object", "properties": map[string]any{}}})
		if asks, ok := errors.AsType[*required](err); ok {
			return asks.result, nil
		}
		return said(string(answer)), err
	}
	return "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Unknown prompt: %s", name)
}

// complete completes an argument with words that begin with what is typed.
func (c *call) complete() string {
	var argument struct{ Name, Value string }
	_ = json.Unmarshal(c.params["argument"], &argument)
	var values []string
	for _, word := range []string{"haiku", "hymn", "limerick", "sonnet"} {
		if strings.HasPrefix(word, argument.Value) {
			values = append(values, word)
		}
	}
	return fmt.Sprintf(`"completion":{"values":%s,"total":%d,"hasMore":false}`, jsonrpc.AppendValue(nil, append([]string{}, values...)), len(values))
}

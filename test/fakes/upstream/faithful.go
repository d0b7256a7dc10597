package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/toolserver/toolserver/wire/jsonrpc"
)

// faithfuls are tools that say what has reached the server, and send what they are told.
func faithfuls() []tool {
	return []tool{
		{"parameters", "Returns the parameters of the call.", schema(`"x":{"type":"string"}`), func(c *call) (string, error) {
			return text(string(jsonrpc.AppendValue(nil, c.params))), nil
		}},
		{"return", "Returns a result.", schema(`"result":{"type":"object"}`, "result"), func(c *call) (string, error) {
			var in struct{ Result json.RawMessage }
			c.arguments(&in)
			return strings.TrimSpace(string(in.Result[1 : len(in.Result)-1])), nil
		}},
		{"link", "Returns a link to a document that is in no list.", schema(""), func(*call) (string, error) {
			return `"content":[{"type":"resource_link","uri":"report://2026/q3","name":"q3"}]`, nil
		}},
		{"bare_roots", "Asks for roots, without parameters.", schema(""), func(c *call) (string, error) {
			answer, err := c.request("roots/list", nil)
			return text(string(answer)), err
		}},
		{"ask_all", "Asks several questions at the same time.", schema(`"count":{"type":"integer"}`), func(c *call) (string, error) {
			var in struct{ Count int }
			c.arguments(&in)
			answers := make([]string, in.Count)
			var waiting sync.WaitGroup
			for i := range answers {
				waiting.Go(func() {
					answer, err := c.request("elicitation/create", map[string]any{
						"message": fmt.Sprintf("Question %d?", i), "requestedSchema": map[string]any{"type": "object", "properties": map[string]any{}},
					})
					answers[i] = fmt.Sprint(string(answer), err)
				})
			}
			waiting.Wait()
			return text(strings.Join(answers, "\n")), nil
		}},
		{"both", "Returns text and structured content.", schema("") + `,"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`, func(*call) (string, error) {
			return join(text("more than the data"), `"structuredContent":{"n":1}`), nil
		}},
		{"same", "Returns the same as text and structured content.", schema("") + `,"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`, func(*call) (string, error) {
			return join(text(`{ "n": 1 }`), `"structuredContent":{"n":1}`), nil
		}},
	}
}

const faithfulTemplates = `,{"uriTemplate":"repo://{owner}/{repo}/contents{/path*}","name":"contents"},{"uriTemplate":"repo://{owner}/readme","name":"readme"},{"uriTemplate":"search://q{?text,limit}","name":"search"}]`

// faithful serves documents that are in no list, prompts, and completions.
func (c *call) faithful() (result string, ok bool) {
	if !has(c.session.upstream.offer, "faithful") {
		return "", false
	}
	switch uri := c.text("uri"); {
	case c.method == "resources/templates/list":
		return strings.TrimSuffix(templateList, "]") + faithfulTemplates, true
	case c.method == "resources/read" && strings.HasPrefix(uri, "shape:"):
		result, _ := url.PathUnescape(uri[len("shape:"):])
		return result, true
	case c.method == "resources/read" && (strings.HasPrefix(uri, "repo:") || strings.HasPrefix(uri, "search:") || strings.HasPrefix(uri, "report:")):
		return `"contents":[{"uri":` + quote(uri) + `,"text":` + quote("read "+uri) + `}],"_meta":{"example.com/read":1},"x-more":[1.0]`, true
	case c.method == "prompts/get" && c.text("name") == "plain":
		return `"messages":[],"_meta":{"example.com/prompt":` + string(jsonrpc.AppendValue(nil, c.params["_meta"])) + `},"x-more":2`, true
	case c.method == "completion/complete":
		return `"completion":{"values":["a","b"],"total":9,"hasMore":true}`, true
	}
	return "", false
}

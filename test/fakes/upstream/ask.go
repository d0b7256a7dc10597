package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/toolserver/toolserver/wire/jsonrpc"
)

// required is the error of a call that cannot go on without an answer of the
// client, in the modern generation of the protocol.
type required struct{ result string }

func (r *required) Error() string { return "input required" }

// ask asks the client. In the legacy generation that is a request. In the modern
// one the question is the result of the call, and the client calls again with the
// answer; the state that it carries meanwhile has all answers until then.
func (c *call) ask(name, method string, params any) (json.RawMessage, error) {
	if !c.modern {
		return c.request(method, params)
	}
	answers := map[string]json.RawMessage{}
	var state string
	if json.Unmarshal(c.params["requestState"], &state) == nil {
		kept, err := base64.StdEncoding.DecodeString(state)
		if err == nil {
			err = json.Unmarshal(kept, &answers)
		}
		if err != nil {
			return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "the request state is not mine")
		}
	}
	_ = json.Unmarshal(c.params["inputResponses"], &answers)
	if answer := answers[name]; answer != nil {
		return answer, nil
	}
	kept := jsonrpc.AppendValue(nil, answers)
	question := jsonrpc.AppendValue(nil, map[string]any{name: map[string]any{"method": method, "params": params}})
	return nil, &required{fmt.Sprintf(`"resultType":"input_required","inputRequests":%s,"requestState":%q`, question, base64.StdEncoding.EncodeToString(kept))}
}

// request sends the client a request and returns its result.
func (c *call) request(method string, params any) (json.RawMessage, error) {
	s, answer := c.session, make(chan jsonrpc.Message, 1)
	s.mu.Lock()
	s.lastID++
	id := jsonrpc.AppendValue(nil, fmt.Sprintf("question %d", s.lastID))
	s.asked[string(id)] = answer
	s.mu.Unlock()
	c.out(jsonrpc.Request(id, method, params))
	select {
	case msg := <-answer:
		if msg.Failure != nil {
			return nil, jsonrpc.ParseError(msg.Failure)
		}
		return msg.Result, nil
	case <-c.ctx.Done():
		return nil, errSilent
	}
}

// asking are tools that ask the client.
func asking() []tool {
	elicit := func(name string, params string) func(*call) (string, error) {
		return func(c *call) (string, error) {
			var in struct{ Message string }
			c.arguments(&in)
			var p map[string]any
			_ = json.Unmarshal([]byte(params), &p)
			if in.Message != "" {
				p["message"] = in.Message
			}
			answer, err := c.ask(name, "elicitation/create", p)
			return text(string(answer)), err
		}
	}
	message := schema(`"message":{"type":"string"}`)
	form := `{"mode":"form","message":"Who are you?","requestedSchema":{"type":"object","properties":{` +
		`"name":{"type":"string","title":"Name","minLength":1},"age":{"type":"integer","minimum":0},"color":{"type":"string","enum":["red","green"],"default":"red"}},"required":["name"]}}`
	return []tool{
		{"ask_form", "Asks the user to fill in a form.", message, elicit("form", form)},
		{"ask_url", "Asks the user to open a page.", message, elicit("url", `{"mode":"url","message":"Sign in.","url":"https://example.com/sign-in?x=1","elicitationId":"e-1"}`)},
		{"ask_rounds", "Asks several times, one after the other.", schema(`"rounds":{"type":"integer","minimum":1}`), func(c *call) (string, error) {
			var in struct{ Rounds int }
			c.arguments(&in)
			var all []json.RawMessage
			for i := range in.Rounds {
				answer, err := c.ask(fmt.Sprintf("round_%d", i), "elicitation/create", map[string]any{
					"message": fmt.Sprintf("Round %d?", i), "requestedSchema": map[string]any{"type": "object", "properties": map[string]any{}},
				})
				if err != nil {
					return "", err
				}
				all = append(all, answer)
			}
			return text(string(jsonrpc.AppendValue(nil, all))), nil
		}},
		{"ask_model", "Has the client's model write a poem.", schema(""), func(c *call) (string, error) {
			answer, err := c.ask("model", "sampling/createMessage", map[string]any{
				"messages":         []any{map[string]any{"role": "user", "content": map[string]any{"type": "text", "text": "Write a poem."}}},
				"maxTokens":        50,
				"systemPrompt":     "You are a poet.",
				"modelPreferences": map[string]any{"hints": []any{map[string]any{"name": "small"}}, "speedPriority": 0.5},
			})
			return text(string(answer)), err
		}},
		{"ask_roots", "Asks for the client's roots.", schema(""), func(c *call) (string, error) {
			answer, err := c.ask("roots", "roots/list", map[string]any{})
			return text(string(answer)), err
		}},
	}
}

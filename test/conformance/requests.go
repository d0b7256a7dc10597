package main

import (
	"encoding/json"

	"github.com/toolserver/toolserver/domain/call"
)

// question is a form for the user of the client.
type question struct {
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"requestedSchema"`
}

// elicitation asks the person behind the client. Its answer counts whether or
// not it comes with the server's state, as the suites send it.
func elicitation(message, schema string) call.InputRequest {
	return call.InputRequest{Method: call.AskElicitation, Params: question{message, json.RawMessage(schema)}}
}

// formOf is the schema of a form with one text to fill in.
func formOf(field string) string {
	return `{"type":"object","properties":{"` + field + `":{"type":"string"}},"required":["` + field + `"]}`
}

// confirmation is the schema of a form with one box to tick.
const confirmation = `{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`

type samplingParams struct {
	Messages  []samplingMessage `json:"messages"`
	MaxTokens int               `json:"maxTokens"`
}

type samplingMessage struct {
	Role    string       `json:"role"`
	Content samplingText `json:"content"`
}

type samplingText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// sampling asks the model behind the client.
func sampling(prompt string, maxTokens int) call.InputRequest {
	return call.InputRequest{Method: call.AskSampling, Params: samplingParams{
		Messages:  []samplingMessage{{Role: "user", Content: samplingText{Type: "text", Text: prompt}}},
		MaxTokens: maxTokens,
	}}
}

// roots asks for the client's roots.
func roots() call.InputRequest {
	return call.InputRequest{Method: call.AskRoots, Params: struct{}{}}
}

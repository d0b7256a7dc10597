package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
)

type samplingInput struct {
	Prompt string `json:"prompt" doc:"What to ask the model."`
}

type elicitationInput struct {
	Message string `json:"message" doc:"What to ask the user."`
}

// askingTools ask the client one thing, and say what it answered.
func askingTools() []domain.Tool {
	return []domain.Tool{
		readsWith("test_sampling", "Asks the client's model.", func(ctx context.Context, in samplingInput) (domain.ToolResult, error) {
			answer, err := askModel(ctx, "prompt", in.Prompt)
			return domain.Text("LLM response: " + answer), err
		}),
		readsWith("test_elicitation", "Asks the user.", func(ctx context.Context, in elicitationInput) (domain.ToolResult, error) {
			return askUser(ctx, "User response", in.Message, `{"type":"object","properties":{
				"username":{"type":"string","description":"User's response"},
				"email":{"type":"string","description":"User's email address"}
			},"required":["username","email"]}`)
		}),
		reads("test_elicitation_sep1034_defaults", "Asks the user, with a default for each type.",
			func(ctx context.Context) (domain.ToolResult, error) {
				return askUser(ctx, "Elicitation completed", "Please review and update the form fields with defaults", `{"type":"object","properties":{
				"name":{"type":"string","description":"User name","default":"John Doe"},
				"age":{"type":"integer","description":"User age","default":30},
				"score":{"type":"number","description":"User score","default":95.5},
				"status":{"type":"string","description":"User status","enum":["active","inactive","pending"],"default":"active"},
				"verified":{"type":"boolean","description":"Verification status","default":true}
			}}`)
			}),
		reads("test_elicitation_sep1330_enums", "Asks the user, with each form of enumeration.",
			func(ctx context.Context) (domain.ToolResult, error) {
				return askUser(ctx, "Elicitation completed", "Please select options from the enum fields", `{"type":"object","properties":{
				"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
				"titledSingle":{"type":"string","oneOf":[
					{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
				"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
				"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
				"titledMulti":{"type":"array","items":{"anyOf":[
					{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}
			}}`)
			}),
		reads("test_streaming_elicitation", "Asks the user after it has reported progress.",
			func(ctx context.Context) (domain.ToolResult, error) {
				call.ReportProgress(ctx, call.Progress{Done: 1, Total: 2})
				return askUser(ctx, "Elicitation completed", "Shall the stream go on?", confirmation)
			}),
		reads("test_missing_capability", "Asks the client's model, without which it cannot be run.",
			func(ctx context.Context) (domain.ToolResult, error) {
				answer, err := askModel(ctx, "prompt", "Say that sampling works.")
				return domain.Text("LLM response: " + answer), err
			}),
	}
}

// askUser asks the user and says what came of it, after a heading.
func askUser(ctx context.Context, heading, message, schema string) (domain.ToolResult, error) {
	answers, err := call.Ask(ctx, map[string]call.InputRequest{"user": elicitation(message, schema)})
	if err != nil {
		return domain.ToolResult{}, err
	}
	var answer call.ElicitationAnswer
	if err := json.Unmarshal(answers["user"], &answer); err != nil {
		return domain.ToolResult{}, err
	}
	return domain.Text(fmt.Sprintf("%s: action=%s, content=%s", heading, answer.Action, answer.Content)), nil
}

// askModel returns the text a model answers.
func askModel(ctx context.Context, name, prompt string) (string, error) {
	answers, err := call.Ask(ctx, map[string]call.InputRequest{name: sampling(prompt, 100)})
	if err != nil {
		return "", err
	}
	return textOf(answers[name])
}

// textOf returns the text of a model's answer: its content is one block or, in
// later revisions, a list of them.
func textOf(answer json.RawMessage) (string, error) {
	var message struct {
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(answer, &message); err != nil {
		return "", err
	}
	var blocks []samplingText
	if err := json.Unmarshal(message.Content, &blocks); err != nil {
		blocks = make([]samplingText, 1)
		if err := json.Unmarshal(message.Content, &blocks[0]); err != nil {
			return "", err
		}
	}
	var text string
	for _, b := range blocks {
		text += b.Text
	}
	return text, nil
}

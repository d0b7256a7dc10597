package domain

import (
	"context"
	"encoding/json"
	"fmt"
)

// Elicitation is a question to the person behind the client.
type Elicitation struct {
	Message string
	Schema  any // of the answer: a flat object of primitive properties; nil for none
}

// What a person may do with a question.
const (
	Accepted = "accept"
	Declined = "decline"
	Canceled = "cancel" // put aside without a choice
)

// ElicitationAnswer is what a person made of a question.
type ElicitationAnswer struct {
	Action  string          `json:"action"`  // Accepted, Declined or Canceled
	Content json.RawMessage `json:"content"` // as the schema asks, if accepted
}

type elicitParams struct {
	Mode    string `json:"mode"`
	Message string `json:"message"`
	Schema  any    `json:"requestedSchema"`
}

// noFields is the schema of a question that is answered by accepting it.
var noFields = json.RawMessage(`{"type":"object","properties":{}}`)

// Elicit asks the person behind the client; name tells the question from
// others of the same call. What [Ask] says of errors goes here too. The answer
// is one to this question and no other.
func Elicit(ctx context.Context, name string, q Elicitation) (ElicitationAnswer, error) {
	if q.Schema == nil {
		q.Schema = noFields
	}
	answers, err := Ask(ctx, map[string]InputRequest{
		name: {Method: AskElicitation, Params: elicitParams{"form", q.Message, q.Schema}, Sealed: true},
	})
	if err != nil {
		return ElicitationAnswer{}, err
	}
	var a ElicitationAnswer
	if err := json.Unmarshal(answers[name], &a); err != nil {
		return a, Errorf(CodeExecutionFailed, "the client's answer to %q: %w", name, err)
	}
	return a, nil
}

// confirm asks the user to agree to the call. The refusal is what the call is
// answered with if they do not.
func (c *Call) confirm(ctx context.Context) (refusal *ToolResult, err error) {
	shown := c.Raw
	if c.Tool.RunRaw == nil {
		if shown, err = c.args.JSON(); err != nil {
			return nil, err
		}
	}
	question := "Allow " + c.Name + " with " + clip(string(shown), maxShown) + "?"
	if hidden := len(shown) - maxShown; hidden > 0 {
		question += fmt.Sprintf(" CAUTION: %d more bytes of the arguments are not shown.", hidden)
	}
	name := "confirm"
	if c.outer != nil {
		name += " " + c.Name // the outer call may have been asked about, too
	}
	answer, err := Elicit(ctx, name, Elicitation{Message: question})
	if err != nil || answer.Action == Accepted {
		return nil, err
	}
	refused := Failure("denied", c.Name+" was not run: the user did not agree to it",
		"Ask the user what to do instead; do not try the same call again.")
	return &refused, nil
}

// maxShown bounds the arguments a person is shown.
const maxShown = 2_000

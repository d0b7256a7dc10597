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

// RequireConfirmation returns t, which runs only after the person behind the
// client has agreed to each call.
func RequireConfirmation(t Tool) Tool {
	run := t.Run
	t.Run = func(ctx context.Context, args Arguments) (ToolResult, error) {
		shown, err := args.JSON()
		if err != nil {
			return ToolResult{}, err
		}
		question := "Allow " + t.Name + " with " + clip(string(shown), maxShown) + "?"
		if hidden := len(shown) - maxShown; hidden > 0 {
			question += fmt.Sprintf(" CAUTION: %d more bytes of the arguments are not shown.", hidden)
		}
		answer, err := Elicit(ctx, "confirm", Elicitation{Message: question})
		if err != nil {
			return ToolResult{}, err
		}
		if answer.Action != Accepted {
			return Failure("denied", t.Name+" was not run: the user did not agree to it",
				"Ask the user what to do instead; do not try the same call again."), nil
		}
		return run(ctx, args)
	}
	return t
}

// maxShown bounds the arguments a person is shown.
const maxShown = 2_000

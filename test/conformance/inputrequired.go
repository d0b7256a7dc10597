package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
)

// inputRequiredTools need answers that a modern client brings with another call
// (SEP-2322). Each handler runs from its start in every round.
func inputRequiredTools() []domain.Tool {
	return []domain.Tool{
		reads("test_input_required_result_elicitation", "Asks the user for a name.", func(ctx context.Context) (domain.ToolResult, error) {
			name, err := askField(ctx, "user_name", "What is your name?", "name")
			return domain.Text("Hello, " + name + "!"), err
		}),
		reads("test_input_required_result_sampling", "Asks the client's model.", func(ctx context.Context) (domain.ToolResult, error) {
			answer, err := askModel(ctx, "capital_question", "What is the capital of France?")
			return domain.Text(answer), err
		}),
		reads("test_input_required_result_list_roots", "Asks for the client's roots.",
			func(ctx context.Context) (domain.ToolResult, error) {
				return askRoots(ctx)
			}),
		reads("test_input_required_result_request_state", "Asks the user, and takes no answer but with its own state.", confirm),
		reads("test_input_required_result_tampered_state", "The same, for a state that was tampered with.", confirm),
		reads("test_input_required_result_multiple_inputs", "Asks user, model and roots at once.",
			func(ctx context.Context) (domain.ToolResult, error) {
				return askAll(ctx, map[string]call.InputRequest{
					"user_name":    elicitation("What is your name?", formOf("name")),
					"greeting":     sampling("Generate a greeting", 50),
					"client_roots": roots(),
				})
			}),
		reads("test_input_required_result_multi_round", "Asks the user twice, one after the other.",
			func(ctx context.Context) (domain.ToolResult, error) {
				name, err := askField(ctx, "step1", "Step 1: What is your name?", "name")
				if err != nil {
					return domain.ToolResult{}, err
				}
				color, err := askField(ctx, "step2", "Step 2: What is your favorite color?", "color")
				return domain.Text(fmt.Sprintf("%s likes %s", name, color)), err
			}),
		reads("test_input_required_result_capabilities", "Asks for what this client can be asked.",
			func(ctx context.Context) (domain.ToolResult, error) {
				requests := map[string]call.InputRequest{
					"user_name": elicitation("What is your name?", formOf("name")),
					"greeting":  sampling("Generate a greeting", 50),
				}
				maps.DeleteFunc(requests, func(_ string, r call.InputRequest) bool { return !call.CanAsk(ctx, r.Method) })
				return askAll(ctx, requests)
			}),
	}
}

// confirm asks in the strict way.
func confirm(ctx context.Context) (domain.ToolResult, error) {
	answer, err := call.Elicit(ctx, "confirm", call.Elicitation{Message: "Please confirm", Schema: json.RawMessage(confirmation)})
	if err != nil {
		return domain.ToolResult{}, err
	}
	return domain.Text("state-ok: action=" + answer.Action), nil
}

// askField has the user fill in one text. It is empty if the user did not.
func askField(ctx context.Context, name, message, field string) (string, error) {
	answers, err := call.Ask(ctx, map[string]call.InputRequest{name: elicitation(message, formOf(field))})
	if err != nil {
		return "", err
	}
	var answer struct {
		Content map[string]any `json:"content"`
	}
	if err := json.Unmarshal(answers[name], &answer); err != nil {
		return "", err
	}
	value, _ := answer.Content[field].(string)
	return value, nil
}

func askRoots(ctx context.Context) (domain.ToolResult, error) {
	answers, err := call.Ask(ctx, map[string]call.InputRequest{"client_roots": roots()})
	if err != nil {
		return domain.ToolResult{}, err
	}
	var answer struct {
		Roots []struct {
			URI string `json:"uri"`
		} `json:"roots"`
	}
	if err := json.Unmarshal(answers["client_roots"], &answer); err != nil {
		return domain.ToolResult{}, err
	}
	var uris []string
	for _, root := range answer.Roots {
		uris = append(uris, root.URI)
	}
	return domain.Text("Roots: " + strings.Join(uris, ", ")), nil
}

// askAll says what has been answered to several questions.
func askAll(ctx context.Context, requests map[string]call.InputRequest) (domain.ToolResult, error) {
	answers, err := call.Ask(ctx, requests)
	if err != nil {
		return domain.ToolResult{}, err
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		lines = append(lines, name+": "+string(answers[name]))
	}
	return domain.Text(strings.Join(lines, "\n")), nil
}

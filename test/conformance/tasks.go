package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
)

type greetInput struct {
	Name string `json:"name" doc:"Whom to greet."`
}

type slowInput struct {
	Seconds float64 `json:"seconds" doc:"How long to compute."`
	Label   string  `json:"label,omitempty" doc:"What to call it."`
}

type deleteInput struct {
	Filename string `json:"filename" doc:"What to delete."`
}

// yesOrNo is the schema of a question.
const yesOrNo = `{"type":"object","properties":{"confirm":{"type":"boolean"}},"required":["confirm"]}`

// taskTools become tasks, but for greet.
func taskTools() []domain.Tool {
	return []domain.Tool{
		readsWith("greet", "Greets, at once.", func(_ context.Context, in greetInput) (domain.ToolResult, error) {
			return domain.Text("Hello, " + in.Name + "!"), nil
		}),
		readsWith("slow_compute", "Takes some seconds.", func(ctx context.Context, in slowInput) (domain.ToolResult, error) {
			if in.Seconds > 0 {
				call.Detach(ctx, "computes "+in.Label)
				if err := rest(ctx, time.Duration(in.Seconds*float64(time.Second))); err != nil {
					return domain.ToolResult{}, err
				}
			}
			return domain.Text("computed " + in.Label), nil
		}),
		reads("failing_job", "Fails after a second, as a task only.", func(ctx context.Context) (domain.ToolResult, error) {
			if err := onlyAsTask(ctx); err != nil {
				return domain.ToolResult{}, err
			}
			return domain.Failure("failed", "the job has failed", ""), rest(ctx, time.Second)
		}),
		reads("protocol_error_job", "Panics as a task.", func(ctx context.Context) (domain.ToolResult, error) {
			call.Detach(ctx, "is about to fail")
			panic("as was asked for")
		}),
		readsWith("confirm_delete", "Asks before it deletes nothing, as a task.", func(ctx context.Context, in deleteInput) (domain.ToolResult, error) {
			call.Detach(ctx, "deletes "+in.Filename)
			return askUser(ctx, "deleted "+in.Filename, "Delete "+in.Filename+"?", yesOrNo)
		}),
		reads("multi_input", "Asks two questions at once, as a task.", func(ctx context.Context) (domain.ToolResult, error) {
			call.Detach(ctx, "has questions")
			answers, err := call.Ask(ctx, map[string]call.InputRequest{
				"first": elicitation("What is your name?", yesOrNo), "second": elicitation("Are you sure?", yesOrNo),
			})
			return domain.Text(fmt.Sprintf("%d answers", len(answers))), err
		}),
		reads("test_tool_with_task", "Asks first, and then becomes a task.", func(ctx context.Context) (domain.ToolResult, error) {
			answers, err := call.Ask(ctx, map[string]call.InputRequest{"user_name": elicitation("What is your name?",
				`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)})
			if err == nil {
				err = onlyAsTask(ctx)
			}
			var answer struct{ Content struct{ Name string } }
			if err == nil {
				err = json.Unmarshal(answers["user_name"], &answer)
			}
			return domain.Text("Hello, " + answer.Content.Name + "!"), err
		}),
	}
}

// onlyAsTask makes a task of the call, without which it fails.
func onlyAsTask(ctx context.Context) error {
	if call.Detach(ctx, "works") {
		return nil
	}
	return &domain.Error{Code: domain.CodeMissingCapability, Message: "this tool works as a task only", Data: map[string]any{
		"requiredCapabilities": map[string]any{"extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}},
	}}
}

// rest lets time pass.
func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

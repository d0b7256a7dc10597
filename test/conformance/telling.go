package main

import (
	"context"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
)

// pause lies between two notifications. The suites want their receivers to
// get them one by one, so this is no wait for something to happen.
const pause = 50 * time.Millisecond

// tellingTools say something before they answer.
func tellingTools() []domain.Tool {
	return []domain.Tool{
		reads("test_tool_with_logging", "Logs three messages and answers.", func(ctx context.Context) (domain.ToolResult, error) {
			err := oneByOne(ctx, []string{"Tool execution started", "Tool processing data", "Tool execution completed"}, func(message string) {
				call.Log(ctx, call.LogMessage{Level: call.LogInfo, Logger: "conformance", Data: message})
			})
			return domain.Text("Tool with logging executed successfully"), err
		}),
		reads("test_logging_tool", "Logs a message of each level and answers.", func(ctx context.Context) (domain.ToolResult, error) {
			for level := call.LogDebug; level <= call.LogEmergency; level++ {
				call.Log(ctx, call.LogMessage{Level: level, Logger: "conformance", Data: "A message of level " + level.String()})
			}
			return domain.Text("Logging tool executed successfully"), nil
		}),
		reads("test_tool_with_progress", "Reports progress three times and answers.", func(ctx context.Context) (domain.ToolResult, error) {
			err := oneByOne(ctx, []float64{0, 50, 100}, func(done float64) {
				call.ReportProgress(ctx, call.Progress{Done: done, Total: 100})
			})
			return domain.Text("Tool with progress executed successfully"), err
		}),
	}
}

// oneByOne tells each item, with a pause between two.
func oneByOne[T any](ctx context.Context, items []T, tell func(T)) error {
	for i, item := range items {
		if i > 0 {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		tell(item)
	}
	return nil
}

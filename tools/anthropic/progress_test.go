package anthropic

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/test/tooltest"
)

// TestProgress checks that a client hears of the first piece at once, and of
// further ones no more than five times a second.
func TestProgress(t *testing.T) {
	now := time.Unix(0, 0)
	tool := domain.Define(domain.Tool{Name: "t", Title: "T", Description: "Writes as a model does.", Category: "ai"},
		func(ctx context.Context, _ struct{}) (domain.ToolResult, error) {
			report := progress(ctx, func() time.Time { return now })
			if report == nil {
				return domain.Text("nobody listens"), nil
			}
			report("", "é")
			for range 100 {
				report("ab", "")
				now = now.Add(10 * time.Millisecond)
			}
			return domain.Text("done"), nil
		})
	var heard []string
	command := call.ExecuteToolCommand{Tool: "t", Arguments: json.RawMessage("{}")}
	if res, err := tooltest.Executor(t, tool).Call(t.Context(), command); err != nil || tooltest.Text(res) != "nobody listens" {
		t.Errorf("%v, error %v", res, err)
	}
	command.Client = call.ProgressFunc(func(p call.Progress) { heard = append(heard, fmt.Sprint(p.Done, " ", p.Message)) })
	if _, err := tooltest.Executor(t, tool).Call(t.Context(), command); err != nil {
		t.Fatal(err)
	}
	want := "[1 thinking, 1 characters 43 42 characters 83 82 characters 123 122 characters 163 162 characters]"
	if got := fmt.Sprint(heard); got != want {
		t.Errorf("heard %s\nwant  %s", got, want)
	}
}

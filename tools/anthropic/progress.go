package anthropic

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"toolserver/domain"
)

// progressEvery is the least time between two reports of progress.
const progressEvery = 200 * time.Millisecond

// progress tells the caller how far an answer has got: at its first piece, and
// from then on every progressEvery at most.
func progress(ctx context.Context, now func() time.Time) func(Delta) {
	if !domain.WantsProgress(ctx) {
		return nil
	}
	var last time.Time
	thought, written := 0, 0
	return func(d Delta) {
		thought += utf8.RuneCountInString(d.Thinking)
		written += utf8.RuneCountInString(d.Text)
		if t := now(); last.IsZero() || t.Sub(last) >= progressEvery {
			last = t
			message := fmt.Sprintf("%d characters", written)
			if written == 0 {
				message = fmt.Sprintf("thinking, %d characters", thought)
			}
			domain.ReportProgress(ctx, domain.Progress{Done: float64(thought + written), Message: message})
		}
	}
}

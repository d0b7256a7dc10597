package call

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolserver/toolserver/domain"
)

// TestClockEnds checks that standing still takes no time of a clock's, and that
// one that stands still at its very end ends all the same.
func TestClockEnds(t *testing.T) {
	for _, late := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan time.Time, 1)
			var c clock
			begun := time.Now()
			c.start(new(timers), time.Second, func() { ended <- time.Now() })
			time.Sleep(time.Second / 2)
			want := time.Hour + time.Second
			if late { // the time is over, and the timer is about to say so
				c.ends = time.Now()
				want = time.Hour + time.Second/2 + 1
			}
			c.pause()
			time.Sleep(time.Hour)
			c.resume()
			if took := (<-ended).Sub(begun); took != want {
				t.Errorf("late %t: ended after %v; want %v", late, took, want)
			}
		})
	}
}

// TestTimersAgain has one clock use the timer of another that was stopped: that one's time
// ends nothing, and its own does.
func TestTimersAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var from timers
		var ended []string
		for _, name := range []string{"stopped", "stopped paused", "last"} {
			var c clock
			c.start(&from, time.Second, func() { ended = append(ended, name) })
			time.Sleep(time.Second / 2)
			if name == "stopped paused" {
				c.pause()
			}
			if name != "last" {
				c.stop()
			}
			c.resume() // does nothing after stop
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if !slices.Equal(ended, []string{"last"}) {
			t.Errorf("ended: %q", ended)
		}
	})
}

// background is a client whose calls are tasks from some time on.
type background struct {
	ProgressFunc
	from time.Time
}

func (b *background) Detach(string) bool { return !time.Now().Before(b.from) }

// TestTaskTime gives calls that are tasks more time, unless their tool has a limit.
func TestTaskTime(t *testing.T) {
	for name, c := range map[string]struct {
		own, task time.Duration
		client    Client
		want      time.Duration // 0 for never
	}{
		"no task":                {task: time.Hour, client: ProgressFunc(nil), want: time.Minute},
		"a task":                 {task: time.Hour, client: &background{}, want: time.Hour},
		"a task too late":        {task: time.Hour, client: &background{from: time.Now().Add(1000 * time.Hour)}, want: time.Minute},
		"a task without a limit": {client: &background{}},
		"shorter for tasks":      {task: time.Second, client: &background{}, want: time.Minute},
		"its own limit":          {own: 2 * time.Minute, task: time.Hour, client: &background{}, want: 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tool := tool("t", func(ctx context.Context) (domain.ToolResult, error) {
					<-ctx.Done()
					return domain.ToolResult{}, ctx.Err()
				})
				tool.Timeout = c.own
				exec := executor(t, domain.Settings{Limits: domain.Limits{DefaultTimeout: time.Minute, TaskTimeout: c.task}}, nil, tool)
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Hour)
				defer cancel()
				begun := time.Now()
				_, err := exec.Call(ctx, ExecuteToolCommand{Tool: "t", Client: c.client})
				took, late := time.Since(begun), errors.Is(err, context.DeadlineExceeded) || time.Since(begun) >= 100*time.Hour
				if c.want != 0 && took != c.want || c.want == 0 && !late {
					t.Errorf("it takes %v: %v", took, err)
				}
				if setting := map[bool]string{true: "task_timeout", false: "timeout"}[c.want == time.Hour]; c.want != 0 && !strings.Contains(fmt.Sprint(err), setting) {
					t.Errorf("the error is %v", err)
				}
			})
		})
	}
}

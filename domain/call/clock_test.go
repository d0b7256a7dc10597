package call

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
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

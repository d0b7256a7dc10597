package domain

import (
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
			c.start(time.Second, func() { ended <- time.Now() })
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

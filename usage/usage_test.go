package usage

import (
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestUsage counts over restarts, beside another process, and over midnight.
func TestUsage(t *testing.T) {
	dir := t.TempDir()
	open := func() (*os.Root, error) { return os.OpenRoot(dir) }
	fail := func(err error) { t.Error(err) }
	first, other := Start(open, fail), Start(open, fail)
	key := Key{"token:ann", "bash"}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				first.Add(key, Count{Calls: 1, Units: 2})
			}
		})
	}
	all.Wait()
	other.name += "-1"
	other.Add(key, Count{Calls: 1, Units: 5})
	first.Close()
	other.Close()
	next := Start(open, fail)
	if n := next.Units("token:ann"); n != 1605 {
		t.Errorf("%d units after a restart", n)
	}
	next.Add(key, Count{Calls: 1, Units: 1})
	if next.Units("token:ann") != 1606 || next.Units("token:bob") != 0 {
		t.Error("wrong units")
	}
	next.now = func() time.Time { return time.Now().AddDate(0, 0, 1) }
	if n := next.Units("token:ann"); n != 0 {
		t.Errorf("%d units on the next day", n)
	}
	next.Add(key, Count{Calls: 1})
	next.Close()
	kept, err := Read(open, time.Now().UTC().Format(time.DateOnly))
	if err != nil || kept[key] != (Count{Calls: 803, Units: 1606}) {
		t.Errorf("%+v, %v", kept, err)
	}
	later := Start(open, fail)
	later.now = func() time.Time { return time.Now().AddDate(0, 0, keepDays+2) }
	later.Add(key, Count{Calls: 1})
	later.Close()
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%d files after %d days", len(files), keepDays+2)
	}
}

// TestBound counts more than there is room for.
func TestBound(t *testing.T) {
	dir := t.TempDir()
	c := Start(func() (*os.Root, error) { return os.OpenRoot(dir) }, func(err error) { t.Error(err) })
	defer c.Close()
	for i := range maxCounts + 10 {
		c.Add(Key{"token:ann", string(rune(i + 1000))}, Count{Calls: 1})
	}
	if len(c.own) > maxCounts+1 || c.own[Key{Others, Others}].Calls != 10 {
		t.Errorf("%d counts", len(c.own))
	}
	for i := range maxCounts + 10 {
		c.Add(Key{"token:" + strconv.Itoa(i), "bash"}, Count{Units: 3})
	}
	if len(c.units) > maxCounts+1 || c.Units("token:1") != 3 || c.Units("token:beyond") < 30 {
		t.Errorf("units of %d, %d beyond", len(c.units), c.Units("token:beyond"))
	}
}

// TestShare counts what other replicas have used, too.
func TestShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, shared, reached := t.TempDir(), int64(100), true
		c := Start(func() (*os.Root, error) { return os.OpenRoot(dir) }, func(err error) { t.Error(err) })
		defer c.Close()
		c.Share = func(principal, day string, units int64) (int64, bool) {
			if !reached {
				return 0, false
			}
			shared += units
			return shared, true
		}
		for _, step := range []struct {
			reached bool
			used    int64
			want    int64
		}{{true, 5, 105}, {true, 1, 106}, {false, 2, 108}, {true, 1, 109}} {
			reached = step.reached
			c.Add(Key{"token:ann", "bash"}, Count{Units: step.used})
			time.Sleep(2 * sharePause)
			synctest.Wait()
			if got := c.Units("token:ann"); got != step.want {
				t.Errorf("%d units, want %d", got, step.want)
			}
		}
	})
}

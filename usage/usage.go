// Package usage counts what principals use, day by day, and keeps the counts over restarts.
package usage

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"
)

// Count is what was used of one tool.
type Count struct {
	Calls  int64 `json:"calls"`
	Failed int64 `json:"failed,omitempty"` // of them, whatever the reason
	Units  int64 `json:"units,omitempty"`
	Millis int64 `json:"ms,omitempty"`
	In     int64 `json:"in,omitempty"`  // bytes of arguments
	Out    int64 `json:"out,omitempty"` // bytes of results
}

// Add adds another count.
func (c *Count) Add(o Count) {
	c.Calls, c.Failed, c.Units, c.Millis, c.In, c.Out = c.Calls+o.Calls, c.Failed+o.Failed, c.Units+o.Units, c.Millis+o.Millis, c.In+o.In, c.Out+o.Out
}

// Key says whose count it is, and of what. The principal is an ID.
type Key struct{ Principal, Tool string }

// Bounds of what is kept.
const (
	maxCounts = 50_000 // of a day; what comes then counts as of Others
	keepDays  = 92
	savePause = time.Minute
	// sharePause is how long what was used may wait until other replicas know of it.
	sharePause = 100 * time.Millisecond
)

// Others stands for the principals, or the tools, beyond the bound.
const Others = "_other"

// Counter counts for one process. It is safe for concurrent use.
type Counter struct {
	// Share adds to what all replicas have used of a day for a principal, and returns the sum; ok is false if it is not known. It is nil for a server that
	// is alone, and set before the first Add.
	Share func(principal, day string, units int64) (sum int64, ok bool)

	open  func() (*os.Root, error)
	name  string // of its files, after the day
	now   func() time.Time
	saved *time.Timer
	fail  func(error)

	mu      sync.Mutex
	day     string
	own     map[Key]*Count   // of this process
	units   map[string]int64 // of each principal, of all processes before this one, too
	changed bool
	closed  bool
	untold  map[string]int64 // units that were not shared yet; nil if there are none
}

// Start begins to count. Open opens the directory that keeps the counts; fail is told when that fails. The caller closes the counter.
func Start(open func() (*os.Root, error), fail func(error)) *Counter {
	c := &Counter{open: open, name: fmt.Sprintf("%d-%d", time.Now().UnixNano(), os.Getpid()), now: time.Now, fail: fail}
	c.saved = time.AfterFunc(savePause, c.save)
	c.begin(c.today())
	return c
}

func (c *Counter) today() string { return c.now().UTC().Format(time.DateOnly) }

// begin begins a day.
func (c *Counter) begin(day string) {
	c.day, c.own, c.units, c.changed = day, map[Key]*Count{}, map[string]int64{}, false
	before, err := Read(c.open, day)
	if err != nil {
		c.fail(err)
	}
	for key, n := range before {
		c.units[key.Principal] += n.Units
	}
}

// Add counts.
func (c *Counter) Add(key Key, n Count) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn()
	whose := c.whose(key.Principal)
	c.units[whose] += n.Units
	if c.Share != nil && n.Units != 0 {
		if c.untold == nil {
			c.untold = map[string]int64{}
			time.AfterFunc(sharePause, c.tell)
		}
		c.untold[whose] += n.Units
	}
	if c.own[key] == nil && len(c.own) >= maxCounts {
		key = Key{Others, Others}
	}
	if c.own[key] == nil {
		c.own[key] = &Count{}
	}
	c.own[key].Add(n)
	c.changed = true
}

// tell shares what was used since it was last told.
func (c *Counter) tell() {
	c.mu.Lock()
	day, untold := c.day, c.untold
	c.untold = nil
	c.mu.Unlock()
	for principal, n := range untold {
		sum, ok := c.Share(principal, day, n)
		c.mu.Lock()
		if ok && c.day == day {
			c.units[principal] = max(c.units[principal], sum+c.untold[principal])
		}
		c.mu.Unlock()
	}
}

// Units returns how much a principal has used today.
func (c *Counter) Units(principal string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn()
	return c.units[c.whose(principal)]
}

// whose returns under whom the units of a principal count: those beyond the bound share what one may use.
func (c *Counter) whose(principal string) string {
	if _, known := c.units[principal]; !known && len(c.units) >= maxCounts {
		return Others
	}
	return principal
}

// turn begins the next day, if that has come.
func (c *Counter) turn() {
	if day := c.today(); day != c.day {
		c.write()
		c.begin(day)
	}
}

func (c *Counter) save() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.write()
	if !c.closed {
		c.saved.Reset(savePause)
	}
}

// Close saves what was counted.
func (c *Counter) Close() {
	c.tell()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.saved.Stop()
	c.write()
}

// write writes the counts of the day.
func (c *Counter) write() {
	if !c.changed {
		return
	}
	byPrincipal := map[string]map[string]*Count{}
	for key, n := range c.own {
		if byPrincipal[key.Principal] == nil {
			byPrincipal[key.Principal] = map[string]*Count{}
		}
		byPrincipal[key.Principal][key.Tool] = n
	}
	b, err := json.Marshal(byPrincipal)
	if err == nil {
		err = c.replace(b)
	}
	if c.changed = err != nil; err != nil {
		c.fail(err)
	}
}

func (c *Counter) replace(b []byte) error {
	dir, err := c.open()
	if err != nil {
		return err
	}
	defer dir.Close()
	name := c.day + "-" + c.name + ".json"
	if err := dir.WriteFile(name+".tmp", b, 0o600); err != nil {
		return err
	}
	if err := dir.Rename(name+".tmp", name); err != nil {
		return err
	}
	oldest := c.now().UTC().AddDate(0, 0, -keepDays).Format(time.DateOnly)
	entries, _ := fs.ReadDir(dir.FS(), ".")
	for _, e := range entries {
		if e.Name() < oldest { // what a killed process left, too
			_ = dir.Remove(e.Name()) // or the next time
		}
	}
	return nil
}

// Read returns what was used since a day, such as 2026-11-28, by all processes that have saved it.
func Read(open func() (*os.Root, error), since string) (map[Key]Count, error) {
	all := map[Key]Count{}
	dir, err := open()
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return all, err
	}
	defer dir.Close()
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return all, err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") || e.Name() < since { // names begin with the day
			continue
		}
		b, err := dir.ReadFile(e.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var kept map[string]map[string]Count
		if err == nil {
			err = json.Unmarshal(b, &kept)
		}
		if err != nil {
			return all, fmt.Errorf("%s: %w", e.Name(), err)
		}
		for principal, tools := range kept {
			for tool, n := range tools {
				sum := all[Key{principal, tool}]
				sum.Add(n)
				all[Key{principal, tool}] = sum
			}
		}
	}
	return all, nil
}

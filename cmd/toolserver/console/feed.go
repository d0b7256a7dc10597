package console

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolserver/toolserver/cmd/toolserver/record"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/usage"
)

// Bounds of a feed.
const (
	keepCalls = 1000
	maxCounts = 20_000
	lookPause = 200 * time.Millisecond
)

// feed is what the record has, as far as pages show it: the last calls, and counts of all. It looks when it is asked,
// so that it costs nothing while no page is open.
type feed struct {
	open func() (*os.Root, error)

	mu     sync.Mutex
	reader *record.Reader
	looked time.Time
	stamp  string         // tells this feed from that of an earlier process
	calls  []record.Entry // the last, the oldest first
	next   int            // number of the call after them
	counts map[used]usage.Count
	first  time.Time // of what is counted
}

// used is what is counted: on a day, of a principal, of a tool.
type used struct{ Day, Principal, Tool string }

// look reads what was added to the record.
func (f *feed) look() error {
	if f.reader == nil {
		f.reader, f.counts, f.stamp = record.NewReader(f.open), map[used]usage.Count{}, time.Now().UTC().Format("150405.000000")
	}
	if time.Since(f.looked) < lookPause {
		return nil
	}
	f.looked = time.Now()
	_, err := f.reader.Next(func(e *record.Entry) bool {
		if e.What == record.Call && e.Outcome != "running" { // sockets tell what runs
			f.add(e)
		}
		return false
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (f *feed) add(e *record.Entry) {
	if len(f.calls) >= 2*keepCalls {
		f.calls = append(f.calls[:0:0], f.calls[len(f.calls)-keepCalls:]...)
	}
	f.calls = append(f.calls, *e)
	f.next++
	if f.first.IsZero() || e.Time.Before(f.first) {
		f.first = e.Time
	}
	key := used{e.Time.Local().Format(time.DateOnly), e.Principal, e.Tool}
	if _, counted := f.counts[key]; !counted && len(f.counts) >= maxCounts {
		key.Principal, key.Tool = usage.Others, usage.Others
	}
	n := usage.Count{Calls: 1, Millis: int64(e.Took), In: int64(e.ArgsBytes), Out: int64(e.ResultBytes)}
	if e.Failed() {
		n.Failed = 1
	}
	n.Add(f.counts[key])
	f.counts[key] = n
}

// since returns the calls from a number on that match, at most the last of them, and the number to go on with.
func (f *feed) since(number, most int, match func(*record.Entry) bool) (calls []record.Entry, next int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	err = f.look()
	from := max(0, len(f.calls)-keepCalls, len(f.calls)-(f.next-number))
	for _, e := range slices.Backward(f.calls[min(from, len(f.calls)):]) {
		if len(calls) < most && match(&e) {
			calls = append(calls, e)
		}
	}
	slices.Reverse(calls)
	return calls, f.next, err
}

// used returns the counts, and since when they are complete.
func (f *feed) used() (counts map[used]usage.Count, first time.Time, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	err = f.look()
	return maps.Clone(f.counts), f.first, err
}

// filter is which calls a page shows.
type filter struct{ Tool, Principal, Outcome, Text string }

func (q filter) matches(e *record.Entry) bool {
	named, _ := path.Match(q.Tool, e.Tool)
	is := q.Outcome == "" || q.Outcome == e.Outcome || q.Outcome == "refused" && len(e.Refused) > 0 || q.Outcome == "failed" && e.Failed()
	return is && (q.Tool == "" || named || strings.Contains(e.Tool, q.Tool)) &&
		(q.Principal == "" || strings.Contains(e.Principal, q.Principal)) &&
		(q.Text == "" || strings.Contains(strings.ToLower(summary(e)+" "+why(e)+" "+e.Client), strings.ToLower(q.Text)))
}

// row is a call as a page shows it.
type row struct {
	ID        string `json:"id"`
	Time      string `json:"time"`
	Tool      string `json:"tool"`
	About     string `json:"about"`
	Outcome   string `json:"outcome"`
	Why       string `json:"why"`
	Took      string `json:"took"`
	Principal string `json:"principal"`
	Client    string `json:"client"`
}

func rowOf(e *record.Entry) row {
	outcome := e.Outcome
	if len(e.Refused) > 0 {
		outcome = "refused"
	}
	today := time.Now().Format(time.DateOnly + " ") // goes without saying
	return row{e.ID, strings.TrimPrefix(at(e.Time), today), call.Visible(e.Tool), call.Visible(clip(summary(e), 160)), outcome, call.Visible(clip(why(e), 300)),
		milliseconds(e.Took), call.Visible(e.Principal), call.Visible(e.Client)}
}

// summary says what a call is about: what its arguments and its result name.
func summary(e *record.Entry) string {
	var words []string
	for _, values := range []map[string][]string{e.Target, e.Made} {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			words = append(words, strings.Join(values[name], ", "))
		}
	}
	return strings.Join(words, " · ")
}

// why says why a call was refused or failed.
func why(e *record.Entry) string {
	for _, r := range e.Refused {
		return r.Reason
	}
	return e.ErrorType
}

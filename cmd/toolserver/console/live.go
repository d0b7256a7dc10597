package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolserver/toolserver/approval"
	"github.com/toolserver/toolserver/cmd/toolserver/live"
	"github.com/toolserver/toolserver/domain/call"
)

// Bounds of a page that is kept up to date.
const (
	tick       = 250 * time.Millisecond
	stateEach  = 4 // ticks
	maxWatches = 32
	writeTime  = 10 * time.Second
)

// events keeps a page up to date: calls that were answered, and what runs.
func (v *visit) events() {
	if v.watches.Add(1) > maxWatches {
		v.watches.Add(-1)
		v.fail(http.StatusServiceUnavailable, errors.New("too many pages are open"))
		return
	}
	defer v.watches.Add(-1)
	q, ctx, out := filterOf(v.r), v.r.Context(), http.NewResponseController(v.w)
	_ = out.SetReadDeadline(time.Time{})
	v.w.Header().Set("Content-Type", "text/event-stream")
	send := func(id, event string, data any) bool {
		text, err := json.Marshal(data)
		if err != nil {
			return false
		}
		_ = out.SetWriteDeadline(time.Now().Add(writeTime))
		_, err = fmt.Fprintf(v.w, "id: %s\nevent: %s\ndata: %s\n\n", id, event, text)
		return err == nil && out.Flush() == nil
	}
	stamp, number, _ := cutLast(v.r.Header.Get("Last-Event-ID"), "-")
	if stamp == "" {
		stamp, number, _ = cutLast(v.r.URL.Query().Get("after"), "-")
	}
	last, err := strconv.Atoi(number)
	if _, _, looked := v.feed.since(0, 0, q.matches); looked != nil || err != nil || stamp != v.feed.stamp { // the page is of an earlier process
		last = 0
	}
	before := ""
	for n := 0; ; n++ {
		calls, next, err := v.feed.since(last, shownCalls, q.matches)
		if err != nil {
			return
		}
		id := v.feed.stamp + "-" + strconv.Itoa(next)
		if len(calls) > 0 {
			rows := make([]row, 0, len(calls))
			for _, e := range calls {
				rows = append(rows, rowOf(&e))
			}
			if !send(id, "calls", rows) {
				return
			}
		}
		last = next
		if n%stateEach == 0 {
			state := v.state(ctx)
			now, _ := json.Marshal(state)
			if text := string(now); text != before || n%(60*stateEach) == 0 { // at times, so that who is gone is noticed
				if before = text; !send(id, "state", state) {
					return
				}
			}
		}
		select {
		case <-time.After(tick):
		case <-ctx.Done():
			return
		}
	}
}

// state is what runs.
type state struct {
	Processes int       `json:"processes"`
	Clients   int       `json:"clients"`
	Approvals int       `json:"approvals"`
	Running   []running `json:"running"`
}

// running is a request in flight.
type running struct {
	PID       int    `json:"pid"`
	ID        string `json:"id"`
	Tool      string `json:"tool"`
	Principal string `json:"principal"`
	Client    string `json:"client"`
	Since     string `json:"since"`
}

func (v *visit) state(ctx context.Context) state {
	s := state{Running: []running{}}
	for _, r := range v.requests(ctx) {
		if r.Waiting() {
			s.Approvals++
		}
	}
	for _, p := range v.snapshots(ctx) {
		s.Processes++
		s.Clients += len(p.Clients)
		for _, c := range p.Calls {
			s.Running = append(s.Running, running{p.Process.PID, c.ID, call.Visible(c.Tool), call.Visible(c.Principal), call.Visible(c.Client),
				c.Started.Local().Format("15:04:05")})
		}
	}
	slices.SortFunc(s.Running, func(a, b running) int { return strings.Compare(a.Since+a.ID, b.Since+b.ID) })
	return s
}

// seenProcess is what a server tells, and how pages call it.
type seenProcess struct {
	live.Snapshot
	By     string
	remote *live.Remote
}

// askTime bounds how long a server may take to tell.
const askTime = 2 * time.Second

// snapshots returns what the servers of this user tell that run now.
func (c *Console) snapshots(ctx context.Context) []seenProcess {
	remotes, err := live.Processes(c.Sockets)
	if err != nil {
		return nil // there has never been one
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	all, answered := make([]seenProcess, len(remotes)), sync.WaitGroup{}
	for i, r := range remotes {
		answered.Go(func() {
			if s, err := r.Get(ctx); err == nil {
				p := s.Process
				all[i] = seenProcess{s, fmt.Sprintf("%s %d, %s", p.Transport, p.PID, filepath.Base(p.Directory)), r}
			}
		})
	}
	answered.Wait()
	return slices.DeleteFunc(all, func(p seenProcess) bool { return p.remote == nil })
}

// cancel cancels a request in flight.
func (v *visit) cancel() {
	for _, p := range v.snapshots(v.r.Context()) {
		if strconv.Itoa(p.Process.PID) == v.r.PostFormValue("pid") {
			v.did(p.remote.Cancel(v.r.Context(), v.r.PostFormValue("id")), "")
			return
		}
	}
	v.fail(http.StatusNotFound, errors.New("that server does not run any more"))
}

// requests returns what waits for a person, and what people have decided lately.
func (c *Console) requests(ctx context.Context) []approval.Request {
	all, _ := c.Desk.List(ctx) // without a directory, nothing waits
	return all
}

// approvals shows what waits for a person.
func (v *visit) approvals() {
	all, err := v.Desk.List(v.r.Context())
	if err != nil {
		v.problem = err.Error()
	}
	slices.Reverse(all)
	waiting := slices.DeleteFunc(slices.Clone(all), func(r approval.Request) bool { return !r.Waiting() })
	decided := slices.DeleteFunc(all, func(r approval.Request) bool { return r.Decision == nil })
	answer := func(value, label string) node { return button(label, attr("name", "answer"), attr("value", value)) }
	v.show("Approvals",
		when(len(waiting) == 0, p("Nothing waits. A call comes here if a person has to agree to it and its client cannot ask (approvals.enabled).")),
		each(waiting, func(r approval.Request) node {
			who := r.Principal
			if r.Client != "" {
				who += " with " + r.Client
			}
			return el("section", h2(r.Tool), p(who, ", until ", at(r.Expires), when(r.Second, el("b", text("; a second person has to agree")))),
				pre("What is asked", r.Text),
				v.post("approvals/"+r.ID, class("row"), answer(approval.Once, "Allow once"), when(r.Scope != "", answer(approval.Session, "Allow for the session")),
					answer(approval.No, "Do not allow"), answer(approval.Never, "Never")))
		}),
		when(len(decided) > 0, h2("Decided"), table("Decided", []string{"Tool", "Of", "Decision", "By", "At", ""}, each(decided, func(r approval.Request) node {
			used := map[bool]string{true: ", used"}[r.Used]
			return tr("", r.Tool, r.Principal, r.Decision.Answer+used, r.Decision.By, at(r.Decision.At), v.post("approvals/"+r.ID, answer("forget", "Forget")))
		}))))
}

// decide takes what a person has decided, or forgets it.
func (v *visit) decide() {
	id, answer := v.r.PathValue("id"), v.r.PostFormValue("answer")
	if answer == "forget" {
		v.did(v.Desk.Forget(v.r.Context(), id), "approvals")
		return
	}
	v.did(v.Desk.Decide(v.r.Context(), id, answer, v.who), "approvals")
}

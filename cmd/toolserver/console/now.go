package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolserver/toolserver/cmd/toolserver/record"
)

// shownCalls is how many calls a page has.
const shownCalls = 100

// filterOf reads which calls are asked for.
func filterOf(r *http.Request) filter {
	return filter{r.FormValue("tool"), r.FormValue("principal"), r.FormValue("outcome"), r.FormValue("text")}
}

// now shows what runs and what was done. The rows of templates are what the script fills.
func (v *visit) now() {
	q, s := filterOf(v.r), v.state(v.r.Context())
	calls, next, err := v.feed.since(0, shownCalls, q.matches)
	if err != nil {
		v.problem = "The record cannot be read: " + err.Error()
	}
	slices.Reverse(calls)
	f := func(name string) node { return attr("data-f", name) }
	cancel := func(pid, id string) node {
		return el("td", v.post("cancel", hide("pid", pid), hide("id", id), button("Cancel")))
	}
	v.show("Now",
		el("p", id("status"), attr("role", "status"), attr("data-events", v.base+"events?after="+v.feed.stamp+"-"+strconv.Itoa(next)+"&"+v.r.URL.RawQuery),
			text(fmt.Sprintf("%d servers, %d clients", s.Processes, s.Clients))),
		el("noscript", p("Without script this page shows what was when it was loaded.")),
		h2("In flight"),
		table("In flight", []string{"Since", "Tool", "Principal", "Client", "Process", ""}, group(id("flight"), each(s.Running, func(c running) node {
			return el("tr", wrap("td", c.Since), wrap("td", c.Tool), wrap("td", c.Principal), wrap("td", c.Client), wrap("td", c.PID), cancel(strconv.Itoa(c.PID), c.ID))
		}))),
		el("template", id("running-row"), el("tr", el("td", f("since")), el("td", f("tool")), el("td", f("principal")), el("td", f("client")),
			el("td", f("pid")), cancel("", ""))),
		h2("Calls"),
		get("Calls", field("Tool", "tool", q.Tool), field("Principal", "principal", q.Principal),
			choice("Outcome", "outcome", q.Outcome, []string{"", "ok", "refused", "failed", "tool_error", "error", "input_required", "unfinished"}),
			field("Text", "text", q.Text), button("Show")),
		table("Calls", []string{"Time", "Tool", "About", "Outcome", "Took", "Principal", "Client"}, group(id("done"), each(calls, func(e record.Entry) node {
			r := rowOf(&e)
			return el("tr", class(r.Outcome), attr("data-id", r.ID), wrap("td", r.Time), el("td", link(v, r.ID, r.Tool)), wrap("td", r.About),
				el("td", el("b", text(r.Outcome)), text(" "+r.Why)), wrap("td", r.Took), wrap("td", r.Principal), wrap("td", r.Client))
		}))),
		el("p", id("none"), when(len(calls) > 0, attr("hidden")), text("No call matches, or the record is switched off (logging.record).")),
		el("template", id("done-row"), el("tr", el("td", f("time")), el("td", el("a", attr("data-href", v.base+"call/"), f("tool"))), el("td", f("about")),
			el("td", el("b", f("outcome")), text(" "), el("span", f("why"))), el("td", f("took")), el("td", f("principal")), el("td", f("client")))),
	)
}

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
	stamp, number, _ := strings.Cut(cmp.Or(v.r.Header.Get("Last-Event-ID"), v.r.FormValue("after")), "-")
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
			if _, in := v.door.who(v.r); !in { // signed out elsewhere, or too long ago
				return
			}
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

package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolserver/toolserver/cmd/toolserver/live"
	"github.com/toolserver/toolserver/domain/call"
)

// state is what runs.
type state struct {
	Processes int       `json:"processes"`
	Clients   int       `json:"clients"`
	Approvals int       `json:"approvals"`
	Running   []running `json:"running"`
}

func (v *visit) state(ctx context.Context) state {
	s := state{Running: []running{}}
	requests, _ := v.Desk.List(ctx) // without a directory, nothing waits
	for _, r := range requests {
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

// running is a request in flight.
type running struct {
	PID       int    `json:"pid"`
	ID        string `json:"id"`
	Tool      string `json:"tool"`
	Principal string `json:"principal"`
	Client    string `json:"client"`
	Since     string `json:"since"`
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
	remotes, _ := live.Processes(c.Sockets) // without a directory, there has never been one
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
	v.fail(http.StatusNotFound, errors.New("that server does not run any more, or does not answer"))
}

package app

import (
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/toolserver/toolserver/cmd/toolserver/live"
	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/server"
	"github.com/toolserver/toolserver/upstream"
)

// LiveDirectory returns what opens the directory in which the servers of a state directory can be found while they run.
func LiveDirectory(cfg *config.Loaded) func() (*os.Root, error) {
	return sandbox.NewState(cfg.Policy().StateDirectory, "live").Directory
}

// runOf names a run of the program.
func runOf(started time.Time) string {
	return strconv.FormatInt(started.UnixNano(), 36) + "-" + strconv.Itoa(os.Getpid())
}

// show has other processes of this user see what the server does, until stop is called: not at once, so that it does not compete with the
// first answers.
func (s *serving) show(transport, address string) (stop func()) {
	var mu sync.Mutex
	stopped, end := false, func() {}
	begin := time.AfterFunc(layersPause, func() {
		mu.Lock()
		defer mu.Unlock()
		if stopped {
			return
		}
		shows, err := live.Serve(LiveDirectory(s.Config()), &shown{s, transport, address})
		if err != nil {
			s.journal.plain.Info("toolserver top and other processes cannot see what this server does", zap.Error(err))
			return
		}
		end = shows
	})
	return func() {
		begin.Stop()
		mu.Lock()
		defer mu.Unlock()
		stopped = true
		end()
	}
}

// shown is what other processes see of a server.
type shown struct {
	*serving
	transport, address string
}

// Process says which process this is, under the configuration in force.
func (s *shown) Process() live.Process {
	cfg := s.Config()
	return live.Process{
		PID: os.Getpid(), Run: runOf(s.started), Version: s.program.Version, Config: cfg.File, SHA256: cfg.SHA256, Directory: cfg.WorkingDirectory,
		Listening: s.address, Transport: s.transport, Started: s.started, Sandbox: s.Layers(),
	}
}

// Calls returns what is in flight.
func (s *shown) Calls() []live.Call { return server.Activity{Server: s.server}.Calls() }

// Clients returns who is connected.
func (s *shown) Clients() []live.Client { return server.Activity{Server: s.server}.Clients() }

// Cancel cancels what is in flight under an ID.
func (s *shown) Cancel(id string) error { return server.Activity{Server: s.server}.Cancel(id) }

// Upstreams returns how the other servers are.
func (s *shown) Upstreams() json.RawMessage {
	raw, err := json.Marshal(append([]Listed{}, s.Servers.Listed(s.User())...))
	if err != nil {
		return json.RawMessage("[]")
	}
	return s.exec.Registry.Catalog().Redactor.JSON(raw)
}

// Listed is how another server is, and what of it is left out.
type Listed struct {
	upstream.Report
	Left []domain.Missing `json:"left_out,omitempty"`
}

// Listed returns how the servers of the configuration are to a principal, by name, with what of them is left out.
func (s *Servers) Listed(p domain.Principal) (all []Listed) {
	missing := s.registry.Catalog().Missing()
	for _, r := range s.Reports(p) {
		left := slices.DeleteFunc(slices.Clone(missing), func(m domain.Missing) bool { return m.Source != upstream.SourceName(r.Name) })
		all = append(all, Listed{r, left})
	}
	return all
}

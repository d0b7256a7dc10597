package upstream

import (
	"encoding/json"
	"maps"
	"net/url"
	"os"
	"reflect"
	"slices"
	"sync"

	"go.uber.org/zap"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/outbound/signin"
	"github.com/toolserver/toolserver/sandbox"
)

// Owner is the tool that declares what servers are handed: processes, connections and state.
const Owner = "mcp_exec"

// Deps is what servers are made from.
type Deps struct {
	Sandbox *sandbox.Sandbox
	Policy  sandbox.Policy
	Version string
	Log     *zap.Logger
	Lines   *zap.Logger // of standard error
	Host    signin.Host
	// Changed is told when what a server offers has changed, and, if approved is not nil, that somebody has approved of it: other replicas are to know. It
	// may be nil.
	Changed func(server string, approved json.RawMessage)
}

// Manager keeps servers from one configuration to the next: those whose settings have not
// changed go on as they are. The zero value is ready to use.
type Manager struct {
	mu      sync.Mutex
	servers map[string]*Server
}

// Update is the servers of a configuration that is not in force yet.
type Update struct {
	manager *Manager
	next    map[string]*Server
	Changed []domain.Source // servers that are new, or others than before
	Removed []string        // names of sources
}

// Prepare makes the servers of a configuration, as far as they do not exist already.
// Nothing is started before its source is added to a registry.
func (m *Manager) Prepare(settings map[string]Settings, d Deps) *Update {
	m.mu.Lock()
	defer m.mu.Unlock()
	u := &Update{manager: m, next: map[string]*Server{}}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		s := settings[name]
		if !s.IsEnabled() {
			continue
		}
		from := madeFrom(s, d)
		if old := m.servers[name]; old != nil && reflect.DeepEqual(old.from, from) {
			u.next[name] = old
			continue
		}
		u.next[name] = newServer(name, s, depsOf(s, d))
		u.next[name].from = from
		u.Changed = append(u.Changed, u.next[name])
	}
	for name := range m.servers {
		if u.next[name] == nil {
			u.Removed = append(u.Removed, SourceName(name))
		}
	}
	return u
}

// Offers returns what the servers of the configuration offered last.
func (u *Update) Offers() (all []domain.Offer) {
	for _, name := range slices.Sorted(maps.Keys(u.next)) {
		all = append(all, u.next[name].Offer())
	}
	return all
}

// Commit puts the update into force.
func (u *Update) Commit() {
	u.manager.mu.Lock()
	defer u.manager.mu.Unlock()
	u.manager.servers = u.next
}

// madeFrom returns what a server depends on. One whose program is confined depends on the
// whole policy, one that is reached over HTTP on the private hosts of all tools.
func madeFrom(s Settings, d Deps) any {
	switch {
	case s.Sandbox:
		return []any{s, d.Policy}
	case s.URL != "":
		return []any{s, d.Policy.StateDirectory, d.Policy.Settings.PrivateHosts, d.Policy.Proxy, d.Host.Keeping}
	}
	return []any{s, d.Policy.StateDirectory, d.Policy.WorkingDirectory, d.Policy.Settings.Limits}
}

func depsOf(s Settings, d Deps) deps {
	have := d.Sandbox.For(Owner)
	d.Lines = d.Lines.Named("upstream")
	made := deps{Deps: d, Log: d.Log.Named("upstream"), State: have.State(), Processes: have.Processes(), Environ: os.Environ()}
	if u, err := url.Parse(s.URL); s.URL != "" && err == nil {
		made.HTTP = have.ServerClient(u).Transport
	}
	return made
}

// Servers returns the servers in force, by name.
func (m *Manager) Servers() []*Server {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]*Server, 0, len(m.servers))
	for _, name := range slices.Sorted(maps.Keys(m.servers)) {
		all = append(all, m.servers[name])
	}
	return all
}

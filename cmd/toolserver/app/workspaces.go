package app

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/tools"
	"github.com/toolserver/toolserver/upstream"
)

// idleTime is how long a workspace is kept that nobody uses.
const idleTime = 10 * time.Minute

// retireTime is how long a workspace stays open whose place another one takes: requests may be about to use it.
const retireTime = time.Minute

// workspaces are what the principals of profiles have for themselves. Each is made when its principal comes, and let go when they
// have been away for a while, or when another configuration is in force: the next request makes it anew.
type workspaces struct {
	app  *App
	idle time.Duration

	changes atomic.Int64 // of what all have

	mu      sync.Mutex
	byID    map[string]*workspace // by the ID of the principal
	retired map[*workspace]*time.Timer
	sweep   *time.Timer // nil while there is none
	closed  bool
}

// workspace is the tools, the sandbox and the catalog of a principal.
type workspace struct {
	of      *state          // the configuration that it was made under
	profile *config.Profile // of that
	begun   time.Time       // to be made
	used    atomic.Int64    // when, in nanoseconds

	making   sync.Once
	ready    atomic.Bool
	err      error // why it could not be made
	pod      *pod  // where all is done; box and kernel are nil then
	box      *tools.Sandbox
	kernel   *sandbox.Kernel
	registry *domain.Registry
}

// errNoProfile is the error of a principal whom no profile is for.
var errNoProfile = errors.New("no profile is for you: the operator of this server has not given you a workspace")

// find returns what a principal works with under the configuration in force; nil if that is what all work with.
func (ws *workspaces) find(p domain.Principal) (*workspace, error) {
	now := ws.app.now.Load()
	if now == nil || len(now.config.Profiles) == 0 || p.ID == now.user.ID {
		return nil, nil
	}
	if p.Anonymous {
		return nil, nil // who calls the tools that are open to all
	}
	profile := now.config.ProfileOf(p)
	switch {
	case profile == nil:
		return nil, errNoProfile
	case profile.Shared:
		return nil, nil
	}
	w := ws.of(now, profile, p.ID)
	w.making.Do(func() { w.err = ws.make(w, p) })
	return w, w.err
}

// registryOf returns the registry of a principal's own workspace, as [call.Executor.Workspace] has it.
func (ws *workspaces) registryOf(p domain.Principal) (*domain.Registry, error) {
	w, err := ws.find(p)
	if w == nil || err != nil {
		return nil, err
	}
	return w.registry, nil
}

// boxOf returns the sandbox that a principal works in.
func (ws *workspaces) boxOf(p domain.Principal) *tools.Sandbox {
	if w, err := ws.find(p); w != nil && err == nil && w.box != nil {
		return w.box
	}
	return ws.app.now.Load().box
}

// of returns the workspace of a principal, which may have to be made.
func (ws *workspaces) of(now *state, profile *config.Profile, id string) *workspace {
	at := time.Now().UnixNano()
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w := ws.byID[id]
	if w == nil || w.of != now || w.profile != profile || w.failed() {
		ws.retire(w)
		w = &workspace{of: now, profile: profile, begun: time.Now()}
		ws.byID[id] = w
	}
	w.used.Store(at)
	if ws.sweep == nil && !ws.closed {
		ws.sweep = time.AfterFunc(ws.idle/10, ws.clean)
	}
	return w
}

// make makes a workspace.
func (ws *workspaces) make(w *workspace, p domain.Principal) error {
	a := ws.app
	fail := func(err error) error {
		a.journal.log.Error("a workspace cannot be made", zap.String("principal", p.ID), zap.String("profile", w.profile.Name), zap.Error(err))
		return errors.New("your workspace cannot be made; the log of the server says why")
	}
	cfg, err := w.of.config.Workspace(w.profile, p.ID)
	if err != nil {
		return fail(err)
	}
	if w.registry, err = domain.NewRegistry(); err != nil {
		return fail(err)
	}
	if cfg.Sandbox.InPods() {
		if err := ws.claim(w, p, cfg); err != nil {
			return fail(err)
		}
		return nil
	}
	policy := cfg.Policy()
	w.kernel = a.kernel.Fork(policy.User)
	box, err := sandbox.New(policy, w.kernel)
	if err != nil {
		return fail(err)
	}
	w.box = &tools.Sandbox{Policy: policy, Sandbox: box}
	own, shared, err := w.of.families.Beside(a.deps(cfg, w.box, w.registry), w.of.box.Policy)
	if err != nil {
		return fail(err)
	}
	for _, s := range shared {
		own = append(own, mirror{s})
	}
	var manager upstream.Manager
	servers := manager.Prepare(config.Instances(cfg), upstream.Deps{
		Sandbox: box, Policy: policy, Version: a.program.Version, Log: a.journal.log, Lines: a.journal.plain, Host: a.host(cfg),
	})
	servers.Commit()
	ws.open(w, p, cfg, append(own, servers.Changed...))
	return nil
}

// open has a workspace offer what its own sources do, and what all have.
func (ws *workspaces) open(w *workspace, p domain.Principal, cfg *config.Loaded, own []domain.Source) {
	a := ws.app
	settings := w.of.settings
	settings.Tools, settings.Limits = cfg.Tools, cfg.Limits
	settings.Directory = map[bool]string{true: cfg.WorkingDirectory}[w.pod == nil]
	seen := ws.changes.Load()
	w.registry.Apply(domain.Revision{Settings: &settings, Add: append(own, ws.mirrored()...)})
	w.registry.OnChange(func(c domain.Change) {
		if s := a.serving.Load(); s.server != nil {
			s.server.Publish(p.ID, c)
		}
	})
	if w.ready.Store(true); ws.changes.Load() != seen {
		w.registry.Apply(domain.Revision{Add: ws.mirrored()})
	}
}

// mirror is a source of the registry of all, as a workspace has it: when it is closed is not the workspace's business.
type mirror struct{ domain.Source }

func (mirror) OnChange(func()) {}

func (mirror) Close() error { return nil }

func (m mirror) Look(ctx context.Context, secrets []string) {
	if l, ok := m.Source.(domain.Looker); ok {
		l.Look(ctx, secrets)
	}
}

// mirrored returns what all workspaces have besides the built-in tools.
func (ws *workspaces) mirrored() []domain.Source {
	a := ws.app
	all := []domain.Source{mirror{a.programSource()}}
	for _, s := range a.program.Sources {
		all = append(all, mirror{s})
	}
	for _, u := range a.Servers.All() {
		if !u.Each() {
			all = append(all, mirror{u})
		}
	}
	return all
}

// refresh has workspaces offer what sources offer now that all have.
func (ws *workspaces) refresh() {
	ws.changes.Add(1)
	ws.mu.Lock()
	var all []*workspace
	for _, w := range ws.byID {
		if w.of == ws.app.now.Load() && w.ready.Load() {
			all = append(all, w)
		}
	}
	ws.mu.Unlock()
	for _, w := range all {
		w.registry.Apply(domain.Revision{Add: ws.mirrored()})
	}
}

// failed reports whether the workspace could not be made a while ago, so that it is tried again.
func (w *workspace) failed() bool {
	return !w.ready.Load() && time.Since(w.begun) > time.Minute
}

// retire closes a workspace that no request finds any more, after a while. The caller holds mu.
func (ws *workspaces) retire(w *workspace) {
	if w != nil && !ws.closed {
		ws.retired[w] = time.AfterFunc(retireTime, func() {
			w.close()
			ws.mu.Lock()
			defer ws.mu.Unlock()
			delete(ws.retired, w)
		})
	}
}

// clean lets go of workspaces that nobody uses.
func (ws *workspaces) clean() {
	jobs := map[string]bool{}
	for _, owner := range ws.app.runner.Owners() {
		jobs[owner] = true
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for id, w := range ws.byID {
		if time.Since(time.Unix(0, w.used.Load())) >= ws.idle && !jobs[id] && !ws.app.serving.Load().watches(id) &&
			(w.pod == nil || w.pod.Report().Status != upstream.StatusReady) { // which closes its connection when nothing uses it
			delete(ws.byID, id)
			ws.retire(w)
		}
	}
	if ws.sweep = nil; len(ws.byID) > 0 && !ws.closed {
		ws.sweep = time.AfterFunc(ws.idle/10, ws.clean)
	}
}

// close releases what a workspace keeps, once no request uses it.
func (w *workspace) close() {
	w.making.Do(func() { w.err = errNoProfile }) // nobody will make it
	if w.registry != nil {
		w.registry.Close()
	}
	if w.kernel != nil {
		_ = w.kernel.Close() // what is left of temporary files goes with the next server
	}
}

// close closes all workspaces.
func (ws *workspaces) close() {
	ws.mu.Lock()
	ws.closed = true
	if ws.sweep != nil {
		ws.sweep.Stop()
	}
	all := slices.Collect(maps.Values(ws.byID))
	for w, alarm := range ws.retired {
		if alarm.Stop() {
			all = append(all, w)
		}
	}
	ws.mu.Unlock()
	for _, w := range all {
		w.close()
	}
}

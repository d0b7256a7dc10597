package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Workspaces are the workspaces of a profile: their claims, as the API server last said, and those that this process uses.
type Workspaces struct {
	settings Settings
	profile  string
	log      *zap.Logger
	api      *client
	ctx      context.Context // ends when they are closed
	end      context.CancelFunc
	running  sync.WaitGroup
	mu       sync.Mutex // guards what follows
	claims   map[string]*claim
	synced   bool          // these are all
	failed   error         // why the API server does not say what changes, if that is so
	changed  chan struct{} // closed when any of these changes
	used     map[string]*Workspace
}

// metadata is what is read and written of that of objects.
type metadata struct {
	Name        string            `json:"name,omitempty"`
	Version     string            `json:"resourceVersion,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Created     time.Time         `json:"creationTimestamp,omitzero"`
	Deleted     string            `json:"deletionTimestamp,omitempty"`
}

// claim is a SandboxClaim.
type claim struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       struct {
		Pool map[string]string `json:"warmPoolRef"`
	} `json:"spec"`
	Status struct {
		Conditions []struct{ Type, Status, Reason, Message string }
		Sandbox    struct {
			Name   string
			PodIPs []string
		}
	} `json:"status,omitzero"`
}

// ready reports whether the pod of the claim is, and why not: the reason of the controller, and what it says.
func (c *claim) ready() (ok bool, reason, message string) {
	for _, r := range c.Status.Conditions {
		if r.Type == "Ready" {
			return r.Status == "True" && c.Metadata.Deleted == "" && c.Status.Sandbox.Name != "" && c.address().IsValid(), r.Reason, r.Message
		}
	}
	return false, "", "the controller of agent-sandbox has not looked at the claim; does it run with --extensions?"
}

// address returns where the pod of the claim is, zero if it has none. An address that cannot be that of a pod is none.
func (c *claim) address() netip.Addr {
	for _, text := range c.Status.Sandbox.PodIPs {
		if ip, err := netip.ParseAddr(text); err == nil && !ip.IsUnspecified() && !ip.IsMulticast() && !ip.IsLinkLocalUnicast() {
			return ip
		}
	}
	return netip.Addr{}
}

// number returns the version of an object as a number, by which versions are ordered.
func (m *metadata) number() uint64 {
	n, _ := strconv.ParseUint(m.Version, 10, 64)
	return n
}

// New returns the workspaces of a profile. They follow their claims, and pause those that are idle, until they are closed.
func New(s Settings, profile string, log *zap.Logger) (*Workspaces, error) {
	api, err := newClient(s)
	if err != nil {
		return nil, err
	}
	w := &Workspaces{settings: s, profile: profile, log: log.Named("kubernetes").With(zap.String("profile", profile)), api: api,
		claims: map[string]*claim{}, changed: make(chan struct{}), used: map[string]*Workspace{}}
	w.ctx, w.end = context.WithCancel(context.Background())
	w.running.Go(w.follow)
	w.running.Go(w.pauseIdle)
	return w, nil
}

// Close ends what is done here. Pods go on until they are idle, if another process looks after them.
func (w *Workspaces) Close() {
	w.end()
	w.mu.Lock()
	for _, each := range w.used {
		each.leave(errors.New("this server is closing"))
	}
	w.mu.Unlock()
	w.running.Wait()
}

// maxPause is how long the API server is left alone at most after failures.
const maxPause = 30 * time.Second

// follow keeps claims up to date.
func (w *Workspaces) follow() {
	for fails := 0; w.ctx.Err() == nil; {
		began := time.Now()
		err := w.watch()
		if fails++; err == nil && time.Since(began) > askPause {
			fails = 0
		}
		if _, refused := errors.AsType[*Error](err); refused || err != nil && fails > 1 { // or it is a connection that has ended
			w.update(func() {
				if w.failed == nil {
					w.log.Warn("what becomes of workspaces is not known; those that are ready go on", zap.Error(err))
				}
				w.failed = err
			})
		}
		w.sleep(min(100*time.Millisecond<<min(fails, 10), maxPause))
	}
}

// sleep waits for a time with some chance in it, and reports whether they are not closed.
func (w *Workspaces) sleep(d time.Duration) bool {
	select {
	case <-w.ctx.Done():
		return false
	case <-time.After(d/2 + rand.N(d)):
		return true
	}
}

// update changes what is known, and wakes who waits for that.
func (w *Workspaces) update(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
	close(w.changed)
	w.changed = make(chan struct{})
}

// watch lists the claims, and follows what changes after that until the API server, or a proxy before it, ends that: both do so when they like,
// such as when what has changed is forgotten.
func (w *Workspaces) watch() error {
	selector := "?labelSelector=" + url.QueryEscape(managedBy+"=toolserver,"+profileLabel+"="+labelOf(w.profile))
	var list struct {
		Metadata metadata
		Items    []claim
	}
	if err := w.api.do(w.ctx, "list", claims, selector, nil, &list); err != nil {
		return err
	}
	w.update(func() {
		for name, known := range w.claims { // except those that were made since
			if known.Metadata.number() <= list.Metadata.number() && !slices.ContainsFunc(list.Items, func(c claim) bool { return c.Metadata.Name == name }) {
				w.note(name, nil)
			}
		}
		for i := range list.Items {
			w.note(list.Items[i].Metadata.Name, &list.Items[i])
		}
		w.synced, w.failed = true, nil
	})
	ctx, cancel := context.WithTimeout(w.ctx, watchTime+requestTime)
	defer cancel()
	res, err := w.api.send(ctx, "watch", claims, fmt.Sprintf("%s&watch=1&resourceVersion=%s&timeoutSeconds=%d",
		selector, list.Metadata.Version, int(watchTime.Seconds())), nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	for events := json.NewDecoder(res.Body); ; {
		var e struct {
			Type   string
			Object claim
		}
		switch err := events.Decode(&e); {
		case err != nil, e.Type == "ERROR":
			return nil
		case e.Type == "ADDED", e.Type == "MODIFIED":
			w.update(func() { w.note(e.Object.Metadata.Name, &e.Object) })
		case e.Type == "DELETED":
			w.update(func() { w.note(e.Object.Metadata.Name, nil) })
		}
	}
}

// note takes over what the API server says of a claim, nil if it is gone, unless something newer is known. The caller holds mu.
func (w *Workspaces) note(name string, c *claim) {
	if known := w.claims[name]; c == nil {
		if delete(w.claims, name); known != nil {
			w.log.Warn("the claim of a workspace was deleted; it is claimed anew when it is needed", zap.String("claim", name))
		}
	} else if known == nil || known.Metadata.number() <= c.Metadata.number() {
		w.claims[name] = c
	}
	if each := w.used[name]; each != nil {
		each.follow(w.claims[name])
	}
}

// pauseIdle pauses workspaces that nobody uses, here or elsewhere: a process that was killed leaves none running.
func (w *Workspaces) pauseIdle() {
	for w.sleep(w.markPause()) {
		w.mu.Lock()
		all := slices.Collect(maps.Values(w.claims))
		w.mu.Unlock()
		for _, c := range all {
			if ok, _, _ := c.ready(); ok && w.ctx.Err() == nil {
				w.pause(c)
			}
		}
	}
}

// markPause is how often it is written down that a workspace is used, and looked for those that are not.
func (w *Workspaces) markPause() time.Duration { return min(time.Minute, w.settings.Idle/4) }

// pause has the pod of a claim end that nobody has used for long enough. Its volume stays.
func (w *Workspaces) pause(c *claim) {
	limit := time.Now().Add(-w.settings.Idle - w.markPause()) // the last use need not be written down yet
	w.mu.Lock()
	here := w.used[c.Metadata.Name]
	w.mu.Unlock()
	if c.Metadata.Created.After(limit) || here != nil && time.Unix(0, here.used.Load()).After(limit) {
		return
	}
	var s struct{ Metadata metadata }
	err := w.api.do(w.ctx, "get", sandboxes, c.Status.Sandbox.Name, nil, &s)
	if used, _ := time.Parse(time.RFC3339, s.Metadata.Annotations[lastUsed]); err == nil && used.After(limit) {
		return
	}
	if err == nil { // unless somebody uses it now
		err = w.set(w.ctx, c.Status.Sandbox.Name, "Suspended", map[string]any{"resourceVersion": s.Metadata.Version})
	}
	if err == nil {
		w.log.Info("paused", zap.String("claim", c.Metadata.Name))
	} else if !is(err, "Conflict") && !is(err, "NotFound") && w.ctx.Err() == nil {
		w.log.Warn("an idle workspace cannot be paused", zap.String("claim", c.Metadata.Name), zap.Error(err))
	}
}

// set sets the mode of a sandbox, unless it is empty, and in its metadata that it is used now if nothing else is.
func (w *Workspaces) set(ctx context.Context, name, mode string, meta map[string]any) error {
	if meta == nil {
		meta = map[string]any{"annotations": map[string]string{lastUsed: time.Now().UTC().Format(time.RFC3339)}}
	}
	change := map[string]any{"metadata": meta}
	if mode != "" {
		change["spec"] = map[string]string{"operatingMode": mode}
	}
	return w.api.do(ctx, "patch", sandboxes, name, change, &struct{}{})
}

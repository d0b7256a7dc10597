package kubernetes

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/toolserver/toolserver/osfile"
)

// Workspace is that of one principal. It is a [http.RoundTripper] to its pod.
type Workspace struct {
	of     *Workspaces
	name   string                    // of the claim
	way    atomic.Pointer[way]       // to the pod; nil as long as it is not reached
	used   atomic.Int64              // when, in nanoseconds
	marked atomic.Pointer[time.Time] // when that was written down
}

// way is how the pod is reached as long as it is the same one.
type way struct {
	http.Transport
	sandbox string
	ip      netip.Addr
	ctx     context.Context // ends, with the reason as its cause, when the pod is gone
	end     context.CancelCauseFunc
}

// Of returns the workspace of a principal, by its ID. It costs nothing until it is woken.
func (w *Workspaces) Of(principal string) *Workspace {
	s := &Workspace{of: w, name: "w-" + hash(w.profile, principal)}
	w.update(func() { w.used[s.name] = s })
	return s
}

// Close has this process no longer use the workspace, whose pod is paused when it has been idle for long enough.
func (s *Workspace) Close() {
	s.of.update(func() {
		if s.of.used[s.name] == s { // and not that of another configuration
			delete(s.of.used, s.name)
		}
	})
	s.leave(errors.New("this server no longer uses the workspace"))
}

// leave ends the way to the pod.
func (s *Workspace) leave(why error) {
	if at := s.way.Swap(nil); at != nil {
		at.end(why)
		at.CloseIdleConnections()
	}
}

// follow ends the way to the pod when that is gone, or about to be. That it is not ready does not end calls that it may be busy with.
func (s *Workspace) follow(c *claim) {
	if at := s.way.Load(); c == nil {
		s.leave(errors.New("its claim was deleted"))
	} else if at != nil {
		_, reason, message := c.ready()
		ended := slices.Contains([]string{"PodFailed", "PodSucceeded", "SandboxSuspended"}, reason) || c.Metadata.Deleted != ""
		if ended || c.Status.Sandbox.Name != at.sandbox || c.address() != at.ip {
			s.leave(fmt.Errorf("its pod is gone (%s: %s)", reason, message))
		}
	}
}

// askPause is how long it is waited before the same is asked for again.
const askPause = 5 * time.Second

// Wake returns when the pod of the workspace is ready: it claims the workspace, resumes it, or has it replace a pod that has ended, whatever
// is needed. The context it returns ends when the pod is gone, with the reason as its cause.
func (s *Workspace) Wake(ctx context.Context) (context.Context, error) {
	ctx, cancel := context.WithTimeout(ctx, s.of.settings.ReadyTimeout)
	defer cancel()
	var last string // the problem that something was done about
	for {
		s.of.mu.Lock()
		c, synced, changed, err := s.of.claims[s.name], s.of.synced, s.of.changed, s.of.failed
		s.of.mu.Unlock()
		pause, problem := askPause, "its claim is not known"
		if c == nil && err == nil && synced {
			err = s.claim(ctx)
		} else if c != nil {
			ok, reason, message := c.ready()
			switch problem, err = reason+": "+message, nil; {
			case ok:
				conn, failed := dial(ctx, "tcp", s.of.at(c))
				if failed == nil {
					conn.Close()
					return s.begin(c), nil
				}
				pause, problem = askPause/20, fmt.Sprintf("its pod does not answer: %v", failed)
			case problem != last && c.Metadata.Deleted == "":
				last, err = problem, s.remedy(ctx, c, reason, message)
			}
		}
		if err == nil {
			select {
			case <-changed:
			case <-ctx.Done():
				err = context.Cause(ctx)
			case <-time.After(pause):
				last = ""
			}
		}
		if err != nil && ctx.Err() == context.DeadlineExceeded {
			err = fmt.Errorf("it was not ready within %v: %s", s.of.settings.ReadyTimeout, problem)
		}
		if err != nil {
			return nil, err
		}
	}
}

// claim claims the workspace. If another process has done so meanwhile, that is as good.
func (s *Workspace) claim(ctx context.Context) error {
	c := &claim{APIVersion: claims.group, Kind: "SandboxClaim"}
	c.Metadata = metadata{Name: s.name, Labels: map[string]string{managedBy: "toolserver", profileLabel: labelOf(s.of.profile)}}
	c.Spec.Pool = map[string]string{"name": s.of.settings.WarmPool}
	err := s.of.api.do(ctx, "create", claims, "", c, c)
	if is(err, "AlreadyExists") {
		return nil
	} else if err == nil {
		s.of.log.Info("claimed", zap.String("claim", s.name))
		s.of.update(func() { s.of.note(s.name, c) })
	}
	return err
}

// remedy does what the workspace needs to become ready. The error says that nothing does.
func (s *Workspace) remedy(ctx context.Context, c *claim, reason, message string) error {
	mode := ""
	switch reason {
	case "SandboxSuspended":
		if !c.address().IsValid() { // or its pod is yet to end
			mode = "Running"
		}
	case "PodFailed", "PodSucceeded": // such as one that was evicted; the controller leaves it as it is, and replaces it when it is paused and resumed
		mode = "Suspended"
	case "WarmPoolNotFound", "TemplateNotFound", "SandboxExpired", "ClaimExpired":
		return fmt.Errorf("claim %s: %s: %s", s.name, reason, message)
	}
	if mode == "" || c.Status.Sandbox.Name == "" {
		return nil // the controller is at it
	}
	s.of.log.Info("bringing a workspace back", zap.String("claim", s.name), zap.String("reason", reason), zap.String("mode", mode))
	if err := s.of.set(ctx, c.Status.Sandbox.Name, mode, nil); !is(err, "NotFound") && !is(err, "Conflict") { // or another one is made, or others write
		return err
	}
	return nil
}

// at returns the address that the pod of a claim serves on.
func (w *Workspaces) at(c *claim) string {
	return net.JoinHostPort(c.address().String(), strconv.Itoa(w.settings.Port))
}

// begin returns the context of the way to the pod of a claim, which is a new one unless it is the same pod as before.
func (s *Workspace) begin(c *claim) context.Context {
	at := s.way.Load()
	if at == nil || at.sandbox != c.Status.Sandbox.Name || at.ip != c.address() {
		s.leave(errors.New("its pod is another one now"))
		at = &way{sandbox: c.Status.Sandbox.Name, ip: c.address()}
		address := s.of.at(c)
		at.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) { return dial(ctx, network, address) }
		at.MaxIdleConns, at.IdleConnTimeout, at.TLSHandshakeTimeout, at.TLSClientConfig = 4, time.Minute, requestTime, s.of.tls()
		at.ctx, at.end = context.WithCancelCause(context.Background())
		s.way.Store(at)
	}
	s.of.update(func() { s.follow(s.of.claims[s.name]) }) // what has become of it meanwhile
	s.Used()
	return at.ctx
}

// tls returns how pods and this server show who they are. The certificate is read for each connection, since it is renewed.
func (w *Workspaces) tls() *tls.Config {
	t := w.settings.TLS
	if t.Cert == "" {
		return nil
	}
	pool, err := osfile.Authorities(t.CA)
	if err != nil { // then it vouches for nobody
		w.log.Error("sandbox.kubernetes.tls.ca cannot be used", zap.Error(err))
	}
	own := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		return &pair, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: pool, ServerName: t.ServerName, GetClientCertificate: own}
}

// RoundTrip sends a request to the pod, and to nothing else, whatever its address says. The request names the pod as its host, so that one
// that has got the address since rejects it.
func (s *Workspace) RoundTrip(req *http.Request) (*http.Response, error) {
	at := s.way.Load()
	if at == nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("the workspace has no pod now")} // nothing was sent
	}
	req = req.Clone(req.Context())
	req.URL.Host, req.Host = net.JoinHostPort(at.sandbox, strconv.Itoa(s.of.settings.Port)), ""
	if s.of.settings.Token != "" {
		req.Header.Set("Authorization", "Bearer "+s.of.settings.Token)
	}
	return at.Transport.RoundTrip(req)
}

// Used notes that the workspace is in use, for other processes at most once a minute. It returns at once.
func (s *Workspace) Used() {
	now, before, at := time.Now(), s.marked.Load(), s.way.Load()
	s.used.Store(now.UnixNano())
	if at == nil || before != nil && now.Sub(*before) < s.of.markPause() || !s.marked.CompareAndSwap(before, &now) {
		return
	}
	s.of.running.Go(func() {
		if err := s.of.set(s.of.ctx, at.sandbox, "", nil); err != nil {
			s.of.log.Debug("that a workspace is used could not be noted", zap.String("claim", s.name), zap.Error(err))
		}
	})
}

// Package lift puts to a person what policy refuses only because no list has it: a
// program, a directory to write in, a host. What is denied or protected, and what cannot
// be decided before it runs, stays refused.
package lift

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/command"
	"github.com/toolserver/toolserver/sandbox/confine"
	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// What is lifted begins with one of these.
const (
	program    = "command "
	writing    = "writing in "
	host       = "host "
	connecting = "connection of the running command to "
)

// Error is a refusal that a person may lift, as [domain.Liftable] says.
type Error struct {
	error
	wanted  []string
	policy  any
	inForce func() bool
}

// Unwrap returns the refusal.
func (e *Error) Unwrap() error { return e.error }

// Lifts names what is refused.
func (e *Error) Lifts() []string { return e.wanted }

// Policy identifies the policy that refuses.
func (e *Error) Policy() any { return e.policy }

type liftedKey struct{}

// Lift returns a context in which it is allowed.
func (e *Error) Lift(ctx context.Context) (context.Context, error) {
	if !e.inForce() {
		return nil, errors.New("the policy has changed since the question was asked")
	}
	all := slices.Concat(lifted(ctx, ""), e.wanted)
	return sandbox.WithHosts(context.WithValue(ctx, liftedKey{}, all), only(all, host)), nil
}

// lifted returns what is lifted in ctx and begins with kind, without that.
func lifted(ctx context.Context, kind string) []string {
	all, _ := ctx.Value(liftedKey{}).([]string)
	return only(all, kind)
}

func only(all []string, kind string) (some []string) {
	for _, l := range all {
		if what, ok := strings.CutPrefix(l, kind); ok {
			some = append(some, what)
		}
	}
	return some
}

// Result returns what a tool answers to err: the result that refuses the call and, if
// err can be lifted, the error that says so.
func Result(refusal domain.ToolResult, err error) (domain.ToolResult, error) {
	if e, ok := errors.AsType[*Error](err); ok {
		return refusal, e
	}
	return refusal, nil
}

// maxLifts bounds what a command may need that no list has.
const maxLifts = 8

// Commands returns what is to run req: the commands of held, or those of a policy that
// also lists what is lifted in ctx, so that analysis and kernel agree. The error is an
// [*Error] if a person may lift what else it takes.
func Commands(ctx context.Context, held sandbox.Capabilities, req sandbox.CommandRequest) (*sandbox.Commands, error) {
	given := held.Commands()
	if !held.Asks("commands") && !held.Asks("writes") || !call.CanConsult(ctx) {
		return given, nil
	}
	return commands(ctx, held, given, req)
}

// Hint says what a person is asked before a command runs, or "".
func Hint(ctx context.Context, held sandbox.Capabilities, req sandbox.CommandRequest) string {
	_, err := commands(ctx, held, held.Commands(), req)
	return hint(err)
}

// FileHint says the same of writing a file.
func FileHint(held sandbox.Capabilities, w *sandbox.Writer, path string) string {
	return hint(Refused(held, w, &pathguard.Error{Path: path, Kind: pathguard.KindDenied}))
}

func hint(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return "; where the client can ask, a person is asked first whether to allow " + strings.Join(e.wanted, ", ")
	}
	return ""
}

func commands(ctx context.Context, held sandbox.Capabilities, given *sandbox.Commands, req sandbox.CommandRequest) (*sandbox.Commands, error) {
	var refusal error
	var wanted []string
	for more := given; len(wanted) <= maxLifts; {
		v, _, err := more.Decide(req)
		l := lacks(held, v)
		switch {
		case err != nil, l == "" && !v.Allowed, slices.Contains(wanted, l):
			return given, nil // and refused as ever
		case l == "" && slices.ContainsFunc(wanted, func(l string) bool { return !slices.Contains(lifted(ctx, ""), l) }):
			return nil, &Error{refusal, wanted, held.Policy(), held.InForce}
		case l == "":
			return more, nil
		case refusal == nil:
			refusal = &sandbox.DeniedError{Verdict: v}
		}
		wanted = append(wanted, l)
		if more, err = given.With(only(wanted, program), only(wanted, writing)); err != nil {
			return given, nil
		}
	}
	return given, nil
}

// plainWords are those that stand for nothing but themselves in a list.
var plainWords = lazyregexp.New(`^\w[\w.+-]*( \w[\w.:+-]*)?$`)

// lacks returns what a command needs that no list has, or "". Without a list of commands
// that is what the kernel would refuse.
func lacks(held sandbox.Capabilities, v command.Verdict) string {
	switch {
	case v.Allowed && !held.Commands().Confined():
	case v.UnlistedCommand != "" && held.Asks("commands") && plainWords().MatchString(v.UnlistedCommand):
		return program + v.UnlistedCommand
	case v.UnlistedPath != "" && held.Asks("writes"):
		if dir := existing(v.UnlistedPath); !wide(dir) {
			return writing + dir
		}
	}
	return ""
}

// existing returns the directory that path is or would be in, as far as it exists.
func existing(path string) string {
	for at := path; ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && info.IsDir() || at == filepath.Dir(at) {
			return at
		}
	}
}

// wide reports whether a directory is too much to let a command write in all of it: it
// has programs, or all that is a user's, or is the kernel's.
func wide(dir string) bool {
	programs := slices.Clip(confine.ProgramDirs())
	holds := func(of string) bool { return pathguard.Within(dir, of) }
	in := func(of string) bool { return pathguard.Within(of, dir) }
	home, err := os.UserHomeDir()
	if real, failed := filepath.EvalSymlinks(home); failed == nil {
		home = real
	}
	return slices.ContainsFunc(programs, holds) || slices.ContainsFunc(append(programs, "/proc", "/sys", "/dev"), in) || err == nil && holds(home)
}

// Files returns the files that may be read and written with what is lifted in ctx: a file
// that may be written may be read, to be changed.
func Files(ctx context.Context, r *sandbox.Reader, w *sandbox.Writer) (*sandbox.Reader, *sandbox.Writer) {
	if dirs := lifted(ctx, writing); dirs != nil {
		return r.With(dirs...), w.With(dirs...)
	}
	return r, w
}

// Refused returns err, of a file that was to be written through w, as an [*Error] if a
// person may lift it.
func Refused(held sandbox.Capabilities, w *sandbox.Writer, err error) error {
	refused, ok := errors.AsType[*pathguard.Error](err)
	if !ok || refused.Kind != pathguard.KindDenied || !held.Asks("writes") {
		return err
	}
	was, failed := w.Check(refused.Path)
	dir := existing(was.Resolved)
	if lifted, again := w.With(dir).Check(refused.Path); failed != nil || again != nil || was.Allowed || !lifted.Allowed {
		return err // it is denied or protected, or it is about reading
	}
	return &Error{err, []string{writing + dir}, held.Policy(), held.InForce}
}

// Host returns err, of a request, as an [*Error] if a person may lift it.
func Host(err error) error {
	refused, ok := errors.AsType[*sandbox.HostError](err)
	if !ok || refused.Policy == nil {
		return err
	}
	always := func() bool { return true } // requests follow the policy in force
	return &Error{err, []string{host + net.JoinHostPort(refused.Host, refused.Port)}, refused.Policy, always}
}

// Hosts asks about the hosts that a running command tries to reach, each once and one at
// a time: connections wait meanwhile, and the command's time does not count.
type Hosts struct {
	ctx  context.Context
	end  context.CancelFunc
	held sandbox.Capabilities

	asking  sync.Mutex
	answers map[string]error

	mu     sync.Mutex
	waited time.Duration
	since  time.Time // zero if nobody is being asked
}

// NewHosts returns what asks during the call that ctx belongs to, until End.
func NewHosts(ctx context.Context, held sandbox.Capabilities) *Hosts {
	h := &Hosts{held: held, answers: map[string]error{}}
	h.ctx, h.end = context.WithCancel(ctx)
	return h
}

// End takes back a question that is open, and waits for that. Nobody is asked again.
func (h *Hosts) End() {
	h.end()
	h.asking.Lock()
	defer h.asking.Unlock()
}

var (
	errOver    = errors.New("nobody is asked after the end of the call")
	errTooMany = fmt.Errorf("nobody is asked about more than %d hosts in one call", maxLifts)
)

// Ask returns nil if a person lets the command reach a host and port.
func (h *Hosts) Ask(target string) error {
	h.asking.Lock()
	defer h.asking.Unlock()
	answer, asked := h.answers[target]
	switch {
	case asked:
		return answer
	case h.ctx.Err() != nil:
		return errOver
	case len(h.answers) == maxLifts:
		return errTooMany
	}
	h.count(time.Now())
	defer h.count(time.Time{})
	answer = call.Permit(h.ctx, &Error{nil, []string{connecting + target}, h.held.Policy(), h.held.InForce})
	if h.answers[target] = answer; domain.CodeOf(answer) == domain.CodeTimeout {
		h.end() // there is nobody
	}
	return answer
}

// count begins or ends a time that a person is asked.
func (h *Hosts) count(since time.Time) {
	waited := h.Waited()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waited, h.since = waited, since
}

// Waited is how long people have been asked so far.
func (h *Hosts) Waited() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.since.IsZero() {
		return h.waited
	}
	return h.waited + time.Since(h.since)
}

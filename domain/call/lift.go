package call

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/toolserver/toolserver/domain"
)

// Liftable is the error of a handler that policy keeps from its work, where a person
// may let it. The handler returns it beside the result that refuses the call, and
// only before it has done anything: if the person agrees, it runs again.
type Liftable interface {
	error
	// Lifts names what policy refuses, each in a few words: "command git push".
	Lifts() []string
	// Policy identifies the policy: what a person has allowed for a session ends with it.
	Policy() any
	// Lift returns the context in which the handler is not refused that. The error says
	// why it is too late.
	Lift(ctx context.Context) (context.Context, error)
}

// maxLifts bounds how often a call is run again.
const maxLifts = 8

// lifting runs the handler, and again with what a person allows of what policy refuses. If nobody can be asked, the refusal stays.
func (c *Call) lifting(ctx context.Context, handle func(context.Context) (domain.ToolResult, error)) (domain.ToolResult, error) {
	for range maxLifts {
		result, err := handle(ctx)
		refused, ok := err.(Liftable) // as a handler returns it
		if !ok {
			if err == nil && c.agreed != nil {
				result.Meta = withAsked(result.Meta, c.agreed)
			}
			return result, err
		}
		if !CanConsult(ctx) {
			return result, nil
		}
		refusal, err := c.agree(ctx, refused)
		switch {
		case domain.CodeOf(err) == domain.CodeMissingCapability: // it can ask, but not during this call
			c.unasked = true
			continue
		case err != nil:
			return domain.ToolResult{}, err
		case refusal != nil:
			return *refusal, nil
		}
		if ctx, err = refused.Lift(ctx); err != nil {
			return domain.Failure("denied", c.Name+" was not run: "+err.Error(), "Call it again; the user is asked again if that is still needed."), nil
		}
	}
	return domain.Failure("denied", c.Name+" was not run: it needs too much that policy does not allow", "Do it in several smaller calls."), nil
}

// agree asks a person to let the call do what policy refuses, unless they have let the session do it. The refusal is as that of consult.
func (c *Call) agree(ctx context.Context, refused Liftable) (refusal *domain.ToolResult, err error) {
	q := question{Call: c, refused: strings.Join(refused.Lifts(), ", "), session: c.Session.Lasts(), policy: refused.Policy()}
	q.about = q.refused
	said, refusal, err := q.allowed(ctx, refused.Lifts()...)
	if err == nil && refusal == nil {
		said.About = Visible(q.about)
		c.agreed = append(c.agreed, said)
	}
	return refusal, err
}

// allowed asks a person about what is called so, unless they have allowed it for the session.
func (q *question) allowed(ctx context.Context, what ...string) (said Asked, refusal *domain.ToolResult, err error) {
	if needsSecond(q.Call) { // who alone may have allowed it before
		what = []string{q.Name + ", by a second person: " + strings.Join(what, ", ")}
	}
	if q.Session.Lasts() && q.exec.grants.have(q.Session.Key(), q.policy, what) {
		said = Asked{About: q.about, Answer: answerEarlier}
		q.root().Record.asked(said)
		return said, nil, nil
	}
	if said, refusal, err = q.consult(ctx); said.Answer == answerSession && refusal == nil && err == nil {
		q.exec.grants.add(q.Session.Key(), q.policy, what)
	}
	return said, refusal, err
}

// Permit has a person let what policy refuses to a handler that runs and has done a part
// of its work. The error says why it stays refused. Of one call, only one Permit may be
// under way, and none when its handler returns.
func Permit(ctx context.Context, refused Liftable) error {
	c := callOf(ctx)
	if !CanConsult(ctx) {
		return errors.New("there is nobody to ask")
	}
	refusal, err := c.agree(ctx, refused)
	switch {
	case isInputRequired(err): // and the call goes on
		return cmp.Or(c.root().retakeSlots(ctx), errLater)
	case err != nil:
		return err
	case refusal != nil && refusal.ErrorType() == Pending:
		return errors.New(strings.TrimPrefix(refusal.FirstText(), c.Name+" was not run yet: ")) // it runs
	case refusal != nil:
		return errors.New("the user did not agree to it")
	}
	_, err = refused.Lift(ctx)
	return err
}

var errLater = errors.New("this client cannot be asked during a call")

// withAsked returns the _meta of a result with what a person has agreed to.
func withAsked(meta any, asked []Asked) any {
	members := map[string]json.RawMessage{}
	for _, v := range []any{meta, map[string]any{"asked": asked}} {
		if b, err := json.Marshal(v); err == nil {
			_ = json.Unmarshal(b, &members) // meta is an object, or nil
		}
	}
	return members
}

// grants are what people have allowed for sessions.
type grants struct {
	mu        sync.Mutex
	bySession map[string][]grant // by [Session.Key]
}

// grant is something that is allowed while a policy is in force.
type grant struct {
	policy any
	what   string
}

// maxGrants bounds what is allowed for one session; the oldest gives way.
const maxGrants = 64

// have reports whether all of it is allowed for a session.
func (g *grants) have(session string, policy any, what []string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !slices.ContainsFunc(what, func(what string) bool { return !slices.Contains(g.bySession[session], grant{policy, what}) })
}

func (g *grants) add(session string, policy any, what []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.bySession == nil {
		g.bySession = map[string][]grant{}
	}
	all := g.bySession[session]
	for _, what := range what {
		all = append(all, grant{policy, what})
	}
	g.bySession[session] = all[max(0, len(all)-maxGrants):]
}

// EndSession forgets what is allowed for the session with that [Session.Key].
func (e *Executor) EndSession(key string) {
	e.grants.mu.Lock()
	defer e.grants.mu.Unlock()
	delete(e.grants.bySession, key)
}

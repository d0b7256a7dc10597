package domain

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
)

// Liftable is the error of a handler that policy keeps from its work, where a person
// may let it. The handler returns it beside the result that refuses the call, and
// only before it has done anything: if the person agrees, it runs again.
type Liftable interface {
	error
	// Lifts names what policy refuses, each in a few words: "command git push".
	Lifts() []string
	// Granted reports whether a person has agreed for the session with this
	// [Session.Key].
	Granted(session string) bool
	// Lift returns the context in which the handler is not refused that, until it
	// returns or, unless session is empty, until the session ends. The error is for
	// the person: the policy is not what it was.
	Lift(ctx context.Context, session string) (context.Context, error)
}

// maxLifts bounds how often a call is run again.
const maxLifts = 8

// lifting runs the handler, and again with what a person allows of what policy
// refuses. Without a client that can be asked the refusal stays.
func (c *Call) lifting(ctx context.Context, handle func(context.Context) (ToolResult, error)) (ToolResult, error) {
	var asked []Asked
	for range maxLifts {
		result, err := handle(ctx)
		refused, ok := errors.AsType[Liftable](err)
		if !ok {
			if err == nil && asked != nil {
				result.Meta = withAsked(result.Meta, asked)
			}
			return result, err
		}
		if !CanAsk(ctx, AskElicitation) {
			return result, nil
		}
		q := question{refused: strings.Join(refused.Lifts(), ", "), session: c.Session.Lasts()}
		q.about = q.refused
		key, answer := c.Session.Key(), answerEarlier
		if q.session && refused.Granted(key) {
			c.noteAsked(q.about, answer)
		} else {
			var refusal *ToolResult
			if answer, refusal, err = c.consult(ctx, q); err != nil {
				return ToolResult{}, err
			}
			if refusal != nil {
				return *refusal, nil
			}
		}
		if answer == answerOnce {
			key = ""
		}
		if ctx, err = refused.Lift(ctx, key); err != nil {
			return Failure("denied", c.Name+" was not run: "+err.Error(), "Call it again; the user is asked again if that is still needed."), nil
		}
		asked = append(asked, Asked{visible(q.about), answer})
	}
	return Failure("denied", c.Name+" was not run: it needs too much that policy does not allow", "Do it in several smaller calls."), nil
}

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

package domain

import "context"

// Principal is who calls: on stdio the configured user, on HTTP whom the token
// stands for. It never comes from arguments.
type Principal struct {
	Name            string
	Groups          []string
	ComplianceLevel string // of the data this principal works with; empty means unset
}

// Session is the connection a call comes in on.
type Session struct {
	ID        string
	Principal Principal
}

// callContext is the context of a call under way. It leads [SessionOf] and
// [ReportProgress] to the call.
type callContext struct {
	context.Context
	call *running
}

type callKey struct{}

func (c callContext) Value(key any) any {
	if key == (callKey{}) {
		return c.call
	}
	return c.Context.Value(key)
}

// SessionOf returns the session of the call that ctx belongs to.
func SessionOf(ctx context.Context) Session {
	if r, ok := ctx.Value(callKey{}).(*running); ok {
		return r.cmd.Session
	}
	return Session{}
}

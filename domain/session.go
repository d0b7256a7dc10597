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

// Progress is how far a call has got.
type Progress struct {
	Done    float64
	Total   float64 // 0 if it is not known
	Message string
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

func callOf(ctx context.Context) ExecuteToolCommand {
	if r, ok := ctx.Value(callKey{}).(*running); ok {
		return r.cmd
	}
	return ExecuteToolCommand{}
}

// SessionOf returns the session of the call that ctx belongs to.
func SessionOf(ctx context.Context) Session { return callOf(ctx).Session }

// ReportProgress tells the caller how far the call that ctx belongs to has got.
// It does nothing if the caller did not ask to be told.
func ReportProgress(ctx context.Context, p Progress) {
	if report := callOf(ctx).Progress; report != nil && ctx.Err() == nil {
		report(p)
	}
}

// WantsProgress reports whether [ReportProgress] has any effect.
func WantsProgress(ctx context.Context) bool { return callOf(ctx).Progress != nil }

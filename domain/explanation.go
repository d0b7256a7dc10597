package domain

import "context"

// Explanation says what the policy makes of a call, without making it.
type Explanation struct {
	Allowed bool           `json:"allowed"`
	Rule    string         `json:"rule"`             // the entry that decides; empty if there is none for it
	Reason  string         `json:"reason"`           // one sentence
	Path    string         `json:"path,omitempty"`   // what a path leads to
	Argv    []string       `json:"argv,omitempty"`   // the commands that were found, as they would run
	Reads   []string       `json:"reads,omitempty"`  // paths a command names for reading
	Writes  []string       `json:"writes,omitempty"` // and for writing
	Layers  *SandboxLayers `json:"layers,omitempty"` // what holds a command to the policy while it runs
}

// SandboxLayers says what holds tools to the policy on this machine.
type SandboxLayers struct {
	Enforcement string   `json:"enforcement"`
	InForce     []string `json:"in_force"`               // each in a few words
	Missing     []string `json:"missing,omitempty"`      // what of the policy is not enforced, why, and what would help
	SideEffects []string `json:"side_effects,omitempty"` // ordinary work that fails because of how it is enforced
	Notice      string   `json:"notice,omitempty"`       // what each result says of what is missing
}

// An Explainer says what the policy makes of a call with these arguments, which
// satisfy the tool's input schema. The error says why nothing can be said.
type Explainer func(ctx context.Context, args Arguments) (Explanation, error)

// ExplainAs returns an explainer that gets the arguments in a struct, as the
// handler of a tool that [Define] made does.
func ExplainAs[In any](explain func(context.Context, In) (Explanation, error)) Explainer {
	into := binderOf[In]
	return func(ctx context.Context, args Arguments) (Explanation, error) {
		var in In
		if err := into().bind(&in, args); err != nil {
			return Explanation{}, &Error{Code: CodeInvalidParams, Message: err.Error(), Err: err}
		}
		return explain(ctx, in)
	}
}

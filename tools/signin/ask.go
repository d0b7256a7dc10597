package signin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"toolserver/domain"
	"toolserver/tools/httpcall"
)

// callWait is how long a call of a server waits for a person: less than clients wait for calls.
const callWait = 45 * time.Second

// Need is a sign-in that a call cannot do without.
type Need struct {
	Why     string // a clause
	Message string // what the person is asked to do, as a sentence
	Command string // what signs in at the machine of the server: "toolserver auth google"
	Paste   string // what signs in from another machine
	Serving bool   // the process lives on after the call
	Proves  bool   // the page asks for a proof of who the person is
	Begin   func() (*Flow, error)
	OnDone  func(f *Flow, key string, do func()) (once func())
}

// Refusal is what a call is answered with as long as nobody has signed in: a clause, and what to do about it.
type Refusal struct{ Message, Remedy string }

// Ask has the person of the call that ctx belongs to sign in. The refusal says how, if that takes longer than the call; nil means
// that they have. An error is to be returned as it is.
func (n Need) Ask(ctx context.Context) (*Refusal, error) {
	canOpen := domain.CanAsk(ctx, domain.AskURL)
	if !canOpen && !n.Serving {
		return &Refusal{n.Why, "Run: " + n.Command}, nil
	}
	flow, err := n.Begin()
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return &Refusal{n.Why + ", and a sign-in cannot begin: " + err.Error(), "Have the person run: " + n.Command}, nil
	}
	later := fmt.Sprintf("To sign in, the user opens %s in a browser on the machine where this server runs, before %s; then call the tool again", flow.URL, flow.Expires.Format("15:04"))
	if n.Proves {
		later += ". The page asks for the token that the MCP client uses for this server"
	}
	later += ". From another machine: " + n.Paste
	if !canOpen {
		return &Refusal{n.Why, later}, nil
	}
	action, err := domain.ElicitURL(ctx, domain.URLElicitation{ID: flow.ID, URL: flow.URL, Message: strings.ToUpper(n.Why[:1]) + n.Why[1:] + ". " + n.Message})
	switch {
	case domain.CodeOf(err) == domain.CodeMissingCapability: // it can ask, but not during this call
		return &Refusal{n.Why, later}, nil
	case err != nil:
		return nil, err
	case action != domain.Accepted:
		return &Refusal{n.Why + ", and the user did not agree to sign in", "Ask the user what to do instead; do not try the same call again."}, nil
	}
	notify := n.completion(ctx, flow)
	wait := callWait
	if !n.Serving {
		wait = time.Until(flow.Expires)
	}
	done, err := domain.Await(ctx, flow.Done(), wait)
	switch {
	case err != nil:
		return nil, err
	case !done:
		return &Refusal{"the sign-in is not complete yet", later}, nil
	case flow.Err() != nil:
		remedy := "Call the tool again to start another sign-in, if the user wants that."
		if f, ok := errors.AsType[*httpcall.Failure](flow.Err()); ok {
			remedy = f.Hint
		}
		return &Refusal{"the sign-in failed: " + flow.Err().Error(), remedy}, nil
	}
	notify() // before the answer
	return nil, nil
}

// completion has the client of a call notified, once for each session, when a sign-in is complete: maybe long after the call.
// What it returns does so at once.
func (n Need) completion(ctx context.Context, flow *Flow) (notify func()) {
	complete := domain.Completion(ctx)
	return n.OnDone(flow, domain.SessionOf(ctx).Key(), func() {
		if flow.Err() == nil {
			complete(flow.ID)
		}
	})
}

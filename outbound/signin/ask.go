package signin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/outbound/httpcall"
)

// callWait is how long a call of a server waits for a person: less than clients wait for calls.
const callWait = 45 * time.Second

// Need is a sign-in that a call cannot do without.
type Need struct {
	Why     string // a clause
	Message string // what the person is asked to do, as a sentence
	Command string // what signs in at the machine of the server: "toolserver auth google"
	Paste   string // what signs in with a browser on another machine
	Host    Host
	Begin   func() (*Flow, error)
}

// Refusal is what a call is answered with as long as nobody has signed in: a clause, and what to do about it.
type Refusal struct{ Message, Remedy string }

// Ask has the person of the call that ctx belongs to sign in. The refusal says how, if that takes longer than the call; nil means
// that they have. An error is to be returned as it is.
func (n Need) Ask(ctx context.Context) (*Refusal, error) {
	serving := n.Host.Serving != nil && n.Host.Serving()
	canOpen := call.CanAsk(ctx, call.AskURL)
	if !canOpen && !serving {
		return &Refusal{n.Why, "Run: " + n.Command}, nil
	}
	flow, err := n.Begin()
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return &Refusal{n.Why + ", and a sign-in cannot begin: " + err.Error(), "Have the person run: " + n.Command}, nil
	}
	where := ""
	if !flow.Public {
		where = " on the machine where this server runs"
	}
	later := fmt.Sprintf("To sign in, the user opens %s in a browser%s, before %s; then call the tool again", flow.URL, where, flow.Expires.Format("15:04"))
	if flow.prove != nil {
		later += ". The page asks for the token that the MCP client uses for this server"
	}
	if !flow.Public {
		later += ". From another machine: " + n.Paste
	}
	message := strings.ToUpper(n.Why[:1]) + n.Why[1:] + ". " + n.Message
	if flow.prove != nil && !flow.Public { // the client may be elsewhere
		message += " The address opens only" + where + "; the operator can set server.public_url to change that."
	}
	if !canOpen {
		return &Refusal{n.Why, later}, nil
	}
	action, err := call.ElicitURL(ctx, call.URLElicitation{ID: flow.ID, URL: flow.URL, Message: message})
	switch {
	case domain.CodeOf(err) == domain.CodeMissingCapability: // it can ask, but not during this call
		return &Refusal{n.Why, later}, nil
	case err != nil:
		return nil, err
	case action == call.Canceled: // nobody has chosen, as where a client that declares elicitation runs without a person
		return &Refusal{n.Why, later}, nil
	case action != call.Accepted:
		return &Refusal{n.Why + ", and the user did not agree to sign in", "Ask the user what to do instead; do not try the same call again."}, nil
	}
	complete := call.Completion(ctx)
	// The client is notified once for each session: maybe long after the call, or before its answer.
	notify := flow.OnDone(call.SessionOf(ctx).Key(), func() {
		if flow.Err() == nil {
			complete(flow.ID)
		}
	})
	wait := callWait
	if !serving {
		wait = time.Until(flow.Expires)
	}
	done, err := call.Await(ctx, flow.Done(), wait)
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
	notify()
	return nil, nil
}

// For returns the flag of a command that signs in for somebody else than who runs it: "" for the user of the command line.
func For(principal string) string {
	if source, name, ok := strings.Cut(principal, ":"); ok && source == "token" {
		return " --principal " + name
	}
	return ""
}

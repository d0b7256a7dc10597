package call

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolserver/toolserver/approval"
	"github.com/toolserver/toolserver/domain"
)

// This file puts questions about a call to people who are not at the client: it cannot ask, or somebody else than who makes the call has to
// agree.

// Approvals is where people are asked who are not at the client.
type Approvals struct {
	approval.Settings
	Desk *approval.Desk
	// Asked is told of each request that is made. It does not wait.
	Asked func(approval.Request)
}

// Pending is the error type of a call that waits for a person: it runs when it is made again after they have agreed.
const Pending = "approval_pending"

// CanConsult reports whether a person can be asked to agree to something in the call that ctx belongs to, at the client or elsewhere.
func CanConsult(ctx context.Context) bool {
	return CanAsk(ctx, AskElicitation) || callOf(ctx).approvals() != nil
}

// approvals returns who is asked elsewhere; nil if nobody is.
func (c *Call) approvals() *Approvals {
	if c.exec == nil || c.exec.Approvals == nil {
		return nil
	}
	return c.exec.Approvals()
}

// second reports whether somebody else than who makes the call has to agree to it.
func (c *Call) second() bool {
	a := c.approvals()
	return a != nil && c.Tool != nil && a.Names(cmp.Or(c.Tool.Offered, c.Name), c.Name)
}

// kinds are what answers of people for a session hold for.
func (c *Call) kinds(about ...string) []string {
	if !c.second() {
		return about
	}
	kinds := make([]string, len(about))
	for i, what := range about { // which somebody alone has allowed elsewhere
		kinds[i] = "second person, " + c.Name + ": " + what
	}
	return kinds
}

// request returns what is asked elsewhere.
func (c *Call) request(q question, text string) (r approval.Request, err error) {
	args := string(c.Raw)
	if c.Tool.RunRaw == nil {
		b, err := c.args.JSON()
		if err != nil {
			return r, err
		}
		args = string(b)
	}
	r = approval.Request{
		Principal: c.owner(), Session: c.Session.ID, Client: Visible(c.Session.Client), Tool: c.Name,
		About: Visible(c.catalog.Redactor.Text(q.about)), Text: text, Second: c.second(),
	}
	if c.Session.Lasts() {
		r.Scope = approval.Fingerprint(c.exec.idPrefix, c.Session.Key(), c.Name, q.about, fmt.Sprintf("%p", q.policy))
	}
	r.Fingerprint = approval.Fingerprint(r.Principal, r.Tool, q.about, text, args, fmt.Sprint(r.Second))
	return r, nil
}

// askElsewhere has a person decide who is not at the client, and waits for that as long as the client does. The refusal is what the call is
// answered with if it must not run, or not yet.
func (c *Call) askElsewhere(ctx context.Context, a *Approvals, asked approval.Request) (said Asked, refusal *domain.ToolResult, err error) {
	until := time.Now().Add(a.Wait)
	for {
		asked.Created = time.Now().UTC()
		asked.Expires = asked.Created.Add(a.Expires)
		r, made, err := a.Desk.Seek(ctx, asked)
		said = Asked{About: asked.About, Approval: r.ID}
		switch {
		case errors.Is(err, approval.ErrTooMany):
			said.Answer = answerCanceled
			refused := domain.Failure("busy", c.Name+" was not run: a person has to agree to it, and "+err.Error(), "Call it again when some of them are decided.")
			return said, &refused, nil
		case err != nil:
			return said, nil, c.deskFailed(err)
		case r.Decision != nil:
			said.Answer, said.By = r.Decision.Answer, r.Decision.By
			if said.Answer == answerSession && (r.Scope != asked.Scope || asked.Scope == "") {
				said.Answer = answerOnce // the session is over
			}
			return said, nil, nil
		}
		if made && a.Asked != nil {
			a.Asked(r)
		}
		waits := "Waiting for approval " + r.ID
		if Detach(ctx, waits) || until.After(r.Expires) {
			until = r.Expires
		}
		var gone error
		err = c.suspended(ctx, max(time.Until(until), 0), func(waiting context.Context) error {
			gone = c.await(waiting, a.Desk, r.ID, waits)
			return nil
		})
		if err != nil {
			return said, nil, err
		}
		if gone != nil {
			said.Answer = answerCanceled
			refused := c.undecided(r, gone)
			if refused.ErrorType() == Pending {
				said.Answer = answerPending
			}
			return said, &refused, nil
		}
	}
}

// deskFailed returns the error of a call about which nobody could be asked.
func (c *Call) deskFailed(err error) error {
	return &domain.Error{Code: domain.CodeExecutionFailed, Message: c.Name + " was not run: a person has to agree to it, and what was decided cannot be read or kept",
		Hint: "Ask the operator of this server.", Err: err}
}

// undecided returns what a call is answered with whose request nobody has decided.
func (c *Call) undecided(r approval.Request, gone error) domain.ToolResult {
	switch {
	case !time.Now().Before(r.Expires):
		return domain.Failure("denied", c.Name+" was not run: nobody has agreed to it before approval "+r.ID+" expired", "Ask the user whether to try it again.")
	case errors.Is(gone, approval.ErrUnknown):
		return domain.Failure("denied", c.Name+" was not run: approval "+r.ID+" was withdrawn", "Ask the user what to do instead; do not try the same call again.")
	}
	return domain.Failure(Pending, fmt.Sprintf("%s was not run yet: a person has been asked to agree to it (approval %s), until %s", c.Name, r.ID,
		r.Expires.UTC().Format("2006-01-02 15:04 MST")), "Tell the user that approval "+r.ID+" waits. "+
		"Then call it again with the same arguments: it runs if they have agreed. Other arguments need another approval.")
}

// progressPause is how often a client is told that a call still waits: some end calls of which they hear nothing.
const progressPause = 15 * time.Second

// await waits until a request is decided. The error says that it is gone, or that ctx has ended, or the client is gone.
func (c *Call) await(ctx context.Context, desk *approval.Desk, id, message string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if ended := c.client.Ended(); ended != nil {
		go func() {
			select {
			case <-ended:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	for n := 0; ; n++ {
		ReportProgress(ctx, Progress{Done: float64(n) / 1000, Message: message}) // with room for what the handler reports
		part, end := context.WithTimeout(ctx, progressPause)
		err := desk.Await(part, id)
		end()
		if err == nil || errors.Is(err, approval.ErrUnknown) || ctx.Err() != nil {
			return err
		}
	}
}

// never returns that a person has said that they are never to be asked about such calls; nothing if nobody has.
func (c *Call) never(ctx context.Context, a *Approvals, asked approval.Request) (said Asked, err error) {
	said.About = asked.About
	all, err := a.Desk.List(ctx)
	if err != nil {
		return said, c.deskFailed(err)
	}
	if r := approval.Refused(all, asked); r != nil {
		said.Answer, said.By, said.Approval = answerNever, r.Decision.By, r.ID
	}
	return said, nil
}

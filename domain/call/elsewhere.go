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
	*approval.Desk
	// Asked is told of each request that is made. It does not wait.
	Asked func(approval.Request)
}

// Pending is the error type of a call that waits for a person: it runs when it is made again after they have agreed.
const Pending = "approval_pending"

// CanConsult reports whether a person can be asked to agree to something in the call that ctx belongs to, at the client or elsewhere.
func CanConsult(ctx context.Context) bool {
	return CanAsk(ctx, AskElicitation) || approvalsOf(callOf(ctx)) != nil
}

// approvalsOf returns who is asked elsewhere about a call; nil if nobody is.
func approvalsOf(c *Call) *Approvals {
	if c.exec == nil || c.exec.Approvals == nil {
		return nil
	}
	return c.exec.Approvals()
}

// needsSecond reports whether somebody else than who makes a call has to agree to it.
func needsSecond(c *Call) bool {
	a := approvalsOf(c)
	return a != nil && a.Names(cmp.Or(c.Tool.Offered, c.Name), c.Name)
}

// request returns what is asked elsewhere.
func (q *question) request(text string, args []byte) approval.Request {
	second := needsSecond(q.Call)
	if in := q.catalog.Settings.Directory; in != "" { // the same arguments do something else there, and who is asked does not see where the client is
		text = "In " + Visible(q.catalog.Redactor.Text(in)) + ": " + text
	}
	r := approval.Request{
		Principal: q.owner(), Session: q.Session.ID, Client: Visible(q.Session.Client), Tool: q.Name,
		About: Visible(q.catalog.Redactor.Text(q.about)), Text: text, Second: second, Created: time.Now().UTC(),
		Fingerprint: approval.Fingerprint(q.owner(), q.Name, q.about, text, string(args), fmt.Sprint(second)),
	}
	if q.Session.Lasts() {
		r.Scope = approval.Fingerprint(q.exec.idPrefix, q.Session.Key(), q.Name, q.about, fmt.Sprintf("%p", q.policy))
	}
	return r
}

// askElsewhere has a person decide who is not at the client, and waits for that as long as the client does. The refusal is what the call is
// answered with if nobody has decided.
func (q *question) askElsewhere(ctx context.Context, a *Approvals, asked approval.Request) (said Asked, refusal *domain.ToolResult, err error) {
	until := time.Now().Add(a.Wait)
	asked.Expires = asked.Created.Add(a.Expires)
	for {
		r, made, err := a.Seek(ctx, asked)
		said = Asked{About: asked.About, Answer: answerCanceled, Approval: r.ID}
		switch {
		case errors.Is(err, approval.ErrTooMany):
			refused := domain.Failure("busy", q.Name+" was not run: a person has to agree to it, and "+err.Error(), "Call it again later.")
			return said, &refused, nil
		case err != nil:
			return said, nil, q.noDesk(err)
		case r.Decision != nil:
			said.Answer, said.By = r.Decision.Answer, r.Decision.By
			if said.Answer == answerSession && (r.Scope != asked.Scope || r.Scope == "") {
				said.Answer = answerOnce // that session is over
			}
			return said, nil, nil
		case made && a.Asked != nil:
			a.Asked(r)
		}
		waits := "Waiting for approval " + r.ID
		if Detach(ctx, waits) || until.After(r.Expires) {
			until = r.Expires
		}
		var undecided error
		if err := q.suspended(ctx, max(time.Until(until), 0), func(waiting context.Context) error {
			undecided = q.await(waiting, a.Desk, r.ID, waits)
			return nil
		}); err != nil {
			return said, nil, err
		}
		if undecided == nil && approvalsOf(q.Call) == a { // or another configuration is in force, which a call that is made again goes by
			continue // with what was decided, unless another call has taken it
		}
		problem, hint := "nobody has agreed to it before approval "+r.ID+" expired", "Ask the user whether to try it again."
		switch {
		case !time.Now().Before(r.Expires):
		case undecided == approval.ErrUnknown:
			problem, hint = "approval "+r.ID+" was withdrawn", "Ask the user what to do instead; do not try the same call again."
		default:
			said.Answer = answerPending
			refused := domain.Failure(Pending, fmt.Sprintf("%s was not run yet: a person has been asked to agree to it (approval %s), until %s", q.Name, r.ID,
				r.Expires.Format("2006-01-02 15:04 MST")), "Tell the user that approval "+r.ID+" waits. Then call it again with the same arguments: "+
				"it runs if they have agreed. Other arguments need another approval.")
			return said, &refused, nil
		}
		refused := domain.Failure("denied", q.Name+" was not run: "+problem, hint)
		return said, &refused, nil
	}
}

// noDesk returns the error of a call about which nobody could be asked.
func (q *question) noDesk(err error) error {
	return &domain.Error{Code: domain.CodeExecutionFailed, Hint: "Ask the operator of this server: toolserver approve says why.", Err: err,
		Message: q.Name + " was not run: a person has to agree to it, and what was decided cannot be read or kept"}
}

// progressPause is how often a client is told that a call still waits: some end calls of which they hear nothing.
const progressPause = 15 * time.Second

// await waits until a request is decided. The error says that it is gone, or that ctx has ended, or the client is gone.
func (q *question) await(ctx context.Context, desk *approval.Desk, id, message string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-q.client.Ended():
			cancel()
		case <-ctx.Done():
		}
	}()
	for n := 0; ; n++ {
		ReportProgress(ctx, Progress{Done: float64(n) / 1000, Message: message}) // with room for what the handler reports
		part, end := context.WithTimeout(ctx, progressPause)
		err := desk.Await(part, id)
		if end(); err == nil || err == approval.ErrUnknown || ctx.Err() != nil {
			return err
		}
	}
}

// never returns that a person has said that they are never to be asked about such calls; nothing if nobody has.
func (q *question) never(ctx context.Context, a *Approvals, asked approval.Request) (said Asked, err error) {
	all, err := a.List(ctx)
	if err != nil {
		return said, q.noDesk(err)
	}
	said.About = asked.About
	if r := approval.Refused(all, asked); r != nil {
		said.Answer, said.By, said.Approval = answerNever, r.Decision.By, r.ID
	}
	return said, nil
}

package app

import (
	"context"
	"net/url"

	"go.uber.org/zap"

	"github.com/toolserver/toolserver/approval"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/upstream"
)

// desk returns where people decide about calls, in a state directory.
func desk(state string) *approval.Desk {
	return approval.Open(sandbox.NewState(state, "approvals").Directory)
}

// Desk returns where people decide about calls.
func (f *inForce) Desk() *approval.Desk { return f.now.Load().desk }

// maxHooks bounds how many requests a webhook is being told of.
const maxHooks = 32

// approvals returns what has calls ask people elsewhere, as the configuration in force says.
func approvals(a *App) func() *call.Approvals {
	hooks := make(chan struct{}, maxHooks)
	return func() *call.Approvals {
		now := a.now.Load()
		if now == nil || !now.config.Approvals.Enabled {
			return nil
		}
		return &call.Approvals{Settings: now.config.Approvals, Desk: now.desk, Asked: func(r approval.Request) {
			a.Note("approval", r.Principal, zap.String("approval", r.ID), zap.String("tool", r.Tool), zap.String("about", r.About))
			if now.config.Approvals.Webhook.URL == "" {
				return
			}
			select {
			case hooks <- struct{}{}:
				go func() {
					defer func() { <-hooks }()
					tellWebhook(a, now, r)
				}()
			default:
				a.journal.log.Warn("the webhook of approvals is not told: it is too slow", zap.String("approval", r.ID))
			}
		}}
	}
}

// tellWebhook tells the webhook of a request.
func tellWebhook(a *App, now *state, r approval.Request) {
	w := now.config.Approvals.Webhook
	u, err := url.Parse(w.URL)
	if err == nil {
		err = w.Send(context.Background(), now.box.For(upstream.Owner).ServerClient(u), r, now.config.Approvals.ConsoleURL)
	}
	if err != nil {
		a.journal.log.Warn("the webhook of approvals was not told", zap.String("approval", r.ID), zap.Error(err))
	}
}

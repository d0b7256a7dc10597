package app

import (
	"context"
	"net/url"

	"go.uber.org/zap"

	"github.com/toolserver/toolserver/approval"
	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/store"
	"github.com/toolserver/toolserver/tools"
	"github.com/toolserver/toolserver/upstream"
)

// OpenDesk returns where people decide about calls who are not at the client, as a server with the configuration has it. The caller leaves it.
func OpenDesk(cfg *config.Loaded) (desk *approval.Desk, leave func(), err error) {
	keys, err := config.Keys(cfg)
	if err != nil {
		return nil, nil, err
	}
	st := store.New()
	useKeys(st, keys)
	if leave, err = st.Join(cfg.Store); err != nil {
		return nil, nil, cfg.Mistake("store.url", "%v", err)
	}
	return deskIn(cfg.Policy().StateDirectory, st), leave, nil
}

func deskIn(state string, st *store.Store) *approval.Desk {
	return approval.Open(sandbox.NewState(state, "approvals").Directory, st)
}

// newApprovals returns what has calls ask people elsewhere, under a configuration.
func newApprovals(a *App, cfg *config.Loaded, box *tools.Sandbox) *call.Approvals {
	const maxHooks = 32 // requests that the webhook is being told of
	hook, hooks := cfg.Approvals.Webhook, make(chan struct{}, maxHooks)
	tell := func(r approval.Request) {
		u, err := url.Parse(hook.URL)
		if err == nil {
			err = hook.Send(context.Background(), box.For(upstream.Owner).ServerClient(u), r, cfg.Approvals.ConsoleURL)
		}
		if err != nil {
			a.journal.log.Warn("the webhook of approvals was not told", zap.String("approval", r.ID), zap.Error(err))
		}
		<-hooks
	}
	asked := func(r approval.Request) {
		a.Note("approval", r.Principal, zap.String("reason", r.ID+" is asked about "+r.Tool))
		if hook.URL == "" {
			return
		}
		select {
		case hooks <- struct{}{}:
			go tell(r)
		default:
			a.journal.log.Warn("the webhook of approvals is not told: it is too slow", zap.String("approval", r.ID))
		}
	}
	return &call.Approvals{Settings: cfg.Approvals, Desk: deskIn(box.Policy.StateDirectory, a.exec.Store), Asked: asked}
}

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

// OpenDesk returns where people decide about calls who are not at the client, of servers with the configuration. One may be this process. The caller leaves it.
func OpenDesk(cfg *config.Loaded, serves *App) (desk *approval.Desk, leave func(), err error) {
	st, leave := store.New(), func() {}
	if serves != nil {
		st = serves.exec.Store // whose keys change with the configuration
	} else {
		keys, err := config.Keys(cfg)
		if err != nil {
			return nil, nil, err
		}
		useKeys(st, keys)
		if leave, err = st.Join(cfg.Store); err != nil {
			return nil, nil, cfg.Mistake("store.url", "%v", err)
		}
	}
	return approval.Open(sandbox.NewState(cfg.Policy().StateDirectory, "approvals").Directory, st), leave, nil
}

// newApprovals returns what has calls ask people elsewhere, under a configuration.
func newApprovals(a *App, cfg *config.Loaded, box *tools.Sandbox) *call.Approvals {
	hook, hooks := cfg.Approvals.Webhook, make(chan struct{}, 32) // requests that it is being told of
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
	desk, _, _ := OpenDesk(cfg, a) // nothing of this process's own fails
	return &call.Approvals{Settings: cfg.Approvals, Desk: desk, Asked: asked}
}

package app

import (
	"errors"

	"go.uber.org/zap"

	"github.com/toolserver/toolserver/keyring"
	"github.com/toolserver/toolserver/store"
	"github.com/toolserver/toolserver/tools/shell"
)

// useKeys changes the keys of a store; nil has it use one of its own.
func useKeys(st *store.Store, keys *keyring.Ring) {
	switch {
	case keys != nil:
		st.UseKeys(keys)
	case st.Keys().Shared():
		st.UseKeys(keyring.Own())
	}
}

// startStore begins to share with other replicas what the configuration says. Stop ends it.
func (s *serving) startStore() (stop func(), err error) {
	cfg, st, log := s.Config(), s.exec.Store, s.journal.log
	st.Changed = func(err error) {
		if err != nil {
			log.Error("what replicas share cannot be reached", zap.String("on_failure", cfg.Store.OnFailure), zap.Error(err))
		} else {
			log.Warn("what replicas share can be reached again")
		}
	}
	shell.ServeJobs(st, s.runner.Jobs)
	stop, err = st.Start(cfg.Store, cfg.Server.Replica)
	if err != nil {
		return nil, cfg.Mistake("store.url", "%v", err)
	}
	if st.Shared() || st.Keys().Shared() {
		log.Info("replica", zap.String("name", st.Name()), zap.Bool("keys", st.Keys().Shared()), zap.Bool("store", st.Shared()))
	}
	return stop, nil
}

// ready says why this server serves nobody yet; nil if it does.
func (s *serving) ready() error {
	if st := s.exec.Store; st.Refuses() && !st.Reached() {
		return errors.New("what replicas share was not reached yet: " + st.State())
	}
	return s.now.Load().issued.Ready()
}

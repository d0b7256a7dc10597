package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

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
func (s *serving) startStore(port int) (stop func(), err error) {
	cfg, st, log := s.Config(), s.exec.Store, s.journal.log
	st.Changed = func(err error) {
		if err != nil {
			log.Error("what replicas share cannot be reached", zap.String("on_failure", cfg.Store.OnFailure), zap.Error(err))
		} else {
			log.Warn("what replicas share can be reached again")
		}
	}
	if cfg.Store.URL != "" {
		s.measureStore(st)
	}
	shell.ServeJobs(st, s.runner.Jobs)
	s.hearReplicas(st)
	stop, err = st.Start(cfg.Store, cfg.Server.Replica, port)
	if err != nil {
		return nil, cfg.Mistake("store.url", "%v", err)
	}
	if st.Shared() || st.Keys().Shared() {
		log.Info("replica", zap.String("name", st.Name()), zap.Bool("keys", st.Keys().Shared()), zap.Bool("store", st.Shared()))
	}
	return stop, nil
}

// measureStore has operators see how the store is.
func (s *serving) measureStore(st *store.Store) {
	asked := s.telemetry.Seconds("toolserver.store", "Time that the store of the replicas took.", "result")
	st.Asked = func(took time.Duration, err error) {
		result := "ok"
		if err != nil {
			result = "failed"
		}
		asked.Add(took.Seconds(), result)
	}
	s.telemetry.Gauge("toolserver.replicas", "Replicas that share the store, as far as this one knows.", "", func() float64 { return float64(st.Replicas()) })
	s.telemetry.Gauge("toolserver.store.up", "Whether the store of the replicas can be reached.", "", func() float64 {
		if st.State() == "ok" {
			return 1
		}
		return 0
	})
}

// upstreamMessage is the kind of messages between replicas about other MCP servers.
const upstreamMessage = "upstream"

// upstreamChanged is such a message.
type upstreamChanged struct {
	Server   string          `json:"server"`
	Approved json.RawMessage `json:"approved,omitempty"`
}

// tellReplicas returns what tells other replicas that what a server offers has changed, or was approved of.
func tellReplicas(st *store.Store) func(server string, approved json.RawMessage) {
	return func(server string, approved json.RawMessage) {
		if b, err := json.Marshal(upstreamChanged{server, approved}); err == nil {
			st.Tell("", upstreamMessage, b)
		}
	}
}

// hearReplicas takes in what other replicas tell of servers, and says which configuration is in force.
func (s *serving) hearReplicas(st *store.Store) {
	st.On(upstreamMessage, func(_ context.Context, body []byte) []byte {
		var m upstreamChanged
		if json.Unmarshal(body, &m) == nil {
			for _, u := range s.Servers.All() {
				if u.Server() == m.Server {
					u.Elsewhere(m.Approved)
				}
			}
		}
		return nil
	})
	st.Version = func() string { return s.Config().SHA256 }
	st.Differs = func(replica, version string) {
		s.journal.log.Warn("another replica has had another configuration for a while", zap.String("replica", replica), zap.String("sha256", version))
	}
}

// storeReady says why this server serves nobody yet: what is refused without the store would be all that there is.
func (s *serving) storeReady() error {
	if st := s.exec.Store; st.Refuses() && !st.Reached() {
		return errors.New("what replicas share was not reached yet: " + st.State())
	}
	return nil
}

// ready says why this server serves nobody yet; nil if it does.
func (s *serving) ready() error {
	return cmp.Or(s.storeReady(), s.now.Load().issued.Ready())
}

package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/net/netutil"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/server"
	"github.com/toolserver/toolserver/telemetry"
)

const diagnosingTime = 10 * time.Second // of a request for diagnostics

// startTelemetry begins to measure and trace as the configuration says, or the environment where that says nothing.
func startTelemetry(a *App, overHTTP bool) (*telemetry.Telemetry, error) {
	cfg := a.Config()
	log := a.journal.plain.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core { return zapcore.NewSamplerWithOptions(core, time.Minute, 1, 0) }))
	t, err := telemetry.Start(cfg.Telemetry, cfg.Server.Name, a.program.Version, overHTTP && cfg.Server.Diagnostics != "", func(err error) {
		log.Warn("telemetry cannot be sent", zap.String("error", brief.Clip(err.Error(), 300)))
	})
	if err != nil {
		return nil, cfg.Mistake("telemetry", "%v", err)
	}
	if l := a.journal.audit.Load(); l != nil {
		t.Total("toolserver.audit.records", "Entries that were written to the audit.", "", func() float64 { n, _, _ := l.State(); return float64(n) })
		t.Total("toolserver.audit.failures", "Attempts to write to the audit that failed.", "", func() float64 { _, n, _ := l.State(); return float64(n) })
		t.Gauge("toolserver.audit.waiting", "Entries that wait to be written to the audit.", "", func() float64 { _, _, n := l.State(); return float64(n) })
	}
	return t, nil
}

// diagnose serves metrics and probes to operators, if the configuration has an address for that. Stop ends it.
func (s *serving) diagnose(ctx context.Context) (stop func(), err error) {
	cfg := s.Config()
	if cfg.Server.Diagnostics == "" {
		return func() {}, nil
	}
	l, err := net.Listen("tcp", cfg.Server.Diagnostics)
	if err != nil {
		return nil, cfg.Mistake("server.diagnostics", "%v", err)
	}
	// Prometheus knows it by names and addresses that nobody lists; those of this machine are safe from pages only by their name.
	opts := server.HTTPOptions{AllowedHosts: cfg.Server.AllowedHosts, AnyHost: !server.IsLoopback(cfg.Server.Diagnostics)}
	own := &http.Server{
		Handler:     server.Diagnostics(opts, s.telemetry, func() []server.Check { return s.checks(ctx) }),
		ReadTimeout: diagnosingTime, WriteTimeout: diagnosingTime, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10, ErrorLog: zap.NewStdLog(zap.NewNop()),
	}
	fmt.Fprintf(s.Err, "toolserver: metrics and probes for operators at http://%s/metrics, /livez and /readyz\n", l.Addr())
	var serving sync.WaitGroup
	serving.Go(func() { _ = own.Serve(netutil.LimitListener(l, 32)) }) // until it is closed
	return func() { own.Close(); serving.Wait() }, nil
}

// checks returns what the server depends on. Nothing of it is secret.
func (s *serving) checks(ctx context.Context) []server.Check {
	now, redactor := s.now.Load(), &s.exec.Registry.Catalog().Redactor
	all := []server.Check{
		{Name: "server", Text: s.program.Version, Err: context.Cause(ctx)},
		{Name: "configuration", Text: "sha256 " + now.config.SHA256},
		{Name: "issuers", Text: fmt.Sprintf("%d, whose keys are known", len(now.config.Auth.Issuers)), Err: now.issued.Ready()},
	}
	if l := s.journal.audit.Load(); l != nil {
		_, _, waiting := l.State()
		all = append(all, server.Check{Name: "audit", Text: fmt.Sprintf("%d entries wait", waiting), Err: l.Ready()})
	}
	if st := s.exec.Store; st.Shared() {
		check := server.Check{Name: "store", Text: fmt.Sprintf("ok, %d replicas; this is %s", st.Replicas(), st.Name())}
		if state := st.State(); state != "ok" {
			check.Text = "it cannot be reached: " + state
		}
		check.Err = s.storeReady()
		all = append(all, check)
	}
	for _, r := range s.Servers.Reports(domain.Principal{}) {
		all = append(all, server.Check{Name: "upstream " + r.Name, Text: strings.TrimSpace(string(r.Status) + " " + redactor.Text(r.Reason))})
	}
	return all
}

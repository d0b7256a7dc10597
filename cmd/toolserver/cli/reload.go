package cli

import (
	"context"
	"os"
	"reflect"
	"sync"
	"time"

	"go.uber.org/zap"

	"toolserver/config"
	"toolserver/config/yamlconf"
)

// reloader applies the configuration file anew when it changes. A file that is
// wrong changes nothing.
type reloader struct {
	globals *globals
	app     *app
	dirs    []string
	done    <-chan struct{}

	mu   sync.Mutex
	seen os.FileInfo // the file as it was when it was last read
	last time.Time   // when that was
}

// watchConfig reloads until ctx ends. Without a file there is nothing to watch.
func watchConfig(ctx context.Context, g *globals, a *app, dirs []string) *reloader {
	cfg, _ := a.current()
	r := &reloader{globals: g, app: a, dirs: dirs}
	if cfg.File == "" {
		return r
	}
	r.seen, _ = os.Stat(cfg.File)
	r.done = yamlconf.Watch(ctx, []string{cfg.File}, r.reload)
	return r
}

// wait waits for the watching to end, which it does with its context.
func (r *reloader) wait() {
	if r.done != nil {
		<-r.done
	}
}

func (r *reloader) reload() {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, _ := r.app.current()
	if old.File == "" {
		r.app.log.Info("nothing to reload: there is no configuration file")
		return
	}
	r.seen, _ = os.Stat(old.File)
	r.last = time.Now()
	if old.Exposed() {
		// A mount goes with the file it is on: commands that have been running since
		// before the file was replaced are not kept from writing the new one.
		r.app.runner.Interrupt()
	}
	cfg, err := config.Load(config.Overrides{File: old.File, Directories: append(r.globals.dirs, r.dirs...)})
	if err == nil {
		err = r.app.apply(cfg)
	}
	if err != nil {
		r.app.log.Error("the configuration is wrong; the old one stays in force", zap.Error(err))
		return
	}
	r.app.log.Info("configuration reloaded", zap.String("file", cfg.File))
	if !reflect.DeepEqual(old.Sandbox, cfg.Sandbox) || !reflect.DeepEqual(old.Tools, cfg.Tools) {
		r.app.logLayers()
	}
	if needsRestart(old, cfg) {
		r.app.log.Warn("changes of server (other than tokens) and of logging take effect when the server is started again")
	}
}

// needsRestart reports whether something has changed that is only looked at when
// the server starts.
func needsRestart(old, new *config.Loaded) bool {
	before, after := old.Server, new.Server
	before.Tokens, after.Tokens = nil, nil
	return !reflect.DeepEqual(before, after) || old.Logging != new.Logging
}

// justReloaded is how long a hangup may come after the change it is about.
const justReloaded = 10 * time.Second

// recentlyChanged reports whether a hangup can be about a change of the file,
// be it one that has been applied already.
func (r *reloader) recentlyChanged() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	cfg, _ := r.app.current()
	if cfg.File == "" {
		return false
	}
	now, err := os.Stat(cfg.File)
	changed := err == nil && r.seen != nil && (now.ModTime() != r.seen.ModTime() || now.Size() != r.seen.Size())
	return changed || time.Since(r.last) < justReloaded
}

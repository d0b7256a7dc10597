package app

import (
	"context"
	"errors"
	"os"
	"reflect"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/osfile/filewatch"
)

// reloader applies the configuration file anew when it changes. A file that is
// wrong changes nothing.
type reloader struct {
	app  *App
	dirs []string // of the command line
	done []<-chan struct{}

	mu      sync.Mutex
	seen    os.FileInfo // the file as it was when it was last read
	last    time.Time   // when that was
	suspect bool        // commands may have written the file that was seen
}

// watchConfig reloads until ctx ends. Without a file there is nothing to watch.
func watchConfig(ctx context.Context, a *App, dirs []string) *reloader {
	cfg := a.Config()
	r := &reloader{app: a, dirs: dirs}
	if cfg.File == "" {
		return r
	}
	r.seen, _ = os.Stat(cfg.File)
	r.done = append(r.done, filewatch.Watch(ctx, cfg.File, r.changed))
	if trust := config.TrustFile(); cfg.Source != config.OriginNamed && trust != "" {
		r.done = append(r.done, filewatch.Watch(ctx, trust, func(settled bool) {
			if settled {
				r.reload(true)
			}
		}))
	}
	return r
}

// wait waits for the watching to end, which it does with its context.
func (r *reloader) wait() {
	for _, done := range r.done {
		<-done
	}
}

// hangup reloads because somebody asked for it. A file that is still being
// written is left to the watching, which sees when it is complete.
func (r *reloader) hangup(ctx context.Context) {
	if file := r.app.Config().File; file == "" || filewatch.Settled(ctx, file) {
		r.reload(false)
	} else if ctx.Err() == nil {
		r.app.journal.log.Warn("the configuration file is still being written; it is applied when it is complete", zap.String("file", file))
	}
}

// changed takes in that the file has changed. One that is still being written is
// not read, but whether commands may have written it cannot wait.
func (r *reloader) changed(settled bool) {
	if settled {
		r.reload(false)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now, err := os.Stat(r.app.Config().File)
	if err == nil && r.mayBeForged(now) {
		r.refuse(now)
	}
}

// reload applies the file. If only trust has changed, the file may be the same.
func (r *reloader) reload(onlyTrust bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.app.Config()
	if old.File == "" {
		r.app.journal.log.Info("nothing to reload: there is no configuration file")
		return
	}
	now, _ := os.Stat(old.File)
	r.last = time.Now()
	if r.mayBeForged(now) {
		r.refuse(now)
		return
	}
	r.seen, r.suspect = now, false
	before := r.app.now.Load()
	cfg, err := old.Again(r.dirs)
	if err == nil && onlyTrust && cfg.SHA256 == old.SHA256 {
		return
	}
	if err == nil {
		err = r.app.apply(cfg)
	}
	if untrusted, ok := errors.AsType[*config.Unused](err); ok {
		r.app.journal.log.Warn("the configuration file is not trusted as it is now; the old one stays in force", zap.Error(untrusted))
		return
	}
	if err != nil {
		r.app.journal.log.Error("the configuration is wrong; the old one stays in force", zap.Error(err))
		return
	}
	r.app.journal.origin(r.app.journal.log, "configuration reloaded")
	if s := r.app.serving.Load(); s.auth != nil {
		s.auth.revoke(before)
	}
	if !reflect.DeepEqual(old.Sandbox, cfg.Sandbox) || !reflect.DeepEqual(old.ToolSections, cfg.ToolSections) {
		r.app.journal.layers()
	}
	if needsRestart(old, cfg) {
		r.app.journal.log.Warn("changes of logging, store, telemetry and server (except tokens and keys) require a restart")
	}
}

// mayBeForged reports whether a command may have written the file as it is now.
// The protection of a file is a mount on it, which a running command loses when
// the file is replaced; those that start later have it again. What needs trust
// cannot be forged.
func (r *reloader) mayBeForged(now os.FileInfo) bool {
	return r.seen != nil && now != nil && (r.suspect || !os.SameFile(r.seen, now)) && r.app.Config().Exposed() && r.app.runner.RanAt(changedAt(now))
}

// refuse terminates the commands that may have written the file, and does not apply
// it, nor what they write until they have terminated.
func (r *reloader) refuse(now os.FileInfo) {
	r.seen, r.suspect = now, true
	r.app.runner.Interrupt()
	r.app.journal.log.Error("the configuration file was replaced, and a running command could have written the new one: "+
		"the old configuration stays in force, and the command was terminated; review the file and save it again", zap.String("file", r.app.Config().File))
}

// needsRestart reports whether something has changed that is only looked at when
// the server starts.
func needsRestart(old, new *config.Loaded) bool {
	before, after := old.Server, new.Server
	before.Tokens, after.Tokens, before.Keys, after.Keys = nil, nil, nil, nil
	return !reflect.DeepEqual(before, after) || old.Logging != new.Logging || old.Store != new.Store || !reflect.DeepEqual(old.Telemetry, new.Telemetry)
}

// justReloaded is how long a hangup may come after the change it is about.
const justReloaded = 10 * time.Second

// recentlyChanged reports whether a hangup can be about a change of the file,
// be it one that has been applied already.
func (r *reloader) recentlyChanged() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	cfg := r.app.Config()
	if cfg.File == "" {
		return false
	}
	now, err := os.Stat(cfg.File)
	changed := err == nil && r.seen != nil && (now.ModTime() != r.seen.ModTime() || now.Size() != r.seen.Size())
	return changed || time.Since(r.last) < justReloaded
}

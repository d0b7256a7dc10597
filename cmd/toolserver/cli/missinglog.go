package cli

import (
	"sync"

	"go.uber.org/zap"

	"toolserver/domain"
)

// missingLog is what the log says of items that are not offered.
type missingLog struct {
	mu     sync.Mutex
	logged map[domain.Missing]bool
}

// maxMissingLogged bounds the entries about one catalog.
const maxMissingLogged = 20

// logMissing logs what the catalog lacks and the one before did not: mistakes of
// sources as warnings, and what needs credentials or the like for information.
func (a *app) logMissing() {
	l := &a.unlisted
	l.mu.Lock()
	defer l.mu.Unlock()
	now, entries := map[domain.Missing]bool{}, 0
	for _, m := range a.exec.Registry.Catalog().Missing() {
		if now[m] = true; l.logged[m] {
			continue
		}
		if entries++; entries > maxMissingLogged {
			continue
		}
		log := a.log.Info
		if m.Mistake {
			log = a.log.Warn
		}
		log("not offered", zap.String("kind", string(m.Kind)), zap.String("name", m.Name), zap.String("source", m.Source), zap.String("reason", m.Reason))
	}
	if more := entries - maxMissingLogged; more > 0 {
		a.log.Warn("more is not offered; toolserver check lists it", zap.Int("items", more))
	}
	l.logged = now
}

package sandbox

import (
	"fmt"
	"strings"

	"toolserver/sandbox/pathguard"
)

// A Reader is the part of the file system that its owner may read. It has no way to
// change anything.
type Reader struct{ guard *pathguard.Guard }

// Open opens a regular file for reading; see [pathguard.Guard.Open].
func (r *Reader) Open(path string) (*pathguard.File, error) { return r.guard.Open(path) }

// OpenDir opens a directory for listing; see [pathguard.Guard.OpenDir].
func (r *Reader) OpenDir(path string) (*pathguard.Dir, error) { return r.guard.OpenDir(path) }

// Stat describes what is at a path; see [pathguard.Guard.Stat].
func (r *Reader) Stat(path string) (pathguard.Info, error) { return r.guard.Stat(path) }

// Check says what the policy makes of a path; see [pathguard.Guard.Check].
func (r *Reader) Check(path string) (pathguard.Decision, error) { return r.guard.Check(path) }

// Allowed returns the allowed paths as the policy spells them.
func (r *Reader) Allowed() []string { return r.guard.Allowed() }

// DeniesHardlinks reports whether files that have several names are refused, which
// a walker has to see to itself.
func (r *Reader) DeniesHardlinks() bool { return r.guard.DeniesHardlinks() }

// A Writer is the part of the file system that its owner may write. What may be
// written may be read through it as well.
type Writer struct{ Reader }

// Replace replaces or creates a file; see [pathguard.Guard.Replace].
func (w *Writer) Replace(path string, content []byte, o pathguard.ReplaceOptions) (pathguard.Replaced, error) {
	return w.guard.Replace(path, content, o)
}

// Append adds data to the end of a file; see [pathguard.Guard.Append].
func (w *Writer) Append(path string, data []byte, program string) error {
	return w.guard.Append(path, data, program)
}

// A guardKey is what a path guard is for.
type guardKey struct {
	use  use
	tool string
}

// newGuards makes a guard for each owner and use that is declared. Owners with the
// same rules share one, and with it what it keeps open.
func newGuards(p Policy) (map[guardKey]*pathguard.Guard, error) {
	guards, byRules := map[guardKey]*pathguard.Guard{}, map[string]*pathguard.Guard{}
	protected := map[use]pathguard.Protection{reading: p.protected(reading), writing: p.protected(writing)}
	for _, o := range p.Owners {
		for _, u := range []use{reading, writing} {
			head := o.head(u)
			if head == "" {
				continue
			}
			allow, deny := p.pathLists(u, o)
			rules := pathguard.Rules{Allow: allow, Deny: deny, DenyHardlinks: p.denyHardlinks(u, head), Protect: protected[u]}
			key := fmt.Sprint(u, rules.DenyHardlinks, "\x00", strings.Join(allow, "\x00"), "\x00\x00", strings.Join(deny, "\x00"))
			if byRules[key] == nil {
				made, err := pathguard.New(p.WorkingDirectory, rules)
				if err != nil {
					return nil, fmt.Errorf("tools.%s: %w", o.Tool, err)
				}
				byRules[key] = made
			}
			guards[guardKey{u, o.Tool}] = byRules[key]
		}
	}
	return guards, nil
}

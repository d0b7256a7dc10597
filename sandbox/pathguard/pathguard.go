// Package pathguard is the path policy of the file tools and the only way they
// open, create, list, replace and append files.
//
// A request is resolved to its canonical path, which is checked and then opened
// without following any symlink: "..", symbolic links, /proc/self/root and links
// that are exchanged during the call cannot lead to anything outside the allowed
// paths or inside the denied ones. What a file is (its kind, its identity, its hard
// links) is asked of the open descriptor. On Linux this is openat2(2) with
// RESOLVE_NO_SYMLINKS; elsewhere, and where a seccomp filter refuses openat2, it is a
// walk over [os.Root].
//
// # When rules are resolved
//
// Links in an allow rule are resolved once, in [New]. A link put in the place
// of an allowed directory later is not followed, so nobody who may write next
// to ./output can turn it into another name of /etc. A directory that is
// replaced by another directory at the same path is noticed, and so is one that
// is created after New.
//
// A deny rule holds for its own spelling, for the place it led to in New, and
// for the place it leads to now. "Now" is shared by the calls of 10 milliseconds; a
// call that would fail on shared state repeats its work on fresh state first.
package pathguard

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/toolserver/toolserver/osfile"
)

// maxPath bounds the bytes of a path, as PATH_MAX does on Linux.
const maxPath = 4096

// Rules say which paths a [Guard] permits. Each entry is a path or a glob, see [Entry].
// It need not exist, and governs what it names and everything beneath, by whole names:
// /tmp/allowed says nothing about /tmp/allowed-evil. Relative ones start at the working
// directory. Deny beats allow at every depth, so an allowed path beneath a denied one
// stays denied. With an empty Allow nothing is permitted.
type Rules struct {
	Allow []string
	Deny  []string
	// Roots are directories besides the working directory below which globs without a
	// place hold, such as *.key. In Deny they hold below what is allowed, too.
	Roots []string
	// DenyHardlinks refuses to open a regular file that has more than one
	// name, because its other name may be outside the allowed paths.
	DenyHardlinks bool
	// Owner is whose all is that is made, by the ID of a user and a group, and by whose rights: see [process.CheckUsers]. Zero is the user
	// of this process.
	Owner int
	// Protect is what is refused beside Deny.
	Protect Protection
	// Left, when set, is called with each temporary file that was left, because it could not
	// be removed. It must not block.
	Left func(path string, err error)
}

// A Guard opens files under [Rules]. It is immutable and safe for concurrent use.
type Guard struct {
	*policy
	left  func(path string, err error)
	files fileSystem
	swept *sweeps
}

// A policy is [Rules] made ready: it decides, and opens nothing.
type policy struct {
	dir           string
	allow, deny   []rule
	denyHardlinks bool
	protection    *protection              // nil if nothing is protected
	current       atomic.Pointer[snapshot] // nil before the first use
}

// New returns a Guard for rules. A relative path given to its methods starts
// at dir, which is absolute and need not exist. The error names the entry that
// is not an absolute path.
func New(dir string, rules Rules) (*Guard, error) {
	if err := validRule("working directory", dir); err != nil {
		return nil, err
	}
	g := &Guard{
		policy: &policy{dir: filepath.Clean(dir), denyHardlinks: rules.DenyHardlinks},
		left:   rules.Left, files: platform(rules.Owner), swept: &sweeps{MaxAge: sweepPause, MaxEntries: maxSweeps},
	}
	if _, simple := g.files.(portable); simple && rules.Owner != 0 {
		return nil, errors.New("files cannot be made for another user here, where openat2(2) cannot be used")
	}
	var err error
	bases := append([]string{g.dir}, rules.Roots...)
	if g.allow, err = newEntries("allowed path", rules.Allow, g.dir, bases, nil, strings.Clone); err != nil {
		return nil, err
	}
	var further []string
	for _, r := range g.allow {
		if !slices.ContainsFunc(bases, func(base string) bool { return Within(base, r.text) }) {
			further = append(further, r.text)
		}
	}
	if g.deny, err = newEntries("denied path", rules.Deny, g.dir, bases, further, foldPath); err != nil {
		return nil, err
	}
	g.protection, err = newProtection(rules.Protect)
	return g, err
}

// With returns a Guard that allows canonical paths, too. What is denied or protected
// stays so, and a link that is put in the place of such a path is not followed.
func (g *Guard) With(paths ...string) *Guard {
	more := &policy{dir: g.dir, allow: slices.Clone(g.allow), deny: g.deny, denyHardlinks: g.denyHardlinks, protection: g.protection}
	for _, path := range paths {
		more.allow = append(more.allow, rule{text: path, real: path})
	}
	return &Guard{more, g.left, g.files, g.swept}
}

func validRule(what, path string) error {
	if err := validPath(what, path); err != nil || filepath.IsAbs(path) {
		return err
	}
	return fmt.Errorf("the %s %q is not absolute: give a path that starts at the root", what, path)
}

func validPath(what, path string) error {
	switch {
	case path == "":
		return fmt.Errorf("the %s is empty: give one, such as . for the working directory", what)
	case strings.IndexByte(path, 0) >= 0:
		return fmt.Errorf("the %s %q contains a NUL byte", what, path)
	case len(path) > maxPath:
		return fmt.Errorf("the %s %.40q... is longer than %d bytes", what, path, maxPath)
	}
	return nil
}

// Allowed returns the allowed paths, and the globs as they were configured.
func (p *policy) Allowed() []string { return p.list((*rule).shown) }

// AllowedBelow returns the allowed paths, and the directories below which globs match.
func (p *policy) AllowedBelow() []string { return p.list(func(r *rule) string { return r.text }) }

func (p *policy) list(text func(*rule) string) []string {
	paths := make([]string, len(p.allow))
	for i := range p.allow {
		paths[i] = text(&p.allow[i])
	}
	return slices.Compact(paths)
}

// Decision is the answer of [Guard.Check].
type Decision struct {
	Allowed bool
	// Rule is the entry that decides, as the rules spell it: the allowed
	// path that holds the file, or the denied one. It is empty if the path
	// is outside all of them.
	Rule string
	// Resolved is the canonical path the request leads to. It tells where
	// links outside the allowed paths lead, so it is for the person who
	// wrote the rules and not for a model that is governed by them.
	Resolved string
	// Reason is one sentence for people.
	Reason string
}

// Check says what the rules make of path without opening it. The answer is
// about the moment of the call; the other methods check again what they open.
// The error is an [*Error] of KindInvalidPath.
func (g *Guard) Check(path string) (Decision, error) { return g.check(path, false) }

// CheckName is [Guard.Check] for what changes names: a symlink at the end of path is meant
// itself.
func (g *Guard) CheckName(path string) (Decision, error) { return g.check(path, true) }

func (g *Guard) check(path string, itself bool) (Decision, error) {
	q, err := g.request(path)
	if err != nil {
		return Decision{}, err
	}
	q.itself = itself
	s := g.snapshot(true)
	t, by, err := s.target(q)
	if err == nil && t.err == nil {
		// What cannot be looked at cannot be opened: the decision is about the path.
		if info, statErr := os.Lstat(t.path); statErr == nil && info.Mode().IsRegular() {
			err = s.suits(wantFile, Info{t.path, osfile.Of(info)})
		}
	}
	if err == nil {
		return Decision{
			Allowed: true, Rule: by.shown(), Resolved: t.path,
			Reason: shown(path) + " is allowed by the rule " + by.shown(),
		}, nil
	}
	refusal, _ := errors.AsType[*Error](q.failure(err))
	return Decision{Rule: refusal.Rule, Resolved: q.resolve().path, Reason: refusal.Error()}, nil
}

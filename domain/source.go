package domain

import (
	"context"
	"slices"
	"sync"
)

// A Source offers tools, resources and prompts: a family of built-in tools, an
// upstream server. What it offers may change at any time.
type Source interface {
	// Name identifies the source; it does not change.
	Name() string
	// Offer returns what the source offers now. It returns at once, and may be
	// called before OnChange.
	Offer() Offer
	// OnChange has changed called whenever Offer has something else to return.
	// It is called once, before anything the source offers is used; changed must
	// not be called from within Offer or OnChange.
	OnChange(changed func())
	// Close releases what the source holds. It is called once, when the source
	// has been removed and no call in flight uses what it offered.
	Close() error
}

// A Looker is a Source that looks what it offers when somebody asks for it.
type Looker interface {
	// Look returns when that is known, or ctx ends. What has secrets is not offered.
	Look(ctx context.Context, secrets []string)
}

// Offer is what a source offers. Items that are not valid, or whose name
// another source has taken, are left out with a reason; see [Catalog.Missing].
type Offer struct {
	Tools     []Tool
	Resources []Resource
	Prompts   []Prompt
	Skills    []Skill
	// Look returns further skills, which it finds when somebody asks for them; nil if there are none. It is not called concurrently.
	Look func(secrets []string) ([]Skill, []Missing)
	// Missing are items the source would offer but cannot, with the reason.
	Missing []Missing
	// Unknown says, as a clause, why the source does not know yet what it offers, "" if it does. Who asks for it waits for [Looker].
	Unknown string
	// Open says that the source may offer items later whose names are not known
	// yet, so settings for unknown names are no mistake.
	Open bool
}

// Kind is a kind of item that clients can list.
type Kind string

// The kinds of items.
const (
	KindTool     Kind = "tool"
	KindResource Kind = "resource"
	KindPrompt   Kind = "prompt"
	KindSkill    Kind = "skill"
)

// Missing is an item that is not offered, and why.
type Missing struct {
	Kind     Kind   `json:"kind"`
	Name     string `json:"name"`
	Category string `json:"category,omitempty"` // of a tool
	Source   string `json:"source"`
	Reason   string `json:"reason"`            // a clause: "needs the environment variable X"
	Mistake  bool   `json:"mistake,omitempty"` // its source offers it, but it is not valid or its name is taken
}

// Joined returns missing items as one for each reason, whose name lists theirs.
func Joined(list []Missing) (joined []Missing) {
	for _, m := range list {
		i := slices.IndexFunc(joined, func(j Missing) bool {
			return j.Kind == m.Kind && j.Source == m.Source && j.Reason == m.Reason && j.Mistake == m.Mistake
		})
		if i >= 0 {
			joined[i].Name += ", " + m.Name
		} else {
			joined = append(joined, m)
		}
	}
	return joined
}

// fixedSource offers the same all the time, and what it finds.
type fixedSource struct {
	name  string
	offer Offer
	close func() error

	looking chan struct{} // has room for the one who looks

	mu      sync.Mutex
	found   Offer
	changed func()
}

// FixedSource returns a source whose offer never changes, except for what it looks for. Close, which may be
// nil, releases what the offered items hold.
func FixedSource(name string, offer Offer, close func() error) Source {
	return &fixedSource{name: name, offer: offer, close: close, looking: make(chan struct{}, 1), changed: func() {}}
}

func (s *fixedSource) Name() string { return s.name }

func (s *fixedSource) Offer() Offer {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.offer
	o.Skills, o.Missing = slices.Concat(o.Skills, s.found.Skills), slices.Concat(o.Missing, s.found.Missing)
	return o
}

func (s *fixedSource) OnChange(changed func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = changed
}

// Look looks for skills. Where that takes longer than ctx, as on a file system that hangs, it goes on, and who looks next waits.
func (s *fixedSource) Look(ctx context.Context, secrets []string) {
	if s.offer.Look == nil {
		return
	}
	select {
	case s.looking <- struct{}{}:
	case <-ctx.Done():
		return
	}
	done := make(chan struct{})
	go func() {
		defer func() { <-s.looking; close(done) }()
		s.look(secrets)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

func (s *fixedSource) look(secrets []string) {
	var now Offer
	now.Skills, now.Missing = s.offer.Look(secrets)
	s.mu.Lock()
	same := slices.EqualFunc(now.Skills, s.found.Skills, func(a, b Skill) bool { return a.looksLike(&b) }) && slices.Equal(now.Missing, s.found.Missing)
	if !same {
		s.found = now
	}
	changed := s.changed
	s.mu.Unlock()
	if !same {
		changed()
	}
}

func (s *fixedSource) Close() error {
	if s.close == nil {
		return nil
	}
	return s.close()
}

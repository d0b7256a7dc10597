package domain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// Library holds what clients can have besides tools: resources and prompts. It
// is safe for concurrent use, and reading it takes no lock.
type Library struct {
	now atomic.Pointer[shelf]

	mu      sync.Mutex // held by writers
	watcher func(resources, prompts bool)
}

// shelf is one state of a library. It is not changed once it is published.
type shelf struct {
	resources []*Resource // by key
	prompts   []*Prompt   // by name
	ended     context.Context
	end       context.CancelFunc
}

func newShelf() *shelf {
	s := &shelf{}
	s.ended, s.end = context.WithCancel(context.Background())
	return s
}

// NewLibrary returns an empty library.
func NewLibrary() *Library {
	l := &Library{}
	l.now.Store(newShelf())
	return l
}

// Replace makes these the only resources and prompts there are.
func (l *Library) Replace(resources []Resource, prompts []Prompt) error {
	next := newShelf()
	for _, r := range resources {
		if err := r.check(); err != nil {
			return err
		}
		next.resources = append(next.resources, &r)
	}
	for _, p := range prompts {
		if err := p.check(); err != nil {
			return err
		}
		next.prompts = append(next.prompts, &p)
	}
	slices.SortFunc(next.resources, func(a, b *Resource) int { return cmp.Compare(a.key(), b.key()) })
	slices.SortFunc(next.prompts, func(a, b *Prompt) int { return cmp.Compare(a.Name, b.Name) })
	for i, r := range next.resources {
		if i > 0 && r.key() == next.resources[i-1].key() {
			return fmt.Errorf("resource %s is there twice", r.key())
		}
	}
	for i, p := range next.prompts {
		if i > 0 && p.Name == next.prompts[i-1].Name {
			return fmt.Errorf("prompt %s is there twice", p.Name)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.now.Swap(next)
	before.end()
	resourcesChanged := !slices.EqualFunc(before.resources, next.resources, (*Resource).looksLike)
	promptsChanged := !slices.EqualFunc(before.prompts, next.prompts, (*Prompt).looksLike)
	if l.watcher != nil && (resourcesChanged || promptsChanged) {
		l.watcher(resourcesChanged, promptsChanged)
	}
	return nil
}

// Replaced returns a context that ends when the library's contents are
// replaced. What was found before then may no longer be for whoever found it.
func (l *Library) Replaced() context.Context { return l.now.Load().ended }

// Contents returns all resources and prompts, whoever may have them.
func (l *Library) Contents() (resources []Resource, prompts []Prompt) {
	now := l.now.Load()
	for _, r := range now.resources {
		resources = append(resources, *r)
	}
	for _, p := range now.prompts {
		prompts = append(prompts, *p)
	}
	return resources, prompts
}

// OnChange has f called after each change that clients can see, with what has
// changed. Calls of f are not concurrent. There is one such function.
func (l *Library) OnChange(f func(resources, prompts bool)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watcher = f
}

// looksLike reports whether r and old are the same to callers.
func (r *Resource) looksLike(old *Resource) bool {
	return r.key() == old.key() && r.Name == old.Name && r.Title == old.Title && r.Description == old.Description &&
		r.MIMEType == old.MIMEType && r.Audience.equal(old.Audience)
}

// looksLike reports whether p and old are the same to callers.
func (p *Prompt) looksLike(old *Prompt) bool {
	return p.Name == old.Name && p.Title == old.Title && p.Description == old.Description && p.Audience.equal(old.Audience) &&
		slices.EqualFunc(p.Arguments, old.Arguments, func(a, b PromptArgument) bool {
			return a.Name == b.Name && a.Description == b.Description && a.Required == b.Required && slices.Equal(a.Values, b.Values)
		})
}

func (a Audience) equal(b Audience) bool {
	return slices.Equal(a.Groups, b.Groups) && a.ComplianceLevel == b.ComplianceLevel && a.Tool == b.Tool
}

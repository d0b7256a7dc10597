package tools

import (
	"reflect"
	"sync"

	"toolserver/domain"
)

// Lasting keeps the tools that know something from call to call: pages,
// conversations, what services said of their limits. A configuration that is read
// anew makes tools anew, but these stay as long as nothing they are made from has
// changed. The zero value is ready to use.
type Lasting struct {
	mu   sync.Mutex
	made map[string]lasting
}

type lasting struct {
	from  any
	tools []domain.Tool
}

// tools returns the tools of a family as they were made from the same before, or
// else new ones.
func (l *Lasting) tools(family string, from any, make func() ([]domain.Tool, error)) ([]domain.Tool, error) {
	if l == nil {
		return make()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if old, ok := l.made[family]; ok && reflect.DeepEqual(old.from, from) {
		return old.tools, nil
	}
	tools, err := make()
	if err != nil {
		return nil, err
	}
	if l.made == nil {
		l.made = map[string]lasting{}
	}
	l.made[family] = lasting{from, tools}
	return tools, nil
}

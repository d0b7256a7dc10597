// Package websearch holds the tool web_search, and the search services it asks: Brave, SearXNG, Tavily and DuckDuckGo.
//
// A service is one file: the type of its settings, which returns its [provider]. It becomes known by being a field of [Options]
// that [Options.all] returns, with its address in [DefaultOptions]. The conformance suite in the tests holds every service to the same behaviour.
package websearch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
)

// Options are the section web.search of the configuration.
type Options struct {
	Providers  []string          `yaml:"providers"`
	Brave      BraveOptions      `yaml:"brave"`
	SearXNG    SearXNGOptions    `yaml:"searxng"`
	Tavily     TavilyOptions     `yaml:"tavily"`
	DuckDuckGo DuckDuckGoOptions `yaml:"duckduckgo"`
}

// DefaultOptions returns the settings of a server that has no file.
func DefaultOptions() Options {
	return Options{
		Brave:      BraveOptions{BaseURL: "https://api.search.brave.com"},
		Tavily:     TavilyOptions{BaseURL: "https://api.tavily.com"},
		DuckDuckGo: DuckDuckGoOptions{BaseURL: "https://lite.duckduckgo.com"},
	}
}

// all returns the services, in the order they are asked if the configuration has none.
func (o *Options) all() []*provider {
	return []*provider{o.Brave.provider(), o.SearXNG.provider(), o.Tavily.provider(), o.DuckDuckGo.provider()}
}

// find returns a service by its name, or nil.
func (o *Options) find(name string) *provider {
	for _, p := range o.all() {
		if p.name == name {
			return p
		}
	}
	return nil
}

// missing says what the service lacks to be used, as a clause; it is empty if nothing is missing.
func (p *provider) missing() string {
	switch {
	case p.key != nil && p.secret() == "":
		return fmt.Sprintf("it needs a key, in %s%s.api_key or in the environment variable %s", section, p.name, p.variable)
	case p.private && p.base == "":
		return fmt.Sprintf("it needs the address of an instance, in %s%s.base_url", section, p.name)
	}
	return ""
}

// mistakes says what is wrong with the settings: a base URL that cannot be used, or a key that no header can carry.
func (p *provider) mistakes() (all []Mistake) {
	if _, err := httpcall.ParseBase(p.base); err != nil {
		all = append(all, Mistake{section + p.name + ".base_url", err.Error()})
	}
	if strings.ContainsFunc(p.secret(), func(r rune) bool { return r <= ' ' || r > '~' }) {
		all = append(all, Mistake{section + p.name + ".api_key", "a key has no spaces, and only characters of ASCII"})
	}
	return all
}

// A Mistake is something in the configuration that cannot be used.
type Mistake struct {
	Key     string // as the configuration has it: web.search.providers[0]
	Problem string // as a clause
}

const section = "web.search."

// Check returns the mistakes in the options: providers that are unknown or named twice, and keys and base URLs that cannot be
// used. No message has a key in it.
func (o Options) Check() (all []Mistake) {
	var known []string
	for _, p := range o.all() {
		known = append(known, p.name)
	}
	for i, name := range o.Providers {
		key := fmt.Sprintf("%sproviders[%d]", section, i)
		switch {
		case !slices.Contains(known, name):
			all = append(all, Mistake{key, fmt.Sprintf("there is no search service %q; known: %s", name, strings.Join(known, ", "))})
		case slices.Index(o.Providers, name) < i:
			all = append(all, Mistake{key, name + " is named twice"})
		}
	}
	for _, p := range o.configured() {
		all = append(all, p.mistakes()...)
	}
	return all
}

// Lacking returns the providers that are named and left out because they lack a key or an address: a file may be shared by
// machines of which some have no key.
func (o Options) Lacking() (all []Mistake) {
	for i, name := range o.Providers {
		if p := o.find(name); p != nil && p.missing() != "" {
			all = append(all, Mistake{fmt.Sprintf("%sproviders[%d]", section, i), name + " is left out: " + p.missing()})
		}
	}
	return all
}

// configured returns the services in force, in the order they are asked. There is no web_search if it is empty.
func (o *Options) configured() (list []*provider) {
	if o.Providers == nil {
		return slices.DeleteFunc(o.all(), func(p *provider) bool { return p.optIn || p.missing() != "" })
	}
	for _, name := range o.Providers {
		if p := o.find(name); p != nil && p.missing() == "" {
			list = append(list, p)
		}
	}
	return list
}

const toolName = "web_search"

// Family returns web_search, which is there if a service is configured. All calls share one limiter for each service.
func Family() declare.Family[Options, chain] {
	return declare.Family[Options, chain]{
		Name: "websearch", Category: declare.Category{Name: "web", Heading: "Web"}, Once: true, Share: connected,
		Tools: []declare.Entry[chain]{{
			Owner: sandbox.Owner{Tool: toolName, Fetches: toolName},
			Lacks: chain.lacks, Make: func(c chain, _ sandbox.Capabilities) domain.Tool { return searchTool(c) },
		}},
	}
}

// lacks says what each of the services would need, if none is configured.
func (c chain) lacks() string {
	if len(c) > 0 {
		return ""
	}
	var variables, addresses, names []string
	for _, p := range new(Options).all() {
		switch {
		case p.key != nil:
			variables = append(variables, p.variable)
		case p.private:
			addresses = append(addresses, section+p.name+".base_url")
		default:
			names = append(names, p.name)
		}
	}
	return fmt.Sprintf("needs a search service: the environment variable %s, %s in the configuration, or %s among web.search.providers",
		strings.Join(variables, " or "), strings.Join(addresses, " or "), strings.Join(names, " or "))
}

// A Key is that of a service.
type Key struct {
	Variable string // of the environment, which may have it
	Path     string // in the configuration
	Value    *string
}

// Keys returns those that services have.
func (o *Options) Keys() (keys []Key) {
	for _, p := range o.all() {
		if p.key != nil {
			keys = append(keys, Key{p.variable, section + p.name + ".api_key", p.key})
		}
	}
	return keys
}

// connected returns the services that are configured. The error is what [Options.Check] finds.
func connected(from declare.From[Options]) (chain, error) {
	var wrong []error
	o := from.Config
	for _, m := range o.Check() {
		wrong = append(wrong, fmt.Errorf("%s: %s", m.Key, m.Problem))
	}
	if wrong != nil {
		return nil, errors.Join(wrong...)
	}
	providers := o.configured()
	for i, p := range providers {
		p.hasNext = i < len(providers)-1
		p.connect(from.Client(toolName))
	}
	return providers, nil
}

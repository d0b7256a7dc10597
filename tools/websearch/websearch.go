// Package websearch holds the tool web_search, and the search services it asks: Brave, SearXNG, Tavily and DuckDuckGo.
//
// A service is one file: the type of its settings, which says what is missing and connects, and a [Provider]. It becomes known
// by being a field of [Options] that [Options.services] returns. The conformance suite in the tests holds every service to the
// same behaviour.
package websearch

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"toolserver/domain"
	"toolserver/sandbox"
	"toolserver/tools/declare"
	"toolserver/tools/httpcall"
)

// Options are the section web.search of the configuration.
type Options struct {
	Providers  []string          `yaml:"providers" doc:"Search services, brave, searxng, tavily or duckduckgo, in the order they are asked: the next one when one fails. Unset: those that are configured, without duckduckgo."`
	Brave      BraveOptions      `yaml:"brave" doc:"The Brave Search API."`
	SearXNG    SearXNGOptions    `yaml:"searxng" doc:"An instance of SearXNG."`
	Tavily     TavilyOptions     `yaml:"tavily" doc:"The Tavily API."`
	DuckDuckGo DuckDuckGoOptions `yaml:"duckduckgo" doc:"DuckDuckGo's page for simple browsers; it needs no key, and is used only where providers names it."`
}

// DefaultOptions returns the settings of a server that has no file.
func DefaultOptions() Options {
	return Options{
		Brave:      BraveOptions{BaseURL: "https://api.search.brave.com"},
		Tavily:     TavilyOptions{BaseURL: "https://api.tavily.com"},
		DuckDuckGo: DuckDuckGoOptions{BaseURL: "https://lite.duckduckgo.com"},
	}
}

// settings are those of one service.
type settings interface {
	// name is how the configuration names the service.
	name() string
	// missing says what the service lacks to be used, as a clause; it is empty if nothing is missing.
	missing() string
	// optIn reports whether the service is used only where it is named.
	optIn() bool
	// mistakes says what is wrong with what there is.
	mistakes() []Mistake
	// connect returns the service. It is called if nothing is missing or wrong.
	connect(*http.Client) Provider
}

// services returns the settings of the services there are, in the order they are asked if the configuration has none.
func (o *Options) services() []settings {
	return []settings{&o.Brave, &o.SearXNG, &o.Tavily, &o.DuckDuckGo}
}

// A Mistake is something in the configuration that cannot be obeyed.
type Mistake struct {
	Key     string // as the configuration has it: web.search.providers[0]
	Problem string // as a clause
}

const section = "web.search."

// Check returns the mistakes in the options: providers that are unknown or named twice, and keys and base URLs that cannot be
// used. No message has a key in it.
func (o Options) Check() []Mistake {
	var all []Mistake
	for i, name := range o.Providers {
		key := fmt.Sprintf("%sproviders[%d]", section, i)
		_, known := o.find(name)
		switch {
		case !known:
			all = append(all, Mistake{key, fmt.Sprintf("there is no search service %q; known: %s", name, strings.Join(o.names(), ", "))})
		case slices.Index(o.Providers, name) < i:
			all = append(all, Mistake{key, name + " is named twice"})
		}
	}
	for _, name := range o.Configured() {
		if s, known := o.find(name); known && s.missing() == "" {
			all = append(all, s.mistakes()...)
		}
	}
	return all
}

// Lacking returns the providers that are named and left out for want of a key or an address: a file that several machines
// share is no mistake on that which has no key.
func (o Options) Lacking() (all []Mistake) {
	for i, name := range o.Providers {
		if s, known := o.find(name); known && s.missing() != "" {
			all = append(all, Mistake{fmt.Sprintf("%sproviders[%d]", section, i), name + " is left out: " + s.missing()})
		}
	}
	return all
}

// Configured returns the names of the services in force, in the order they are asked. There is no web_search if it is empty.
func (o Options) Configured() (names []string) {
	asked := o.Providers
	if asked == nil {
		asked = o.names()
	}
	for _, name := range asked {
		if s, known := o.find(name); known && s.missing() == "" && (o.Providers != nil || !s.optIn()) {
			names = append(names, name)
		}
	}
	return names
}

func (o *Options) find(name string) (settings, bool) {
	for _, s := range o.services() {
		if s.name() == name {
			return s, true
		}
	}
	return nil, false
}

func (o *Options) names() []string {
	var all []string
	for _, s := range o.services() {
		all = append(all, s.name())
	}
	return all
}

const (
	toolName = "web_search"
	category = "web"
)

// Declared returns what web_search declares.
func Declared() declare.Group {
	return declare.Group{Category: category, Heading: "Web", Tools: []declare.Tool{{Owner: sandbox.Owner{Tool: toolName, Fetches: toolName}}}}
}

// Tools returns the tools of the package: web_search, or none if no service is configured. Each service gets one queue, which
// all calls share. The error is what [Options.Check] finds.
func Tools(client func(tool string) *http.Client, o Options) ([]domain.Tool, error) {
	var wrong []error
	for _, m := range o.Check() {
		wrong = append(wrong, fmt.Errorf("%s: %s", m.Key, m.Problem))
	}
	if wrong != nil {
		return nil, errors.Join(wrong...)
	}
	var providers []Provider
	for _, name := range o.Configured() {
		s, _ := o.find(name)
		providers = append(providers, s.connect(client(toolName)))
	}
	if providers == nil {
		return nil, nil
	}
	return []domain.Tool{searchTool(providers)}, nil
}

// checkBase returns what is wrong with a base URL.
func checkBase(service, base string) []Mistake {
	if _, err := httpcall.ParseBase(base); err != nil {
		return []Mistake{{section + service + ".base_url", err.Error()}}
	}
	return nil
}

// checkKey returns what is wrong with a key that is there: something no header can carry. What a file ends with is no part of it.
func checkKey(service, key string) []Mistake {
	if strings.ContainsFunc(strings.TrimSpace(key), func(r rune) bool { return r <= ' ' || r > '~' }) {
		return []Mistake{{section + service + ".api_key", "a key has no spaces, and only characters of ASCII"}}
	}
	return nil
}

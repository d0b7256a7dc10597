// Package websearch holds the tool web_search, and the search services it asks: Brave, SearXNG, Tavily and DuckDuckGo.
//
// A service is one file: the type of its settings, which returns its [service]. It becomes known by being a field of [Options]
// that [Options.services] returns. The conformance suite in the tests holds every service to the same behaviour.
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

// services returns the services there are, in the order they are asked if the configuration has none.
func (o *Options) services() []service {
	return []service{o.Brave.service(), o.SearXNG.service(), o.Tavily.service(), o.DuckDuckGo.service()}
}

// missing says what the service lacks to be used, as a clause; it is empty if nothing is missing.
func (s *service) missing() string {
	switch {
	case s.variable != "" && strings.TrimSpace(s.key) == "":
		return fmt.Sprintf("it needs a key, in %s%s.api_key or in the environment variable %s", section, s.name, s.variable)
	case s.private && s.base == "":
		return fmt.Sprintf("it needs the address of an instance, in %s%s.base_url", section, s.name)
	}
	return ""
}

// mistakes says what is wrong with the settings: a base URL that cannot be used, or a key that no header can carry. What a file
// ends with is no part of the key.
func (s *service) mistakes() (all []Mistake) {
	if _, err := httpcall.ParseBase(s.base); err != nil {
		all = append(all, Mistake{section + s.name + ".base_url", err.Error()})
	}
	if strings.ContainsFunc(strings.TrimSpace(s.key), func(r rune) bool { return r <= ' ' || r > '~' }) {
		all = append(all, Mistake{section + s.name + ".api_key", "a key has no spaces, and only characters of ASCII"})
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

// Lacking returns the providers that are named and left out because they lack a key or an address: a file may be shared by
// machines of which some have no key.
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
		if s, known := o.find(name); known && s.missing() == "" && (o.Providers != nil || !s.optIn) {
			names = append(names, name)
		}
	}
	return names
}

func (o *Options) find(name string) (service, bool) {
	all := o.services()
	i := slices.IndexFunc(all, func(s service) bool { return s.name == name })
	if i < 0 {
		return service{}, false
	}
	return all[i], true
}

func (o *Options) names() []string {
	var all []string
	for _, s := range o.services() {
		all = append(all, s.name)
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

// Tools returns the tools of the package: web_search, or none if no service is configured. All calls share one limiter
// for each service. The error is what [Options.Check] finds.
func Tools(client func(tool string) *http.Client, o Options) ([]domain.Tool, error) {
	var wrong []error
	for _, m := range o.Check() {
		wrong = append(wrong, fmt.Errorf("%s: %s", m.Key, m.Problem))
	}
	if wrong != nil {
		return nil, errors.Join(wrong...)
	}
	var providers []*provider
	for _, name := range o.Configured() {
		s, _ := o.find(name)
		providers = append(providers, s.connect(client(toolName)))
	}
	if providers == nil {
		return nil, nil
	}
	return []domain.Tool{searchTool(providers)}, nil
}

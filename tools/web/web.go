// Package web provides web_fetch, which reads what is at a URL.
package web

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/tools/files/content"
)

// Options are what configuration says of web_fetch.
type Options struct {
	Timeout   time.Duration // of one fetch, redirects and body included; zero means DefaultTimeout
	UserAgent string        // empty for a browser's, since many sites refuse others
	MaxChars  int           // of results, as the operator wants it; zero for the executor's default
}

// DefaultTimeout is how long a fetch may take.
const DefaultTimeout = 30 * time.Second

// overtime is what the executor's clock leaves for making text of a page that
// came at the last moment.
const overtime = 5 * time.Second

// maxArticles is how many calls search pages for their articles at the same time: each holds the tree of its page.
const maxArticles = 4

// A Network is what tools reach the web through.
type Network interface {
	// Client returns a client that follows no redirects.
	Client() *http.Client
	// CheckURL decides on a URL before it is requested.
	CheckURL(ctx context.Context, u *url.URL) error
	// ExplicitlyAllowed reports whether the operator lists the host of a URL.
	ExplicitlyAllowed(u *url.URL) bool
	// Lists identifies the lists of hosts in force.
	Lists() string
}

// Family returns web_fetch.
func Family() declare.Family[Options, Options] {
	return declare.Family[Options, Options]{
		Name: "web", Category: declare.Category{Name: "web", Heading: "Web"}, ByPolicy: true, Share: declare.Config[Options],
		Tools: []declare.Entry[Options]{{
			Owner: sandbox.Owner{Tool: Name, Fetches: Name, AnyHost: true, Filters: content.Programs()},
			Make: func(o Options, c sandbox.Capabilities) domain.Tool {
				return newFetcher(c.Fetcher(), content.NewReader(c.Filters()), o).tool()
			},
		}},
	}
}

func newFetcher(network Network, contents *content.Reader, o Options) *fetcher {
	o.Timeout, o.UserAgent = cmp.Or(o.Timeout, DefaultTimeout), cmp.Or(o.UserAgent, httpcall.UserAgent)
	f := &fetcher{network: network, contents: contents, options: o, articles: semaphore.NewWeighted(maxArticles)}
	f.cache.MaxSize, f.cache.Renew = cacheBytes, true
	f.hosts.MaxEntries, f.hosts.Renew = maxHosts, true
	return f
}

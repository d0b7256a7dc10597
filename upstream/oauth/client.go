// Package oauth signs in to remote upstreams: it is a client of OAuth 2.1 as the Model Context Protocol has it. It finds the
// authorization server of an upstream, registers with it, has people sign in, keeps their grants and refreshes tokens, and adds
// them to the requests that go to the upstream, and to no others.
package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/singleflight"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/outbound/signin"
	"github.com/toolserver/toolserver/sandbox"
)

// Config is what the client of an upstream is made from.
type Config struct {
	Settings Settings
	Upstream string            // its name
	URL      string            // its address
	HTTP     http.RoundTripper // sends all requests, and follows no redirects
	State    *sandbox.State    // keeps grants and registrations
	signin.Host
	// SignedIn is called when a principal has signed in, "" if for all; nil does nothing.
	SignedIn func(principal string)
	// Patience is how long a sign-in waits for a person; 0 means 10 minutes.
	Patience time.Duration
	// Linger is how long the pages of a sign-in stay for second tabs; 0 means 3 seconds.
	Linger time.Duration
	Now    func() time.Time // nil for the clock
	Log    *zap.Logger      // may be nil
}

// Client holds the grants for one upstream. It is safe for concurrent use, also by several processes with the same state.
type Client struct {
	config   Config
	settings Settings
	base     *url.URL // of the upstream
	origin   string   // of base
	key      signer
	desk     *signin.Desk
	grants   *signin.Grants[grant]
	clients  *signin.Grants[registration] // that are registered, by [Client.name]
	now      func() time.Time
	log      *zap.Logger
	answer   time.Duration // bounds a request to an authorization server, body included

	flights singleflight.Group // requests for tokens, documents and sign-ins that callers share

	mu        sync.Mutex
	documents map[string]document
	nonces    map[string]string // for proofs, by origin
	secrets   []string          // that were seen, the newest last
}

// Bounds of what is kept in memory.
const (
	maxDocuments = 64
	maxSecrets   = 256
)

// New returns the client of an upstream. It sends and reads nothing yet. The error is of the settings or the address.
func New(config Config) (*Client, error) {
	c := &Client{
		config: config, settings: config.Settings, now: config.Now, log: config.Log, answer: 15 * time.Second,
		documents: map[string]document{}, nonces: map[string]string{},
	}
	if err := c.settings.Validate(); err != nil {
		return nil, fmt.Errorf("oauth: %w", err)
	}
	var err error
	if c.base, err = url.Parse(config.URL); err != nil || c.base.Host == "" {
		return nil, fmt.Errorf("%.200q is no address of an upstream", config.URL)
	}
	if _, ok := c.trusted((&url.URL{Scheme: c.base.Scheme, Host: c.base.Host}).String()); !ok {
		return nil, fmt.Errorf("oauth requires an https address of the upstream: a token would be sent unencrypted to %s", c.base.Host)
	}
	c.origin = origin(c.base)
	if c.settings.PrivateKey != "" {
		if c.key, err = parseKey(c.settings.PrivateKey, c.settings.SigningAlgorithm); err != nil {
			return nil, err
		}
	}
	if c.now == nil {
		c.now = time.Now
	}
	if c.log == nil {
		c.log = zap.NewNop()
	}
	c.grants = c.newGrants()
	c.clients = &signin.Grants[registration]{
		Store:  signin.NewStore(signin.StoreConfig{State: c.config.State, Forget: c.logout()}),
		Entry:  func(name string) signin.Entry { return signin.Entry{Name: name, Title: "upstream " + config.Upstream} },
		Opened: func(_ string, r *registration) error { c.hide(r.Secret); return nil },
	}
	c.desk = signin.New(signin.Config{
		For: config.Upstream, Paste: c.login() + " --paste", Host: config.Host, Patience: config.Patience, Linger: config.Linger,
	})
	return c, nil
}

// Close ends the sign-ins that wait, and waits until their pages are delivered. Grants can still be used.
func (c *Client) Close() error { return c.desk.Close() }

// login is the command that signs in, logout the one that forgets it.
func (c *Client) login() string  { return "toolserver upstream login " + c.config.Upstream }
func (c *Client) logout() string { return "toolserver upstream logout " + c.config.Upstream }

// owner is whose grant it is: empty for the one that all principals share.
type owner string

// everyone is the owner of a grant that all principals share.
const everyone owner = ""

// ownerOf returns whose grant a principal uses. Without a principal there is none where each has their own.
func (c *Client) ownerOf(principal string) (owner, error) {
	switch {
	case !c.settings.PerPrincipal:
		return everyone, nil
	case principal == "":
		return "", fmt.Errorf("upstream %s requires a sign-in of each caller, and this request has none", c.config.Upstream)
	}
	return owner(principal), nil
}

// name returns what is kept for an upstream under: nothing of what callers or servers are called is in it.
func (c *Client) name(kind, whose string) string {
	sum := sha256.Sum256([]byte(c.config.Upstream + "\x00" + whose))
	return kind + "-" + hex.EncodeToString(sum[:])[:40]
}

// principalIn returns the principal of the call that a context belongs to.
func principalIn(ctx context.Context) string { return domain.SessionOf(ctx).Principal.ID }

// hide remembers a secret that must not be shown.
func (c *Client) hide(secrets ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range secrets {
		if s != "" && !slices.Contains(c.secrets, s) {
			c.secrets = append(c.secrets, s)
		}
	}
	c.secrets = slices.Delete(c.secrets, 0, max(0, len(c.secrets)-maxSecrets))
}

// Secrets returns what must be redacted wherever text of the upstream or its authorization server is shown: the secrets of the
// settings, and the tokens and client secrets that were used lately.
func (c *Client) Secrets() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Clone(c.secrets)
	for _, s := range []string{c.settings.ClientSecret, c.settings.PrivateKey, c.settings.IdentityProvider.ClientSecret} {
		if s != "" {
			all = append(all, s)
		}
	}
	return all
}

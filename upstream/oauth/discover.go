package oauth

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/toolserver/toolserver/domain/share"
	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/outbound/signin"
)

// documentLife is how long a document is used without asking for it again.
const documentLife = 10 * time.Minute

// protectedResource is what an upstream says of itself (RFC 9728).
type protectedResource struct {
	Resource string   `json:"resource"`
	Issuers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`

	metadata string // where it was found; empty if the upstream has none
}

// authorizationServer is what an authorization server says of itself (RFC 8414, OpenID Connect Discovery).
type authorizationServer struct {
	Issuer        string   `json:"issuer"`
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	Registration  string   `json:"registration_endpoint"`
	Revocation    string   `json:"revocation_endpoint"`
	Scopes        []string `json:"scopes_supported"`
	Responses     []string `json:"response_types_supported"`
	Grants        []string `json:"grant_types_supported"`
	Methods       []string `json:"token_endpoint_auth_methods_supported"`
	Challenges    []string `json:"code_challenge_methods_supported"`
	Proofs        []string `json:"dpop_signing_alg_values_supported"`
	NamesIssuer   bool     `json:"authorization_response_iss_parameter_supported"`
	Documents     bool     `json:"client_id_metadata_document_supported"`
}

// discovery finds out where an upstream has people sign in, and keeps what it found for a while.
type discovery struct {
	*requester
	flights   singleflight.Group
	documents share.Store[string, any]
}

// maxDocuments bounds what is kept in memory.
const maxDocuments = 64

// resource returns what the upstream says of itself. Metadata is the address that a challenge names, or empty; then the
// well-known addresses are tried. A document that is not fresh may be some minutes old.
func (d *discovery) resource(ctx context.Context, metadata string, fresh bool) (protectedResource, error) {
	return cached(ctx, d, "resource "+metadata, fresh, func(ctx context.Context) (protectedResource, error) {
		if metadata != "" {
			return d.resourceAt(ctx, metadata)
		}
		root := wellKnown(&url.URL{Scheme: d.base.Scheme, Host: d.base.Host}, "oauth-protected-resource")
		places := slices.Compact([]string{wellKnown(d.base, "oauth-protected-resource"), root})
		for _, place := range places {
			found, err := d.resourceAt(ctx, place)
			if err == nil || !missing(err) {
				return found, err
			}
		}
		issuer := d.settings.Issuer
		if issuer == "" { // in protocol version 2025-03-26 the upstream is its own, at the root
			root := d.base.Scheme + "://" + d.base.Host
			if _, err := d.server(ctx, root, fresh); err == nil {
				issuer = root
			}
		}
		if issuer != "" {
			return protectedResource{Resource: d.identifier().String(), Issuers: []string{issuer}}, nil
		}
		return protectedResource{}, d.refused("it has no protected resource metadata that names its authorization server",
			"Set issuer in the section oauth of the upstream, or use headers if it has no OAuth.")
	})
}

// identifier returns what the upstream is called as a resource, if it does not say so itself.
func (d *discovery) identifier() *url.URL {
	if d.settings.Resource != "" {
		u, _ := url.Parse(d.settings.Resource) // was validated
		return u
	}
	u := *d.base
	u.Fragment, u.User, u.Scheme, u.Host = "", nil, strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	u.Path = strings.TrimSuffix(u.Path, "/")
	u.RawPath = strings.TrimSuffix(u.RawPath, "/")
	return &u
}

// resourceAt returns the metadata at an address, which must be that of the upstream: tokens for another resource are of use to
// others.
func (d *discovery) resourceAt(ctx context.Context, address string) (protectedResource, error) {
	var found protectedResource
	if err := d.fetch(ctx, address, &found); err != nil {
		return found, err
	}
	found.metadata = address
	u, err := url.Parse(found.Resource)
	switch {
	case found.Resource == "" || err != nil || u.Host == "" || u.Fragment != "":
		return found, d.refused("its protected resource metadata has no resource", reportUpstream)
	case d.settings.Resource != "" && found.Resource != d.settings.Resource, d.settings.Resource == "" && !covers(u, d.base):
		return found, d.refused("its protected resource metadata is of another resource, "+clean(found.Resource),
			"If that is right, set resource in the section oauth of the upstream.")
	case len(found.Issuers) == 0 && d.settings.Issuer == "":
		return found, d.refused("its protected resource metadata names no authorization server", "Set issuer in the section oauth of the upstream.")
	case len(found.Issuers) == 0:
		found.Issuers = []string{d.settings.Issuer}
	}
	return found, nil
}

// issuer returns the authorization server of a resource: the one of the settings, if there is one, or of a grant that the
// resource still names, or the first.
func (d *discovery) issuer(r protectedResource, g *grant) (string, error) {
	switch {
	case d.settings.Issuer != "" && !r.named(d.settings.Issuer):
		return "", d.refused("it no longer names the authorization server "+clean(d.settings.Issuer)+", but "+clean(r.Issuers[0]),
			"If that is right, change issuer, client_id and client_secret in the section oauth of the upstream.")
	case d.settings.Issuer != "":
		return d.settings.Issuer, nil
	case g != nil && r.named(g.Issuer):
		return g.Issuer, nil
	}
	return r.Issuers[0], nil
}

// server returns what an authorization server says of itself.
func (d *discovery) server(ctx context.Context, issuer string, fresh bool) (authorizationServer, error) {
	return cached(ctx, d, "server "+issuer, fresh, func(ctx context.Context) (authorizationServer, error) {
		u, ok := d.trusted(issuer)
		if !ok || u.RawQuery != "" {
			return authorizationServer{}, d.untrusted(issuer)
		}
		var absent, wrong error
		for _, place := range serverPlaces(u) {
			found, err := d.serverAt(ctx, issuer, place)
			switch {
			case err == nil:
				return found, nil
			case ctx.Err() != nil:
				return found, ctx.Err()
			case missing(err):
				absent = cmp.Or(absent, err)
			default:
				wrong = cmp.Or(wrong, err)
			}
		}
		if wrong != nil {
			return authorizationServer{}, wrong
		}
		return authorizationServer{}, d.refused("its authorization server "+clean(issuer)+" has no metadata: "+absent.Error(),
			"Check issuer, or report it to whoever runs the upstream.")
	})
}

// serverPlaces returns where the metadata of an authorization server may be, in the order in which they are tried.
func serverPlaces(issuer *url.URL) []string {
	places := []string{wellKnown(issuer, "oauth-authorization-server"), wellKnown(issuer, "openid-configuration")}
	if path := strings.TrimSuffix(issuer.EscapedPath(), "/"); path != "" {
		places = append(places, issuer.Scheme+"://"+issuer.Host+path+"/.well-known/openid-configuration")
	}
	return places
}

// serverAt returns the metadata at an address, which must be that of the issuer: otherwise one server could pose as another.
func (d *discovery) serverAt(ctx context.Context, issuer, address string) (authorizationServer, error) {
	var found authorizationServer
	if err := d.fetch(ctx, address, &found); err != nil {
		return found, err
	}
	if !sameIssuer(found.Issuer, issuer) {
		return found, d.refused("the metadata of its authorization server "+clean(issuer)+" is of another issuer, "+clean(found.Issuer), reportUpstream)
	}
	for _, endpoint := range []string{found.Authorization, found.Token, found.Registration, found.Revocation} {
		if _, ok := d.trusted(endpoint); endpoint != "" && !ok {
			return found, d.untrusted(endpoint)
		}
	}
	if found.Token == "" {
		return found, d.refused("its authorization server "+clean(issuer)+" has no token endpoint", reportUpstream)
	}
	return found, nil
}

// missing reports whether an error is that there is no document at an address.
func missing(err error) bool {
	f, ok := errors.AsType[*httpcall.Failure](err)
	return ok && f.Status >= 300 && f.Status < 500
}

// cached returns a document of the last minutes, or fetches it once for all who ask for it at the same time.
func cached[T any](ctx context.Context, d *discovery, key string, fresh bool, fetch func(context.Context) (T, error)) (T, error) {
	if known, ok := d.documents.Get("", key); ok && !fresh {
		return known.(T), nil
	}
	return signin.Shared(ctx, &d.flights, key, func(ctx context.Context) (T, error) {
		value, err := fetch(ctx)
		if d.documents.Take("", key); err == nil {
			d.documents.Put("", key, value, 0)
		}
		return value, err
	})
}

// probe returns the challenge of the upstream.
func (d *discovery) probe(ctx context.Context) (challenge, error) {
	ctx, cancel := context.WithTimeout(ctx, d.answer)
	defer cancel()
	message := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.base.String(), bytes.NewReader(message))
	if err != nil {
		return challenge{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := d.http.RoundTrip(req)
	if err != nil {
		return challenge{}, httpcall.Explain(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized {
		return challenge{}, nil // it may require a token only for some requests
	}
	said, _ := challengeOf(res.Header)
	return said, nil
}

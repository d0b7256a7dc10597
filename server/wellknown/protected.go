package wellknown

import (
	"net/http"
	"net/url"
	"strings"
)

// ProtectedPath is where the metadata of a protected resource is, before its own path (RFC 9728, section 3).
const ProtectedPath = "/.well-known/oauth-protected-resource"

// Protected is what OAuth clients have to know of an endpoint to sign in.
type Protected struct {
	Name          string   // of the server
	Endpoint      *url.URL // public
	Issuers       []string // authorization servers, by their identifiers
	Scopes        []string // that clients ask for at first
	ScopePrefix   string   // which they have where they are asked for, and not in tokens
	Documentation string   // address of a page for people; empty for none
	Proofs        []string // algorithms with which clients may prove that they have the key of a token; nil if they cannot
	Binds         bool     // every token has to be bound to a key
}

// Endpoint returns the public address of the endpoint at a path, nil without a public address.
func Endpoint(public, path string) *url.URL {
	u, err := url.Parse(public)
	if public == "" || err != nil {
		return nil
	}
	if prefix := strings.TrimSuffix(u.Path, "/"); !strings.HasPrefix(path+"/", prefix+"/") { // which a proxy takes away
		path = prefix + path
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: path}
}

// Resource returns what tokens for the endpoint at a path are issued for: its public address without a slash at the end; empty
// without a public address.
func Resource(public, path string) string {
	if u := Endpoint(public, path); u != nil {
		return canonical(u)
	}
	return ""
}

func canonical(u *url.URL) string {
	return strings.TrimSuffix((&url.URL{Scheme: strings.ToLower(u.Scheme), Host: strings.ToLower(u.Host), Path: u.Path}).String(), "/")
}

// Metadata returns the address of the metadata.
func (p *Protected) Metadata() string {
	return p.Endpoint.Scheme + "://" + p.Endpoint.Host + ProtectedPath + strings.TrimSuffix(p.Endpoint.EscapedPath(), "/")
}

// Asked returns scopes as clients ask for them.
func (p *Protected) Asked(scopes []string) (all []string) {
	for _, scope := range scopes {
		switch scope {
		case "openid", "offline_access", "email", "profile": // which OpenID Connect defines
		default:
			if !strings.HasPrefix(scope, p.ScopePrefix) {
				scope = p.ScopePrefix + scope
			}
		}
		all = append(all, scope)
	}
	return all
}

// ServeHTTP serves the metadata to everybody.
func (p *Protected) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	document("application/json", struct {
		Resource      string   `json:"resource"`
		Issuers       []string `json:"authorization_servers"`
		Scopes        []string `json:"scopes_supported,omitempty"`
		Methods       []string `json:"bearer_methods_supported"`
		Name          string   `json:"resource_name"`
		Documentation string   `json:"resource_documentation,omitempty"`
		Proofs        []string `json:"dpop_signing_alg_values_supported,omitempty"`
		Binds         bool     `json:"dpop_bound_access_tokens_required,omitempty"`
	}{canonical(p.Endpoint), p.Issuers, p.Asked(p.Scopes), []string{"header"}, p.Name, p.Documentation,
		p.Proofs, p.Binds}, "MCP-Protocol-Version")(w, r)
}

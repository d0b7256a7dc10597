package oauth

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// isLoopback reports whether an address is of this machine.
func isLoopback(u *url.URL) bool {
	host := strings.ToLower(u.Hostname())
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	return host == "localhost"
}

// origin returns the scheme, host and port of an address in one form.
func origin(u *url.URL) string {
	scheme, port := strings.ToLower(u.Scheme), u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[scheme]
	}
	return scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// trusted parses an address that a server names. It must be https: http only on this machine, and only if the upstream is there,
// too, so that a remote one cannot have requests sent here.
func (r *requester) trusted(address string) (*url.URL, bool) {
	u, err := url.Parse(address)
	ok := err == nil && u.Host != "" && u.User == nil && u.Fragment == "" && u.Opaque == "" &&
		(u.Scheme == "https" || u.Scheme == "http" && isLoopback(u) && isLoopback(r.base))
	return u, ok
}

// covers reports whether a resource identifier is that of an address, or of a parent of it.
func covers(resource, address *url.URL) bool {
	if origin(resource) != origin(address) || resource.RawQuery != "" && resource.RawQuery != address.RawQuery {
		return false
	}
	parent, path := strings.TrimSuffix(resource.EscapedPath(), "/"), strings.TrimSuffix(address.EscapedPath(), "/")
	return path == parent || strings.HasPrefix(path, parent+"/")
}

// wellKnown returns the address of a well-known document of an identifier: its path follows the name of the document (RFC 8414,
// RFC 9728).
func wellKnown(u *url.URL, name string) string {
	return u.Scheme + "://" + u.Host + "/.well-known/" + name + strings.TrimSuffix(u.EscapedPath(), "/")
}

// sameIssuer reports whether two issuer identifiers are of one authorization server: they are equal except for one slash at the end,
// with which many servers name themselves and are not named. RFC 8414 compares them as they are; but with and without that slash
// their metadata has the same address (section 3.1), so whoever controls the one controls the other. The iss of an answer is
// compared exactly, with how the server's own metadata names it, as the protocol demands.
func sameIssuer(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }

// named reports whether an issuer is among those that a resource names.
func (r protectedResource) named(issuer string) bool {
	return slices.ContainsFunc(r.Issuers, func(i string) bool { return sameIssuer(i, issuer) })
}

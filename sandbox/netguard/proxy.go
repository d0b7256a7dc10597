package netguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// ParseProxy reads the URL of a proxy: http, https or socks5. The error does not repeat it, as it may have a password in it.
func ParseProxy(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme):
		return nil, errors.New("must be the URL of a proxy with http, https or socks5, such as http://proxy.lan:3128")
	case u.Hostname() == "" || u.Port() != "" && !validPort(u.Port()):
		return nil, errors.New("the URL of the proxy has no host, or a port that is none")
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("the URL of the proxy has more than scheme, user, host and port")
	}
	name := u.Hostname()
	if !strings.Contains(name, ":") { // an IPv6 address is canonical
		if name, err = Canonical(name); err != nil {
			return nil, fmt.Errorf("the proxy cannot be reached: %w", err)
		}
	}
	setHost(u, name)
	return u, nil
}

// A ProxyError says that the proxy did not connect to a host.
type ProxyError struct{ Err error }

func (e *ProxyError) Error() string { return "the proxy: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *ProxyError) Unwrap() error { return e.Err }

// proxyFor returns the proxy for a request, nil for a host that policy lists: it is private, so that it is on this side of the proxy.
func (g *Guard) proxyFor(req *http.Request) (*url.URL, error) {
	if g.ExplicitlyAllowed(req.URL) {
		return nil, nil
	}
	return g.options.Proxy, nil
}

// dialOrProxy is [Guard.Dial], except to the proxy, which may be where the operator says.
func (g *Guard) dialOrProxy(ctx context.Context, network, address string) (net.Conn, error) {
	if proxy := g.options.Proxy; address != net.JoinHostPort(proxy.Hostname(), strconv.Itoa(int(PortOf(proxy)))) {
		return g.Dial(ctx, network, address)
	}
	conn, err := g.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, &ProxyError{err}
	}
	return conn, nil
}

// connected reports that an HTTP proxy refused a connection.
func connected(_ context.Context, _ *url.URL, _ *http.Request, res *http.Response) error {
	if res.StatusCode != http.StatusOK {
		return &ProxyError{fmt.Errorf("HTTP %d %s", res.StatusCode, http.StatusText(res.StatusCode))}
	}
	return nil
}

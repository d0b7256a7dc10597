package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/toolserver/toolserver/keyring"
	"github.com/toolserver/toolserver/osfile"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/server"
)

// Certificate returns the certificate for HTTPS, nil if none is configured. One that no
// client accepts today is an error.
func (l *Loaded) Certificate() (*tls.Certificate, error) {
	pair := l.Server.TLS
	if pair.Cert == "" {
		return nil, nil
	}
	cert, err := os.ReadFile(pair.Cert)
	if err != nil {
		return nil, l.Mistake("server.tls.cert", "%v", err)
	}
	key, err := os.ReadFile(pair.Key)
	if err != nil {
		return nil, l.Mistake("server.tls.key", "%v", err)
	}
	both, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, l.Mistake("server.tls", "%s with %s: %s", pair.Cert, pair.Key, strings.TrimPrefix(err.Error(), "tls: "))
	}
	switch now := time.Now(); {
	case now.After(both.Leaf.NotAfter):
		return nil, l.Mistake("server.tls.cert", "%s expired on %s; renew it", pair.Cert, both.Leaf.NotAfter.Format(time.DateOnly))
	case now.Before(both.Leaf.NotBefore):
		return nil, l.Mistake("server.tls.cert", "%s is not valid before %s; check the clock of this machine", pair.Cert, both.Leaf.NotBefore.Format(time.RFC3339))
	}
	return &both, nil
}

// ClientCAs returns who vouches for certificates of clients, nil if none are asked for.
func (l *Loaded) ClientCAs() (*x509.CertPool, error) {
	if l.Server.TLS.ClientCA == "" {
		return nil, nil
	}
	pool, err := osfile.Authorities(l.Server.TLS.ClientCA)
	if err != nil {
		return nil, l.Mistake("server.tls.client_ca", "%v", err)
	}
	return pool, nil
}

// Keys returns the keys that this server shares with other replicas, nil if none are configured.
func Keys(l *Loaded) (*keyring.Ring, error) {
	if len(l.Server.Keys) == 0 {
		return nil, nil
	}
	var keys []keyring.Key
	for i, k := range l.Server.Keys {
		at := fmt.Sprintf("server.keys[%d]", i)
		if k.ID == "" || slices.ContainsFunc(keys, func(before keyring.Key) bool { return before.ID == k.ID }) {
			return nil, l.Mistake(at+".id", "each key needs a name that no other has, not %q", k.ID)
		}
		secret, err := os.ReadFile(k.File)
		if err == nil {
			err = keyring.CheckSecret(secret)
		}
		if err != nil {
			return nil, l.Mistake(at+".file", "%v", err)
		}
		keys = append(keys, keyring.Key{ID: k.ID, Secret: secret})
	}
	return keyring.New(keys), nil
}

// checkStore reports what is wrong with what replicas share.
func checkStore(l *Loaded) error {
	if l.Store.URL != "" && len(l.Server.Keys) == 0 {
		return l.Mistake("store.url", "replicas that share a store need the same server.keys: what they keep there is sealed")
	}
	return nil
}

// CheckApprovals reports what is wrong with how people elsewhere are asked.
func CheckApprovals(l *Loaded) error {
	w := l.Approvals.Webhook
	key, err := w.Key()
	switch {
	case !l.Approvals.Enabled && (len(l.Approvals.Second) > 0 || w.URL != ""):
		return l.Mistake("approvals", "nobody is asked: set enabled: true, or remove the other settings")
	case err == nil && key == nil && w.URL != "" && w.Format == "json":
		err = errors.New("what is sent as JSON is signed: name a file with a secret, such as that of openssl rand -hex 32")
	}
	if err != nil {
		return l.Mistake("approvals.webhook.secret_file", "%v", err)
	}
	return nil
}

// parsePrefix reads an address, or a range of them such as 10.0.0.0/8.
func parsePrefix(text string) (netip.Prefix, error) {
	if ip, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(ip, ip.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return p, fmt.Errorf("%q is neither an address nor a range of them; write one such as 10.0.0.0/8", text)
	}
	return p, nil
}

// Unsafe returns why people who sign in, or have a workspace each, must not be served on an address under the configuration.
func Unsafe(l *Loaded, address string) error {
	switch {
	case len(l.Auth.Issuers) == 0 && len(l.Profiles) == 0:
	case l.Sandbox.Enforcement == sandbox.EnforceParseOnly:
		return l.Mistake("sandbox.enforcement", "parse_only does not keep people apart: the kernel has to confine their commands")
	case address != "" && !server.IsLoopback(address) && l.Server.TLS.Cert == "" && len(l.Server.TrustedProxies) == 0:
		return l.Mistake("server.http", "tokens would go over the network as they are: set server.tls, "+
			"or name the proxy that has the certificate in server.trusted_proxies")
	}
	return nil
}

// CheckAddress reports what is wrong with an address to serve HTTP on. None is stdio.
func CheckAddress(text string) error {
	if text == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return fmt.Errorf("%q is not an address to serve on; write HOST:PORT, such as 127.0.0.1:8080", text)
	}
	return nil
}

// ForeignAddress reports whether an address to serve HTTP on is that of another machine:
// no interface of this one has it.
func ForeignAddress(text string) bool {
	host, _, _ := net.SplitHostPort(text)
	ip := net.ParseIP(host)
	if ip == nil || ip.IsUnspecified() || ip.IsLoopback() {
		return false
	}
	all, err := net.InterfaceAddrs()
	return err == nil && !slices.ContainsFunc(all, func(a net.Addr) bool {
		of, ok := a.(*net.IPNet)
		return ok && of.IP.Equal(ip)
	})
}

// checkOrigin checks an origin as browsers send it: requests are compared with it byte
// by byte.
func checkOrigin(text string) error {
	u, err := url.Parse(text)
	switch {
	case text == "null":
		return nil // of pages that are files, or sandboxed
	case text == "*":
		return errors.New("any web page could use the server; write each origin, such as https://example.com")
	case err != nil || u.Scheme == "" || u.Host == "" || strings.ContainsAny(text, "* \t"):
		return fmt.Errorf("%q is not an origin; write SCHEME://HOST, with the port if it is not the usual one, such as https://example.com", text)
	}
	host := strings.ToLower(u.Host)
	if usual := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]; usual != "" {
		host = strings.TrimSuffix(host, usual)
	}
	if origin := u.Scheme + "://" + host; origin != text {
		return fmt.Errorf("%q is never sent by a browser; write %s", text, origin)
	}
	return nil
}

// checkHostName checks a name by which requests may know the server.
func checkHostName(text string) error {
	host := text
	if name, port, err := net.SplitHostPort(text); err == nil {
		if _, err := net.LookupPort("tcp", port); err == nil {
			host = name
		}
	}
	switch {
	case net.ParseIP(host) != nil:
		return nil
	case strings.Contains(text, "*"):
		return fmt.Errorf("%q has a wildcard; write each host", text)
	case host == "" || strings.ContainsAny(host, "/:@?#[] \t"):
		return fmt.Errorf("%q is not a host name; write a name or address without scheme and path, such as tools.example.com", text)
	}
	return nil
}

// checkEndpoint checks the path of the MCP endpoint.
func checkEndpoint(text string) error {
	switch {
	case !strings.HasPrefix(text, "/"):
		return fmt.Errorf("must start with /, not %q", text)
	case strings.ContainsAny(text, "?#"):
		return fmt.Errorf("%q is more than a path; leave out what follows ? or #", text)
	case text == "/livez" || text == "/readyz" || strings.HasPrefix(text, "/connect/"):
		return fmt.Errorf("%s is that of a probe or a sign-in; write another path, such as /mcp", text)
	}
	return nil
}

// checkPublicURL checks the address that browsers reach the server at: authorization servers send them back nowhere else.
func checkPublicURL(text string) error {
	u, err := url.Parse(text)
	if text == "" || err == nil && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == "" &&
		(u.Scheme == "https" || u.Scheme == "http" && server.IsLoopback(u.Hostname())) {
		return nil
	}
	return fmt.Errorf("%q is not the address of a server; write https://HOST, such as https://tools.example.com, or http://localhost:PORT", text)
}

package netguard

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// MaxURL bounds the length of a URL, in bytes.
const MaxURL = 8192

// InvalidURLError says why something is no URL for HTTP.
type InvalidURLError struct{ Reason string }

func (e *InvalidURLError) Error() string { return e.Reason }

var (
	errTooLong = &InvalidURLError{fmt.Sprintf("the URL is longer than %d bytes", MaxURL)}
	errNoHost  = &InvalidURLError{"the URL has no host"}
	errNotHost = &InvalidURLError{"the URL's host is not a host name"}
	errNotIP   = &InvalidURLError{"the URL's host looks like an address and is none"}
)

// Canonical returns a host name as it is looked up: in lower case, without a
// final dot, in ASCII (UTS 46, which also turns digits and dots of other scripts
// into plain ones). The error is an [*InvalidURLError].
func Canonical(host string) (string, error) {
	if strings.ContainsFunc(host, func(c rune) bool { return c >= utf8.RuneSelf }) {
		ascii, err := idna.Lookup.ToASCII(host)
		if err != nil || !utf8.ValidString(host) {
			return "", errNotHost
		}
		host = ascii
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if len(host) > 253 || strings.ContainsFunc(host, forbidden) || slices.Contains(strings.Split(host, "."), "") {
		return "", errNotHost
	}
	return host, nil
}

// forbidden reports whether no host name has a character.
func forbidden(c rune) bool {
	return c <= ' ' || c >= 0x7f || strings.ContainsRune("/\\:@?#[]%<>^|\"`{}*", c)
}

// metadataNames are names of metadata services, refused before anybody is asked
// for their address.
var metadataNames = []string{"metadata.google.internal", "metadata.goog", "metadata", "instance-data", "instance-data.ec2.internal"}

// CheckURL reports what can be said against a URL before its host is resolved: a
// [*DeniedError], or an [*InvalidURLError]. It makes the host
// and the port canonical, so that what is checked is what is dialled.
func (g *Guard) CheckURL(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		target := u.Scheme + ":"
		if u.Scheme == "" {
			target = "a URL without a scheme"
		}
		return &DeniedError{Rule: Scheme, Target: target, why: "only http and https URLs are fetched"}
	}
	if len(u.Host)+len(u.Path)+len(u.RawQuery) > MaxURL {
		return errTooLong
	}
	if u.Host == "" || u.Opaque != "" {
		return errNoHost
	}
	if u.User != nil {
		return &DeniedError{Rule: UserInfo, Target: u.Host, why: "URLs with a user name or password in them are not fetched"}
	}
	port := u.Port()
	if strings.HasSuffix(u.Host, ":") || port != "" && !validPort(port) {
		return &DeniedError{Rule: Port, Target: u.Host, why: "the port is not a number from 1 to 65535"}
	}
	at := PortOf(u)
	literal, isLiteral, err := literalOf(u.Hostname())
	if err != nil {
		return err
	}
	if !isLiteral {
		return g.checkName(u, at)
	}
	addr := netip.AddrPortFrom(literal, at)
	if err := g.check(literal.String(), addr); err != nil {
		denied := err.(*DeniedError)
		denied.Target = u.Host
		return denied
	}
	plain := literal.Unmap()
	if plain.Is4() && plain.String() != u.Hostname() {
		return &DeniedError{Rule: Notation, Target: u.Host, why: "write the address as " + plain.String()}
	}
	setHost(u, plain.String())
	return nil
}

// checkName checks a URL whose host is a name, and makes that canonical.
func (g *Guard) checkName(u *url.URL, at uint16) error {
	name, err := Canonical(u.Hostname())
	if err != nil {
		return err
	}
	addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at)
	if (name == "localhost" || strings.HasSuffix(name, ".localhost")) && !g.opened(name, addr, Loopback) { // RFC 6761, section 6.3
		return &DeniedError{Rule: Loopback, Target: u.Host, Allow: target(name, at), Setting: g.options.Setting}
	}
	if slices.Contains(metadataNames, name) {
		return &DeniedError{Rule: Metadata, Target: u.Host}
	}
	named := g.options.AnyPort || slices.ContainsFunc(g.options.Open, func(h Host) bool { return h.port == at }) // perhaps of what the name leads to
	if slices.Contains(badPorts, at) && !named {
		return badPort(u.Host, at)
	}
	setHost(u, name)
	return nil
}

// setHost gives a URL a canonical host, and its port, if it has one, likewise.
func setHost(u *url.URL, host string) {
	port, number := u.Port(), PortOf(u)
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if u.Host = host; port != "" {
		u.Host += ":" + strconv.Itoa(int(number))
	}
}

func badPort(target string, port uint16) *DeniedError {
	return &DeniedError{Rule: Port, Target: target, why: "port " + strconv.Itoa(int(port)) + " belongs to another protocol than HTTP"}
}

func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// PortOf returns the port that a URL leads to.
func PortOf(u *url.URL) uint16 {
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	switch {
	case err == nil:
		return uint16(n)
	case u.Scheme == "https":
		return 443
	case strings.HasPrefix(u.Scheme, "socks5"): // a proxy
		return 1080
	}
	return 80
}

// literalOf returns the address that a host is, in any notation that a resolver
// somewhere takes for one (the URL standard's host parser): with parts left out,
// in octal or hexadecimal, as one number, in digits of other scripts.
func literalOf(host string) (addr netip.Addr, is bool, err error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr, true, nil
	}
	if strings.Contains(host, ":") {
		return netip.Addr{}, false, errNotIP
	}
	name, err := Canonical(host)
	if err != nil {
		return netip.Addr{}, false, err
	}
	parts := strings.Split(name, ".")
	if !isNumber(parts[len(parts)-1]) {
		return netip.Addr{}, false, nil
	}
	numbers := make([]uint64, len(parts))
	for i, part := range parts {
		n, ok := number(part)
		if !ok || len(parts) > 4 || i < len(parts)-1 && n > 255 {
			return netip.Addr{}, false, errNotIP
		}
		numbers[i] = n
	}
	last := numbers[len(numbers)-1]
	if last >= 1<<(8*(5-len(numbers))) {
		return netip.Addr{}, false, errNotIP
	}
	for i, n := range numbers[:len(numbers)-1] {
		last |= n << (8 * (3 - i))
	}
	return netip.AddrFrom4([4]byte{byte(last >> 24), byte(last >> 16), byte(last >> 8), byte(last)}), true, nil
}

// isNumber reports whether the last part of a host makes it an IPv4 address.
func isNumber(part string) bool {
	_, ok := number(part)
	return ok || part != "" && strings.Trim(part, "0123456789") == ""
}

// number reads a part of an IPv4 address: octal with 0, hexadecimal with 0x.
func number(part string) (uint64, bool) {
	base, digits := 10, part
	switch {
	case strings.HasPrefix(part, "0x"):
		base, digits = 16, part[2:]
		if digits == "" {
			return 0, true
		}
	case len(part) > 1 && part[0] == '0':
		base, digits = 8, part[1:]
	}
	n, err := strconv.ParseUint(digits, base, 64)
	return n, err == nil || errors.Is(err, strconv.ErrRange)
}

// badPorts are the ports that browsers do not fetch from, since what listens
// there could take a request for its own protocol (the Fetch standard, 2.9).
var badPorts = []uint16{
	1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110, 111, 113, 115, 117,
	119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636,
	989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
}

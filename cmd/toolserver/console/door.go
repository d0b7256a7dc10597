package console

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolserver/toolserver/domain/share"
	"github.com/toolserver/toolserver/identity"
	"github.com/toolserver/toolserver/sandbox"
)

const (
	cookieName  = "toolserver_console"
	stateName   = "toolserver_console_state"
	signedIn    = 12 * time.Hour   // that a sign-in lasts
	vouchedFor  = time.Hour        // that one lasts at an issuer, which may know better by then
	addressTime = 10 * time.Minute // that a one-time address is good for
	maxAddrs    = 16
	maxPending  = 64 // sign-ins at an issuer that are under way
	secretFile  = "secret"
	pathBytes   = 8 // of the secret; the others sign cookies
)

// door decides who gets in. All pages lie below a path that nobody can guess: browsers send a cookie to
// every port of a host, and the path keeps it from the servers at others.
type door struct {
	state  *sandbox.State
	public *url.URL // where browsers reach it through a proxy with TLS; nil for loopback
	host   string   // that it listens on, with its port
	origin *http.CrossOriginProtection

	path string // of the first page

	mu     sync.Mutex
	opened map[[sha256.Size]byte]time.Time         // one-time addresses, by digest, and when they end
	away   share.Store[string, *identity.Identify] // sign-ins at an issuer, by state
}

// newDoor returns the door of a console. Its secret outlives the process, so that browsers go on after a restart.
func newDoor(state *sandbox.State, public *url.URL, host string) (*door, error) {
	d := &door{state: state, public: public, host: host, origin: http.NewCrossOriginProtection(), opened: map[[sha256.Size]byte]time.Time{}}
	d.away.MaxEntries, d.away.MaxAge = maxPending, addressTime
	secret, err := state.Read(secretFile)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(secret) != pathBytes+sha256.Size {
		secret = make([]byte, pathBytes+sha256.Size)
		rand.Read(secret) // never fails
		err = state.Write(secretFile, secret)
	}
	if err != nil {
		return nil, err
	}
	if d.path = "/" + hex.EncodeToString(secret[:pathBytes]) + "/"; public != nil {
		d.path = strings.TrimSuffix(public.Path, "/") + "/" // at a host of its own, nothing need keep the cookie from others
	}
	return d, nil
}

// address returns a new one-time address. Where there are too many, the oldest is void.
func (d *door) address() string {
	token := rand.Text()
	d.mu.Lock()
	if len(d.opened) >= maxAddrs {
		sooner := func(a, b [sha256.Size]byte) int { return d.opened[a].Compare(d.opened[b]) }
		delete(d.opened, slices.MinFunc(slices.Collect(maps.Keys(d.opened)), sooner))
	}
	d.opened[sha256.Sum256([]byte(token))] = time.Now().Add(addressTime)
	d.mu.Unlock()
	return d.root() + d.path + "in/" + token
}

// root returns scheme and host at which browsers reach the console.
func (d *door) root() string {
	if d.public != nil {
		return d.public.Scheme + "://" + d.public.Host
	}
	return "http://" + d.host
}

// redeem uses up a one-time address.
func (d *door) redeem(token string) bool {
	digest := sha256.Sum256([]byte(token))
	d.mu.Lock()
	defer d.mu.Unlock()
	ends, ok := d.opened[digest]
	delete(d.opened, digest)
	return ok && time.Now().Before(ends)
}

// admit gives a browser the cookie of a sign-in.
func (v *visit) admit(who string, lasts time.Duration) {
	value := strconv.FormatInt(time.Now().Add(lasts).Unix(), 10) + "." + base64.RawURLEncoding.EncodeToString([]byte(who))
	signature := v.door.sign(value)
	if signature == "" {
		v.fail(http.StatusInternalServerError, errors.New("the secret of this console is gone from the state directory: start the console again"))
		return
	}
	http.SetCookie(v.w, v.door.cookie(cookieName, value+"."+signature, int(lasts.Seconds())))
	v.w.Header().Set("Refresh", "0; url="+v.base) // from a page of this origin: after a redirect from elsewhere the cookie would not come
	v.show("Signed in", el("p", el("a", attr("href", v.base), text("Go to the console"))))
}

// signIn sends a browser to the issuer.
func (v *visit) signIn() {
	person := v.SignIn()
	if person == nil {
		v.fail(http.StatusServiceUnavailable, errors.New("no issuer of the configuration says who people are (auth.issuers, sign_in)"))
		return
	}
	state := rand.Text()
	address, err := person.Begin(v.door.root()+v.base+"back", state)
	if err != nil {
		v.fail(http.StatusBadGateway, err)
		return
	}
	v.door.away.Put("", state, person, 1)
	c := v.door.cookie(stateName, state, int(addressTime.Seconds()))
	c.SameSite = http.SameSiteLaxMode // it comes back from the issuer
	http.SetCookie(v.w, c)
	http.Redirect(v.w, v.r, address, http.StatusSeeOther)
}

// back admits a browser that comes back from the issuer, if it is the one that went there and its person is in one of the groups.
func (v *visit) back() {
	state := v.r.FormValue("state")
	c, err := v.r.Cookie(stateName)
	var person *identity.Identify
	if err == nil && hmac.Equal([]byte(c.Value), []byte(state)) {
		person, _ = v.door.away.Take("", state)
	}
	if person == nil {
		v.fail(http.StatusForbidden, errors.New("this sign-in did not begin in this browser, or is over: begin again"))
		return
	}
	who, err := person.Who(v.door.root()+v.base+"back", v.r.Form)
	switch {
	case err != nil:
		v.fail(http.StatusForbidden, err)
	case !slices.ContainsFunc(v.Groups(), func(g string) bool { return slices.Contains(who.Groups, g) }):
		v.fail(http.StatusForbidden, fmt.Errorf("%s is in no group that may use the console (console.groups)", who.Name))
	default:
		v.admit(who.ID, vouchedFor)
	}
}

func (d *door) cookie(name, value string, age int) *http.Cookie {
	return &http.Cookie{Name: name, Value: value, Path: d.path, MaxAge: age, HttpOnly: true, Secure: d.public != nil, SameSite: http.SameSiteStrictMode}
}

// sign returns the signature of a value with the secret in force, which another console may have changed; empty if there is none.
func (d *door) sign(value string) string {
	secret, err := d.state.Read(secretFile)
	if err != nil || len(secret) != pathBytes+sha256.Size {
		return ""
	}
	h := hmac.New(sha256.New, secret[pathBytes:])
	h.Write([]byte(value))
	return hex.EncodeToString(h.Sum(nil))
}

// who returns who has signed in with the browser that made a request.
func (d *door) who(r *http.Request) (string, bool) {
	for _, c := range r.CookiesNamed(cookieName) { // one of another console may come first
		ends, rest, _ := strings.Cut(c.Value, ".")
		name, signature, _ := strings.Cut(rest, ".")
		at, err := strconv.ParseInt(ends, 10, 64)
		who, err2 := base64.RawURLEncoding.DecodeString(name)
		signed := d.sign(ends + "." + name)
		if signed != "" && hmac.Equal([]byte(signature), []byte(signed)) && err == nil && err2 == nil && time.Now().Before(time.Unix(at, 0)) {
			return string(who), true
		}
	}
	return "", false
}

// signOut voids all cookies there are, of all consoles of this user.
func (d *door) signOut() error {
	secret, err := d.state.Read(secretFile)
	if err != nil {
		return err
	}
	rand.Read(secret[min(pathBytes, len(secret)):])
	return d.state.Write(secretFile, secret)
}

// wrongHost says why a request is not meant for the console: a name that leads here without being one of its own is
// how pages of others reach servers on loopback (DNS rebinding).
func (d *door) wrongHost(r *http.Request) error {
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil { // browsers leave out the port of the scheme
		host, port, err = net.SplitHostPort(r.Host + ":80")
	}
	if d.public != nil && strings.EqualFold(r.Host, strings.TrimSuffix(d.public.Host, ":443")) {
		return nil
	}
	own, ownPort, _ := net.SplitHostPort(d.host)
	if err == nil && port == ownPort && (host == own || strings.EqualFold(host, "localhost") && net.ParseIP(own).IsLoopback()) {
		return nil
	}
	return fmt.Errorf("%q is not the address of this console", r.Host)
}

// Package google stands in for Google: the pages and endpoints of its OAuth server, the Gmail API v1, the Calendar API v3 and of the People API v1 the search for contacts, all
// below one base URL. It enforces what Google enforces. What the APIs accept and answer is read from Google's own discovery
// documents, which lie in the Go module google.golang.org/api: paths, parameters, scopes, schemas. What they do not say, such
// as that a time requires an offset, is written here.
//
// It imports nothing of the product, and serves tests within a package as well as tests of the whole program from outside.
package google

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/rsa"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options are how the fake is set up.
type Options struct {
	ClientID     string // of the one client there is, a Desktop app; "test-client" if it is empty
	ClientSecret string // "test-secret" if it is empty
	Redirect     string // the redirect URI of a Web application, which the client then is
	// Discovery is the directory of the Go module google.golang.org/api; empty for where the go command has it.
	Discovery     string
	Now           func() time.Time // time.Now if it is nil
	TokenLife     time.Duration    // of access tokens; 3599 s if it is 0
	RotateRefresh bool             // a refresh answers a new refresh token and ends the old one
	MeetPending   bool             // a conference that an event asks for is pending until the event is read
	InlineBody    int              // bytes of the largest text that a message has inline; 100 kB if it is 0
	MaxInFlight   int              // requests of a user that are served at a time; 20 if it is 0
}

// Fake is the handler.
type Fake struct {
	// Latency returns how long a request waits before it is carried out, and PageLimit how many events are on a page, counted
	// from 0, that may have size of them: fewer, or none. Set them before the fake serves. They may be nil.
	Latency   func(*http.Request) time.Duration
	PageLimit func(page, size int) int

	o        Options
	routes   []route
	scopes   map[string]string // and what they are for
	handlers map[string]func(*call) (any, *Answer)
	key      func() (*rsa.PrivateKey, error) // that signs ID tokens

	mu            sync.Mutex
	users         map[string]*user
	order         []string // addresses of users, as they were added
	calendars     map[string]*calendarData
	faults        []*fault
	inFlight      map[string]int
	requests      []Request
	violations    []string
	serial        uint64
	asked         map[string]*authorization // by the id on their page
	codes         map[string]*code
	access        map[string]*accessToken
	refresh       map[string]*grant
	grants        []*grant
	tokenRequests map[string]int
	pages         map[string]page
	attachments   map[string]attachment
	invitations   map[string][]Invitation
}

// User is an account.
type User struct {
	Email    string
	TimeZone string   // of its calendar; UTC if it is empty
	TestUser bool     // may sign in, as the client is not verified
	SendAs   []string // further addresses that it may send from
	// Signatures are the HTML below mails, by the address that sends them.
	Signatures map[string]string
	Filters    []Filter
}

// Filter is what Gmail does with mail of a kind, as its API has it.
type Filter struct {
	ID               string
	Criteria, Action map[string]any
}

type user struct {
	User
	mailbox
	calendars []calendarEntry // the primary one first
	contacts  []Contact
	warm      map[string]bool // methods that were asked without a query before
}

// Request is a request as it arrived.
type Request struct {
	Method, Path string
	Query        url.Values
	Header       http.Header
	User         string // whose token it came with; empty if it had none that is valid
}

// New returns a fake without users.
func New(o Options) (*Fake, error) {
	o.ClientID = cmp.Or(o.ClientID, "test-client")
	o.ClientSecret = cmp.Or(o.ClientSecret, "test-secret")
	o.TokenLife = cmp.Or(o.TokenLife, 3599*time.Second)
	o.InlineBody = cmp.Or(o.InlineBody, 100_000)
	o.MaxInFlight = cmp.Or(o.MaxInFlight, 20)
	if o.Now == nil {
		o.Now = time.Now
	}
	f := &Fake{
		o: o, handlers: map[string]func(*call) (any, *Answer){}, users: map[string]*user{}, calendars: map[string]*calendarData{},
		inFlight: map[string]int{}, asked: map[string]*authorization{}, codes: map[string]*code{}, access: map[string]*accessToken{},
		refresh: map[string]*grant{}, tokenRequests: map[string]int{}, pages: map[string]page{},
		attachments: map[string]attachment{}, invitations: map[string][]Invitation{},
	}
	f.key = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })
	f.gmailHandlers()
	f.calendarHandlers()
	f.contactsHandlers()
	return f, f.discover()
}

// AddUser adds an account, with an empty mailbox and a primary calendar.
func (f *Fake) AddUser(u User) {
	u.TimeZone = cmp.Or(u.TimeZone, "UTC")
	f.mu.Lock()
	defer f.mu.Unlock()
	added := &user{User: u, mailbox: newMailbox(), warm: map[string]bool{}}
	f.users[u.Email] = added
	f.order = append(f.order, u.Email)
	f.addCalendar(added, Calendar{ID: u.Email, Summary: u.Email, TimeZone: u.TimeZone, Role: "owner"})
}

// Requests returns the requests that have arrived, the first one first.
func (f *Fake) Requests() []Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests)
}

// Violations returns what the fake itself did wrong: answers that break the schemas of discovery, and requests for methods
// that Google has and the fake has not. A test that uses the fake requires that there are none.
func (f *Fake) Violations() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.violations)
}

func (f *Fake) violation(format string, args ...any) *Answer {
	text := fmt.Sprintf(format, args...)
	f.mu.Lock()
	f.violations = append(f.violations, text)
	f.mu.Unlock()
	return &Answer{Status: http.StatusInternalServerError, Reason: "backendError", Message: text}
}

// maxRequest bounds the body of a request: the largest mail in base64, and its envelope.
const maxRequest = 64 << 20

// ServeHTTP answers a request.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		http.Error(w, "Request Entity Too Large", http.StatusRequestEntityTooLarge)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	u := f.arrive(r)
	if u != "" {
		if !f.enter(u) {
			tooMany := ConcurrencyLimit()
			tooMany.send(w, serviceOf(r))
			return
		}
		defer f.leave(u)
	}
	if f.Latency != nil && !wait(r, time.After(f.Latency(r))) {
		return
	}
	if fault := f.faultFor(r); fault != nil {
		if fault.Hold != nil && !wait(r, fault.Hold) {
			return
		}
		if fault.After && (fault.Drop || fault.Status != 0) {
			f.serve(&nowhere{http.Header{}}, r)
		}
		if fault.Drop {
			panic(http.ErrAbortHandler) // which is how a handler breaks off
		}
		if fault.Status != 0 {
			fault.send(w, serviceOf(r))
			return
		}
	}
	f.serve(w, r)
}

func (f *Fake) serve(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case AuthPath:
		f.authorize(w, r)
	case TokenPath:
		f.token(w, r)
	case RevokePath:
		f.revoke(w, r)
	default:
		f.serveAPI(w, r)
	}
}

// arrive notes a request and returns the address of its user.
func (f *Fake) arrive(r *http.Request) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var email string
	if t := f.tokenOf(r); t != nil {
		email = t.grant.user.Email
	}
	f.requests = append(f.requests, Request{r.Method, r.URL.Path, r.URL.Query(), r.Header.Clone(), email})
	return email
}

func (f *Fake) enter(email string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.inFlight[email] >= f.o.MaxInFlight {
		return false
	}
	f.inFlight[email]++
	return true
}

func (f *Fake) leave(email string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inFlight[email]--
}

// next returns a number that no other thing has. The caller holds the lock.
func (f *Fake) next() uint64 {
	f.serial++
	return f.serial
}

// secret returns n random bytes in hex.
func secret(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// serviceOf returns which API a request is for: "gmail", "calendar", "people", or "" for the OAuth server.
func serviceOf(r *http.Request) string {
	switch path := r.URL.Path; {
	case strings.HasPrefix(path, "/calendar/"):
		return "calendar"
	case strings.HasPrefix(path, "/gmail/"), strings.HasPrefix(path, "/upload/gmail/"):
		return "gmail"
	case strings.HasPrefix(path, "/v1/"):
		return "people"
	}
	return ""
}

// page is where a page token leads.
type page struct {
	key            string // of the request whose next page it is
	offset, number int
}

// turn returns the page that a token leads to.
func (f *Fake) turn(token, key string) (page, bool) {
	if token == "" {
		return page{key: key}, true
	}
	p, ok := f.pages[token]
	return p, ok && p.key == key
}

// nextPage returns a token.
func (f *Fake) nextPage(p page) string {
	token := secret(10)
	f.pages[token] = p
	return token
}

// Package api sends the requests of tools to Google's APIs: with the token of the caller's grant, repeated where that is safe,
// and with failures that say the remedy.
package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/api/calendar/v3"
	"google.golang.org/api/gmail/v1"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
	"google.golang.org/api/people/v1"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/share"
	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/tools/google/signin"
)

// Client sends requests for the callers of tools. It is safe for concurrent use.
type Client struct {
	accounts *signin.Accounts
	places   *share.Pool // requests in flight
	// The services, whose requests take the context of [Define].
	Gmail    func() *gmail.Service
	Calendar func() *calendar.Service
	People   func() *people.Service
}

// Bounds of requests.
const (
	requestTimeout = 30 * time.Second // in which nothing is sent or received
	// readTime bounds the attempts of one request together, so that a service that asks to wait long is reported and not
	// waited for.
	readTime    = 40 * time.Second
	retries     = 3
	maxBody     = 64 << 20 // bytes; the largest mail that Gmail takes has 50 MB in base64
	maxInFlight = 128
)

// PerGrant is how many requests are in flight for one account. Gmail rejects bursts of 25 with 429; 13 read 25 messages in two
// rounds.
const PerGrant = 13

// New returns a client. HTTP returns what connects to a service; base is where Google is, or "" for its own addresses.
func New(accounts *signin.Accounts, client func(signin.Service) *http.Client, base string) *Client {
	c := &Client{accounts: accounts, places: share.NewPool(maxInFlight, PerGrant)}
	options := func(s signin.Service, path string) []option.ClientOption {
		guarded := &http.Client{
			Transport: &authorized{accounts, client(s).Transport},
			// A redirect would take the token and the mail to another host.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		all := []option.ClientOption{option.WithHTTPClient(guarded), option.WithUserAgent(httpcall.Product)}
		if base != "" {
			all = append(all, option.WithEndpoint(base+path))
		}
		return all
	}
	c.Gmail = lazily(gmail.NewService, func() []option.ClientOption { return options(signin.Gmail, "/") })
	c.Calendar = lazily(calendar.NewService, func() []option.ClientOption { return options(signin.Calendar, "/calendar/v3/") })
	c.People = lazily(people.NewService, func() []option.ClientOption { return options(signin.Contacts, "/") })
	return c
}

// lazily returns a service that is made when it is first used: with a client of our own nothing is looked up that could fail.
func lazily[T any](make func(context.Context, ...option.ClientOption) (*T, error), options func() []option.ClientOption) func() *T {
	return sync.OnceValue(func() *T {
		service, err := make(context.Background(), options()...)
		if err != nil {
			panic(err)
		}
		return service
	})
}

// grant is whose account a request is for.
type grant struct {
	owner   signin.Owner
	service signin.Service

	mu    sync.Mutex
	token signin.Token
}

type grantKey struct{}

// Scopes returns what the grant in ctx allows.
func Scopes(ctx context.Context) []string { return grantOf(ctx).current().Scopes }

// Email returns the address of the account whose grant is in ctx, "" if it is not known.
func Email(ctx context.Context) string { return grantOf(ctx).current().Email }

func grantOf(ctx context.Context) *grant {
	g, _ := ctx.Value(grantKey{}).(*grant)
	if g == nil {
		return &grant{}
	}
	return g
}

func (g *grant) current() signin.Token {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.token
}

// Read sends a request that changes nothing, and again where that helps. The error is a [*httpcall.Failure], or that of ctx.
// Do is a method of a call of the API: svc.Users.Messages.List("me").Context(ctx).Do.
func Read[T any](ctx context.Context, c *Client, do func(...googleapi.CallOption) (T, error)) (T, error) {
	return send(ctx, c, retries, do)
}

// Write sends a request that changes something, once: again only if it did not arrive. The error is as [Read] says; of a
// request that may have been carried out, [Unknown] reports true.
func Write[T any](ctx context.Context, c *Client, do func(...googleapi.CallOption) (T, error)) (T, error) {
	return send(ctx, c, 0, do)
}

func send[T any](ctx context.Context, c *Client, retries int, do func(...googleapi.CallOption) (T, error)) (answer T, err error) {
	g := grantOf(ctx)
	service := httpcall.Service{Retries: retries, Repeatable: retries > 0}
	bounded, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	err = service.Try(bounded, func() error {
		owner := string(g.owner) + "\x00" + string(g.service)
		if err := c.places.Acquire(ctx, owner, 1); err != nil {
			return err
		}
		defer c.places.Release(owner, 1)
		var err error
		answer, err = do()
		if err == nil && !asked(reflect.ValueOf(answer)) {
			err = foreign(g.service)
		}
		return failure(g.service, err)
	})
	if err != nil && ctx.Err() != nil {
		return answer, ctx.Err()
	}
	return answer, err
}

// asked reports whether a decoded answer is what was asked for: not null, with an ID if it is a thing that has one, and without
// null in its lists of things.
func asked(v reflect.Value) bool {
	if v.Kind() != reflect.Pointer {
		return true
	}
	if v.IsNil() {
		return false
	}
	id := v.Elem().FieldByName("Id")
	return (!id.IsValid() || id.String() != "") && noNull(v.Elem())
}

func noNull(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Struct:
		for _, f := range v.Fields() {
			if !noNull(reflect.Indirect(f)) {
				return false
			}
		}
	case reflect.Slice, reflect.Map:
		for _, e := range v.Seq2() {
			if e.Kind() == reflect.Pointer && e.IsNil() || !noNull(reflect.Indirect(e)) {
				return false
			}
		}
	}
	return true
}

// authorized sends requests with the token of the grant in their context, and with a new one if Google rejects that.
type authorized struct {
	accounts *signin.Accounts
	base     http.RoundTripper
}

// RoundTrip sends a request.
func (t *authorized) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	idle := time.AfterFunc(requestTimeout, func() { cancel(context.DeadlineExceeded) })
	end := func() { idle.Stop(); cancel(nil) }
	res, err := t.send(req.WithContext(ctx), idle)
	if err != nil {
		end()
		return nil, err
	}
	res.Body = &moving{ReadCloser: http.MaxBytesReader(nil, res.Body, maxBody), ctx: ctx, idle: idle, end: end}
	return res, nil
}

// moving is a body whose transfer may take long, but not pause.
type moving struct {
	io.ReadCloser
	ctx   context.Context
	idle  *time.Timer
	end   func()       // of a response, when it is closed
	n     atomic.Int64 // bytes that were read
	ended atomic.Bool
}

// Read notes that there is progress.
func (m *moving) Read(b []byte) (int, error) {
	n, err := m.ReadCloser.Read(b)
	m.n.Add(int64(n))
	if n > 0 {
		m.idle.Reset(requestTimeout)
	}
	if err == io.EOF {
		m.ended.Store(true)
		return n, err
	}
	return n, late(m.ctx, err)
}

// Close ends the request of a response.
func (m *moving) Close() error {
	if m.end != nil {
		defer m.end()
	}
	return m.ReadCloser.Close()
}

// late returns the error of a request, which is that of a deadline if nothing moved for too long.
func late(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause == context.DeadlineExceeded {
		return cause
	}
	return err
}

// once sends a request with a token. That what it carries did not leave whole is known, and said.
func (t *authorized) once(req *http.Request, content io.ReadCloser, token signin.Token, idle *time.Timer) (*http.Response, error) {
	up := &moving{ReadCloser: content, ctx: req.Context(), idle: idle}
	if content != nil && content != http.NoBody {
		content = up
	}
	authorized := req.Clone(req.Context())
	authorized.Body = content
	authorized.Header.Set("Authorization", "Bearer "+token.Access)
	res, err := t.base.RoundTrip(authorized)
	if err == nil || content != up || httpcall.NeverArrived(err) {
		return res, err
	}
	err = late(req.Context(), err)
	if n := up.n.Load(); !up.ended.Load() && (req.ContentLength <= 0 || n < req.ContentLength) {
		f := *httpcall.Explain(err)
		f.Message = fmt.Sprintf("it was not sent: the upload broke off after %s bytes: %s", brief.Thousands(n), f.Message)
		return nil, &f
	}
	return nil, err
}

func (t *authorized) send(req *http.Request, idle *time.Timer) (*http.Response, error) {
	g := grantOf(req.Context())
	token := g.current()
	if token.Access == "" {
		return nil, signin.ErrNoGrant
	}
	again, err := httpcall.Repeatable(req) // Google's client repeats nothing that it sends as JSON
	if err != nil {
		return nil, err
	}
	first, err := again()
	if err != nil {
		return nil, err
	}
	res, err := t.once(req, first, token, idle)
	if err != nil || res.StatusCode != http.StatusUnauthorized {
		return res, err
	}
	fresh, err := t.accounts.Renew(req.Context(), g.owner, g.service, token.Access)
	var body io.ReadCloser
	if err == nil {
		body, err = again()
	}
	if err != nil {
		res.Body.Close()
		return nil, &rejectedError{err}
	}
	g.mu.Lock()
	g.token = fresh
	g.mu.Unlock()
	res.Body.Close()
	return t.once(req, body, fresh, idle)
}

// rejectedError is why a request that Google has rejected was not repeated.
type rejectedError struct{ error }

// Unwrap returns the reason.
func (e *rejectedError) Unwrap() error { return e.error }

// A Need is what a tool requires of a grant, and how it reports failures.
type Need struct {
	Service signin.Service
	Scopes  []string // any of them; the first is the least, and asked for
	Failing string   // begins the message of a failure: "Error searching Gmail"

	owner signin.Owner // whose it is; "" before that is known
	flag  string       // of commands for that owner
}

// Described returns a tool with its words in a text, where they stand below its name: the title, what it is good for, and the description,
// a line each. Tools are separated by empty lines.
func Described(text string, t domain.Tool) domain.Tool {
	_, about, _ := strings.Cut("\n"+text, "\n"+t.Name+"\n")
	lines := strings.SplitN(about, "\n", 4)
	t.Title, t.Ability, t.Description = lines[0], lines[1], lines[2]
	return t
}

// Define completes a tool as [domain.Define] does. Its handler runs with the caller's grant in its context; an error that is
// a [*httpcall.Failure] becomes a tool execution error. A caller who has not signed in is asked to.
func Define[In any](c *Client, need Need, t domain.Tool, run func(context.Context, In) (domain.ToolResult, error)) domain.Tool {
	return domain.Define(t, func(ctx context.Context, in In) (domain.ToolResult, error) {
		need := need
		need.owner = c.Owner(ctx)
		need.flag = c.accounts.Flag(need.owner)
		for again := false; ; again = true {
			signed, err := c.SignedIn(ctx, need)
			if err == nil && again && !t.Annotations.ReadOnly { // a part of it may be done
				err = &Refused{domain.Failure(typeSignIn, need.Failing+": the sign-in had ended, and was renewed now", "Call the tool again.")}
			}
			var res domain.ToolResult
			if err == nil {
				res, err = run(signed, in)
			}
			if revoked, ok := errors.AsType[*signin.RevokedError](err); ok && !again {
				if err = c.signIn(ctx, need, revoked.Error()); err == nil {
					continue
				}
			}
			return need.result(ctx, res, err)
		}
	})
}

// Each calls do for the numbers below n, several at a time, and returns its errors. The second error ends the call: it is one
// that all would have, or the first if none succeeded.
func Each(ctx context.Context, n int, do func(ctx context.Context, i int) error) ([]error, error) {
	errs := make([]error, n)
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(PerGrant)
	for i := range n {
		g.Go(func() error {
			if errs[i] = do(within, i); ends(within, errs[i]) {
				return errs[i]
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return errs, err
	}
	if n > 0 && !slices.Contains(errs, nil) {
		return errs, errs[0]
	}
	return errs, nil
}

// ends reports whether an error is not about one of several things: the call was canceled, or the grant is no longer valid.
func ends(ctx context.Context, err error) bool {
	if err == nil {
		return false
	}
	f, failed := errors.AsType[*httpcall.Failure](err)
	_, revoked := errors.AsType[*signin.RevokedError](err)
	return ctx.Err() != nil || revoked || errors.Is(err, signin.ErrNoGrant) || failed && f.Type == typeSignIn
}

package oauth

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/toolserver/toolserver/domain/share"
	"github.com/toolserver/toolserver/outbound/httpcall"
)

// maxAnswer bounds a document or the response of a token endpoint, in bytes.
const maxAnswer = 1 << 20

// maxSaid bounds what is shown of a server's own messages, in bytes.
const maxSaid = 200

// requester sends requests to the servers that a sign-in to an upstream takes.
type requester struct {
	upstream string // its name
	settings Settings
	base     *url.URL          // of the upstream
	http     http.RoundTripper // follows no redirects
	answer   time.Duration     // bounds a request, body included
	now      func() time.Time
	secrets  secrets
	nonces   share.Store[string, string] // that servers want to see in proofs, by their origin
}

// fetch gets a JSON document.
func (r *requester) fetch(ctx context.Context, address string, into any) error {
	return r.request(ctx, httpcall.Request{URL: address}, into, func(e *httpcall.StatusError) error {
		f := httpcall.Rules(nil).Failure(e, "")
		if at, err := url.Parse(e.Header.Get("Location")); err == nil && at.Host != "" && e.Status < 400 {
			f.Message += ", a redirect to " + clean(at.Host)
		}
		if !f.Retry && e.Status < 500 {
			f.Hint = reportServer
		}
		return f
	})
}

// redirected decides on a redirect: a document may be elsewhere at the same server, three times, but nothing is sent elsewhere.
func redirected(req *http.Request, before []*http.Request) error {
	if req.Method == http.MethodGet && before[0].Method == http.MethodGet && len(before) <= 3 && origin(req.URL) == origin(before[0].URL) {
		return nil
	}
	return http.ErrUseLastResponse
}

// request sends a request and decodes the response unless into is nil; answers of another class than 2xx go to fail. Redirects are
// among them, except those of [redirected]: they would take secrets elsewhere. The error is that of ctx, of fail, or a
// [*httpcall.Failure] that names the host.
func (r *requester) request(ctx context.Context, q httpcall.Request, into any, fail func(*httpcall.StatusError) error) error {
	u, ok := r.trusted(q.URL)
	if !ok {
		return r.untrusted(q.URL)
	}
	service := httpcall.Service{
		Name: u.Host, Timeout: r.answer, MaxBody: maxAnswer, Header: map[string]string{"Accept": "application/json"}, Fail: fail,
		Observe: func(h http.Header) { r.noteNonce(u, h) },
		Client:  &http.Client{Transport: r.http, CheckRedirect: redirected},
	}
	err := service.Do(ctx, q, func(res *httpcall.Response) error {
		if into != nil && (!httpcall.IsObject(res.Body) || json.Unmarshal(res.Body, into) != nil) {
			f := badAnswer("the response of "+u.Host+" is no JSON object that can be read", reportServer)
			f.Status = res.Status
			return f
		}
		return nil
	})
	_, failed := err.(*httpcall.Failure)
	_, reported := err.(*serverError)
	if err == nil || ctx.Err() != nil || failed || reported {
		return err
	}
	f := *httpcall.Explain(err)
	f.Retry = httpcall.NeverArrived(err)
	f.Message = "no answer of " + u.Host + ": " + f.Message
	return &f
}

// untrusted is the failure of an address that no request is sent to.
func (r *requester) untrusted(address string) error {
	shown := "an address"
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		shown = clean(u.Scheme + "://" + u.Host)
	}
	return r.refused("it names "+shown+", and sign-ins use https only", reportServer)
}

// refused is the failure of an upstream or authorization server that cannot be trusted with a sign-in.
func (r *requester) refused(why, hint string) *httpcall.Failure {
	return badAnswer("upstream "+r.upstream+" cannot be signed in to: "+why, hint)
}

// What to do about what servers do wrong.
const (
	reportServer   = "Report it to whoever runs that server."
	reportUpstream = "Report it to whoever runs the upstream."
)

// badAnswer is the failure of a server that answers otherwise than it should.
func badAnswer(message, hint string) *httpcall.Failure {
	return &httpcall.Failure{Type: "bad_answer", Message: message, Hint: hint}
}

// clean returns a text of a server on one line, without what moves cursors, and not long.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsPrint(r):
			return r
		}
		return -1
	}, strings.ToValidUTF8(text[:min(len(text), 4*maxSaid)], ""))
	text = strings.TrimSuffix(strings.Join(strings.Fields(text), " "), ".")
	return strings.ToValidUTF8(text[:min(len(text), maxSaid)], "")
}

// secrets are what must not be shown: those of the settings, and those that were seen lately. The zero value is ready to use.
type secrets struct {
	always []string // of the settings

	mu   sync.Mutex
	seen []string // the newest last
}

// maxSecrets bounds what is kept in memory.
const maxSecrets = 256

// hide remembers secrets.
func (x *secrets) hide(texts ...string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, s := range texts {
		if s != "" && !slices.Contains(x.seen, s) {
			x.seen = append(x.seen, s)
		}
	}
	x.seen = slices.Delete(x.seen, 0, max(0, len(x.seen)-maxSecrets))
}

// all returns the secrets.
func (x *secrets) all() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Concat(x.seen, x.always)
}

// said returns what a server says of an error, as the end of a clause: cleaned, and without secrets, since a server may repeat
// what it was sent.
func (x *secrets) said(text string) string {
	for _, s := range x.all() {
		text = strings.ReplaceAll(text, s, "[hidden]")
		text = strings.ReplaceAll(text, url.QueryEscape(s), "[hidden]")
	}
	if text = clean(text); text == "" {
		return ""
	}
	return ": it says \"" + strings.ReplaceAll(text, `"`, "'") + "\""
}

// code returns an error code of a server as it may be shown.
func (x *secrets) code(text string) string {
	for _, s := range x.all() {
		text = strings.ReplaceAll(text, s, "")
	}
	text = clean(text)
	return text[:min(len(text), 60)]
}

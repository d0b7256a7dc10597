package oauth

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/toolserver/toolserver/outbound/httpcall"
)

// maxAnswer bounds a document or the response of a token endpoint, in bytes.
const maxAnswer = 1 << 20

// maxSaid bounds what is shown of a server's own messages, in bytes.
const maxSaid = 200

// fetch gets a JSON document.
func (c *Client) fetch(ctx context.Context, address string, into any) error {
	return c.request(ctx, httpcall.Request{URL: address}, into, func(e *httpcall.StatusError) error {
		f := httpcall.Rules(nil).Failure(e, "")
		if at, err := url.Parse(e.Header.Get("Location")); err == nil && at.Host != "" && e.Status < 400 {
			f.Message += ", a redirect to " + clean(at.Host)
		}
		if !f.Retry && e.Status < 500 {
			f.Hint = "Report it to whoever runs that server."
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
// among them, except those of [redirected]: they would take secrets elsewhere. The error is that of ctx, of fail, or a [*httpcall.Failure] that names the host.
func (c *Client) request(ctx context.Context, r httpcall.Request, into any, fail func(*httpcall.StatusError) error) error {
	u, ok := c.trusted(r.URL)
	if !ok {
		return c.untrusted(r.URL)
	}
	service := httpcall.Service{
		Name: u.Host, Timeout: c.answer, MaxBody: maxAnswer, Header: map[string]string{"Accept": "application/json"}, Fail: fail,
		Observe: func(h http.Header) { c.noteNonce(u, h) },
		Client:  &http.Client{Transport: c.config.HTTP, CheckRedirect: redirected},
	}
	err := service.Do(ctx, r, func(res *httpcall.Response) error {
		if into != nil && (!httpcall.IsObject(res.Body) || json.Unmarshal(res.Body, into) != nil) {
			return &httpcall.Failure{Type: "bad_answer", Message: "the response of " + u.Host + " is no JSON object that can be read", Hint: "Report it to whoever runs that server.", Status: res.Status}
		}
		return nil
	})
	if err == nil || ctx.Err() != nil {
		return err
	}
	if _, ok := err.(*httpcall.Failure); ok {
		return err
	}
	if _, ok := err.(*serverError); ok {
		return err
	}
	f := *httpcall.Explain(err)
	f.Retry = httpcall.NeverArrived(err)
	f.Message = "no answer of " + u.Host + ": " + f.Message
	return &f
}

// untrusted is the failure of an address that no request is sent to.
func (c *Client) untrusted(address string) error {
	shown := "an address"
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		shown = clean(u.Scheme + "://" + u.Host)
	}
	return c.refused("it names "+shown+", and sign-ins use https only", "Report it to whoever runs that server.")
}

// refused is the failure of an upstream or authorization server that cannot be trusted with a sign-in.
func (c *Client) refused(why, hint string) *httpcall.Failure {
	return &httpcall.Failure{Type: "bad_answer", Message: "upstream " + c.config.Upstream + " cannot be signed in to: " + why, Hint: hint}
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

// said returns what a server says of an error, as the end of a clause: cleaned, and without secrets, since a server may repeat
// what it was sent.
func (c *Client) said(text string) string {
	for _, s := range c.Secrets() {
		text = strings.ReplaceAll(text, s, "[hidden]")
		text = strings.ReplaceAll(text, url.QueryEscape(s), "[hidden]")
	}
	if text = clean(text); text == "" {
		return ""
	}
	return ": it says \"" + strings.ReplaceAll(text, `"`, "'") + "\""
}

package linkedin

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"toolserver/tools/httpcall"
)

// site is LinkedIn as this server reaches it.
type site struct {
	base   *url.URL
	caller httpcall.Caller
	gate   *gate
}

// maxRedirects bounds how often LinkedIn may send on, such as from www to the
// host of a country.
const maxRedirects = 3

// A reader takes what it can from a page. It reports whether the page is of the
// kind that was asked for.
type reader func(body string) bool

// errUnreadable is a page that neither its reader can make anything of, nor is a
// wall.
var errUnreadable = errors.New("the page is not what was asked for")

// get gives the page at target to read. Redirects are followed if they stay on
// LinkedIn and lead to what same agrees to be the same page. The error is a
// [*halt], errUnreadable, or that of ctx.
func (s *site) get(ctx context.Context, target *url.URL, same func(*url.URL) bool, read reader) error {
	for range maxRedirects + 1 {
		next, err := s.request(ctx, target, read)
		if err != nil || next == nil {
			return err
		}
		if !same(next) {
			return &halt{
				errorType: "not_found", what: "LinkedIn sent on to another page, " + pathOf(next),
				hint: "The page is gone, or is not for guests.",
			}
		}
		target = next
	}
	return &halt{errorType: "too_many_redirects", what: "LinkedIn sent on more than three times", hint: hintLater}
}

// request sends one request when its turn comes, and closes the gate before the
// next one's if the answer is a block. It returns where LinkedIn sends on to.
func (s *site) request(ctx context.Context, target *url.URL, read reader) (next *url.URL, err error) {
	if err := s.gate.enter(ctx); err != nil {
		return nil, err
	}
	defer s.gate.leave()
	defer func() {
		if h, ok := errors.AsType[*halt](err); ok {
			s.gate.close(h)
		}
	}()
	res, err := s.caller.Do(ctx, func(ctx context.Context) (*http.Request, error) {
		return httpcall.PageRequest(ctx, target.String(), httpcall.UserAgent)
	})
	if err != nil {
		return s.explain(ctx, target, err)
	}
	body := strings.ToValidUTF8(string(res.Body), "\uFFFD")
	switch {
	case read(body):
		return nil, nil
	case isWallPage(body):
		return nil, wallHalt("LinkedIn answered with a CAPTCHA or login page")
	}
	return nil, errUnreadable
}

// explain says why there is no page, or where there may be one.
func (s *site) explain(ctx context.Context, asked *url.URL, err error) (next *url.URL, _ error) {
	answer, ok := errors.AsType[*httpcall.StatusError](err)
	if !ok {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		p := httpcall.Explain(err)
		return nil, &halt{errorType: p.Type, what: p.Message, hint: p.Hint}
	}
	if answer.Status/100 != 3 {
		return nil, statusHalt(answer.Status, answer.Header)
	}
	next, err = asked.Parse(answer.Header.Get("Location"))
	switch {
	case err != nil || answer.Header.Get("Location") == "":
		return nil, statusHalt(answer.Status, answer.Header)
	case isWall(next):
		return nil, wallHalt("LinkedIn redirected to its login wall (" + pathOf(next) + ")")
	case !s.mayFollow(next):
		return nil, &halt{errorType: "bad_answer", what: "LinkedIn redirected to another site, which is not followed", hint: hintLater}
	}
	return next, nil
}

// pathOf returns the path of a URL from a page for a message.
func pathOf(u *url.URL) string { return clip(u.EscapedPath(), 100) }

// mayFollow reports whether a redirect stays where the configuration sends
// requests: on LinkedIn's hosts, or on the one host that stands in for them.
func (s *site) mayFollow(u *url.URL) bool {
	if u.User != nil {
		return false
	}
	if u.Scheme == s.base.Scheme && u.Host == s.base.Host {
		return true
	}
	return isLinkedInHost(s.base.Host) && u.Scheme == "https" && isLinkedInHost(u.Host)
}

// isLinkedInHost reports whether a host, which may not have a port, is
// linkedin.com or below it. Letters of other scripts that look like those, or
// become those in lower case, are not them.
func isLinkedInHost(host string) bool {
	for _, c := range []byte(host) {
		if c >= 0x80 {
			return false
		}
	}
	host = strings.ToLower(host)
	return host == "linkedin.com" || strings.HasSuffix(host, ".linkedin.com") && !strings.Contains(host, "..") && host[0] != '.'
}

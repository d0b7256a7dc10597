package linkedin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"toolserver/domain"
	"toolserver/tools/httpcall"
)

// site is LinkedIn as this server reaches it.
type site struct{ httpcall.Service }

// newSite returns the site for one tool. Limiter is shared by all: it admits one
// request at a time, so that none is in flight when LinkedIn blocks another.
func newSite(client *http.Client, base *url.URL, limiter *httpcall.Limiter) *site {
	s := &site{httpcall.Service{
		Name: "LinkedIn", Client: client, Base: base, Header: httpcall.PageHeader(httpcall.UserAgent),
		Timeout: requestTimeout, MaxBody: maxBody, Limiter: limiter,
	}}
	s.Fail = s.fail
	return s
}

// maxRedirects bounds how often LinkedIn may redirect, such as from www to the
// host of a country.
const maxRedirects = 3

// A reader takes what it can from a page. It reports whether the page is of the
// kind that was asked for.
type reader func(body string) bool

// errUnreadable is a page that is neither of the kind that was asked for nor a
// login wall.
var errUnreadable = errors.New("the page is not what was asked for")

// movedError is a redirect that may be followed.
type movedError struct{ to *url.URL }

func (e *movedError) Error() string { return "redirected to " + pathOf(e.to) }

// get gives the page at target to read. Redirects are followed if they stay on
// LinkedIn and same reports that they lead to the same page. The error is a
// [*httpcall.Failure], errUnreadable, or a timeout or cancellation of ctx.
func (s *site) get(ctx context.Context, target *url.URL, same func(*url.URL) bool, read reader) error {
	for range maxRedirects + 1 {
		err := s.Do(ctx, httpcall.Request{URL: target.String()}, func(res *httpcall.Response) error {
			body := strings.ToValidUTF8(string(res.Body), "\uFFFD")
			switch {
			case read(body):
				return nil
			case isLoginPage(body):
				return loginWall("LinkedIn answered with a CAPTCHA or login page")
			}
			return errUnreadable
		})
		moved, ok := errors.AsType[*movedError](err)
		if !ok {
			return explain(ctx, err)
		}
		if target = moved.to; !same(target) {
			return &httpcall.Failure{
				Type: "not_found", Message: "LinkedIn redirected to another page, " + pathOf(target),
				Hint: "The page is gone, or is not for guests.",
			}
		}
	}
	return &httpcall.Failure{Type: "too_many_redirects", Message: "LinkedIn redirected more than three times", Hint: hintLater}
}

// explain makes a Failure of what kept a request from being answered.
func explain(ctx context.Context, err error) error {
	_, late := errors.AsType[*httpcall.LateError](err)
	switch {
	case err == nil || errors.Is(err, errUnreadable):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case late:
		return context.DeadlineExceeded
	}
	f := httpcall.Explain(err)
	if !f.Since.IsZero() { // another request was blocked
		left := seconds(f.Cooldown)
		f.Message += fmt.Sprintf(" %v ago, so no request is sent for another %v", seconds(time.Since(f.Since)), left)
		f.Hint = fmt.Sprintf("Call again after %v.", left)
	}
	return f
}

// seconds rounds up, so that waiting for as long is enough.
func seconds(d time.Duration) time.Duration { return (d + time.Second - 1).Truncate(time.Second) }

// How long no request is sent after a block.
const (
	cooldownRate    = 5 * time.Minute  // after 429, unless Retry-After says otherwise
	cooldownBlocked = 10 * time.Minute // after 999, 401, 403, the login wall or a CAPTCHA
	maxCooldown     = 24 * time.Hour
)

const (
	hintBlocked = "LinkedIn does not answer programs from here now. Wait ten minutes at least, ask for less at a time, " +
		"or open the page in a browser."
	hintLater = "Try again later."
)

// statusDenied is LinkedIn's own, mostly for addresses of data centers.
const statusDenied = 999

var rules = httpcall.Rules{
	{Statuses: []int{statusDenied, http.StatusUnauthorized, http.StatusForbidden}, Type: "blocked", Hint: hintBlocked},
	{
		Statuses: []int{http.StatusNotFound, http.StatusGone}, Type: "not_found",
		Hint: "Check the id; jobs are removed some time after they are filled.",
	},
}

// fail says what an answer means that is not of class 2xx, or where it redirects.
func (s *site) fail(e *httpcall.StatusError) error {
	location := e.Header.Get("Location")
	next, err := e.URL.Parse(location)
	switch {
	case e.Status/100 != 3 || location == "" || err != nil:
		return statusFailure(e)
	case isLoginWall(next):
		return loginWall("LinkedIn redirected to its login wall (" + pathOf(next) + ")")
	case !s.mayFollow(next):
		return &httpcall.Failure{Type: "bad_answer", Message: "LinkedIn redirected to another site, which is not followed", Hint: hintLater}
	}
	return &movedError{next}
}

func statusFailure(e *httpcall.StatusError) *httpcall.Failure {
	f := rules.Failure(e, "")
	f.Message = fmt.Sprintf("HTTP %d", e.Status)
	if meaning := strings.ToLower(http.StatusText(e.Status)); meaning != "" {
		f.Message += " (" + meaning + ")"
	} else if e.Status == statusDenied {
		f.Message += " (request denied)"
	}
	switch f.Type {
	case "blocked":
		f.Cooldown = cooldownBlocked
	case "rate_limited":
		f.Cooldown, f.Hint = cooldownRate, "Wait some minutes before you ask again."
		if asked, ok := e.RetryAfter(); ok {
			f.Cooldown = min(asked, maxCooldown)
		}
		if f.Cooldown > 0 {
			f.Hint = "Wait " + seconds(f.Cooldown).String() + " before you ask again."
		}
	}
	return f
}

// loginWall is the failure when LinkedIn asks for a login or a CAPTCHA.
func loginWall(message string) *httpcall.Failure {
	return &httpcall.Failure{Type: "blocked", Message: message, Hint: hintBlocked, Cooldown: cooldownBlocked}
}

// loginPaths are the first parts of the paths to which LinkedIn redirects guests
// who are to log in or to prove that they are people.
var loginPaths = map[string]bool{
	"authwall": true, "login": true, "uas": true, "checkpoint": true, "signup": true,
	"reg": true, "start": true, "cold-join": true, "captcha": true,
}

// isLoginWall reports whether a redirect leads to a login, perhaps behind the
// letter of the mobile pages: /m/login.
func isLoginWall(u *url.URL) bool {
	first, rest, _ := strings.Cut(strings.TrimPrefix(strings.ToLower(u.Path), "/"), "/")
	if first == "m" {
		first, _, _ = strings.Cut(rest, "/")
	}
	return loginPaths[first]
}

// isLoginPage reports whether a page in which nothing else was found is a login
// or a CAPTCHA. Texts of jobs may speak of CAPTCHAs, so it is not for others.
func isLoginPage(body string) bool {
	body = strings.ToLower(body)
	for _, mark := range []string{"captcha", "/authwall", "/checkpoint/", "login-submit", "security verification", "unusual activity"} {
		if strings.Contains(body, mark) {
			return true
		}
	}
	return false
}

// failure returns the tool execution error for what ended the reading. It begins
// with one of two texts: about a status, or about anything else.
func failure(f *httpcall.Failure, fetching, other string) domain.ToolResult {
	about := other
	if f.Status != 0 {
		about = fetching
	}
	return domain.Failure(f.Type, about+": "+f.Message+". "+f.Hint, f.Hint)
}

// pathOf returns the path of a URL from a page for a message.
func pathOf(u *url.URL) string { return clip(u.EscapedPath(), 100) }

// mayFollow reports whether a redirect stays where the configuration sends
// requests: on LinkedIn's hosts, or on the one host that stands in for them.
func (s *site) mayFollow(u *url.URL) bool {
	if u.User != nil {
		return false
	}
	if u.Scheme == s.Base.Scheme && u.Host == s.Base.Host {
		return true
	}
	return isLinkedInHost(s.Base.Host) && u.Scheme == "https" && isLinkedInHost(u.Host)
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

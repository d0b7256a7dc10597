package linkedin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/outbound/httpcall"
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

// maxRedirects bounds how often LinkedIn may redirect, such as from www to the host of a country.
const maxRedirects = 3

// errUnreadable is a page that is neither of the kind that was asked for nor a login wall.
var errUnreadable = &httpcall.Failure{
	Type: "bad_answer", Message: "LinkedIn answered with a page in which no jobs can be found",
	Hint: "LinkedIn may have blocked the request, or the structure of its pages has changed. " + hintLater,
}

// movedError is a redirect that may be followed.
type movedError struct{ to *url.URL }

func (e *movedError) Error() string { return "redirected to " + pathOf(e.to) }

// get gives the page at target to read, which reports whether the page is of the kind that was asked for. Redirects are
// followed if they stay on LinkedIn and same reports that they lead to the same page.
func (s *site) get(ctx context.Context, target *url.URL, same func(*url.URL) bool, read func(body string) bool) *httpcall.Failure {
	for range maxRedirects + 1 {
		err := s.Do(ctx, httpcall.Request{URL: target.String()}, func(res *httpcall.Response) error {
			body := strings.ToValidUTF8(string(res.Body), "\uFFFD")
			switch {
			case read(body):
				return nil
			case loginPage().MatchString(body):
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
func explain(ctx context.Context, err error) *httpcall.Failure {
	if err == nil {
		return nil
	}
	if _, late := errors.AsType[*httpcall.LateError](err); late || ctx.Err() != nil {
		return &httpcall.Failure{Type: "timed_out", Message: "the search timed out", Hint: "Ask for less."}
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
	hintBlocked = "LinkedIn does not answer programs from here now. Wait ten minutes at least, ask for less, " +
		"or open the page in a browser."
	hintLater = "Try again later."
)

// statusDenied is LinkedIn's own, mostly for addresses of data centers.
const statusDenied = 999

var rules = httpcall.Rules{
	{Statuses: []int{statusDenied, http.StatusUnauthorized, http.StatusForbidden}, Type: "blocked", Hint: hintBlocked},
	{Statuses: []int{http.StatusNotFound, http.StatusGone}, Type: "not_found", Hint: hintLater},
}

// fail says what an answer means that is not of class 2xx, or where it redirects.
func (s *site) fail(e *httpcall.StatusError) error {
	location := e.Header.Get("Location")
	next, err := e.URL.Parse(location)
	switch {
	case e.Status/100 != 3 || location == "" || err != nil:
		return statusFailure(e)
	case loginPath().MatchString(next.Path):
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
		f.Cooldown = min(cmp.Or(f.After, cooldownRate), maxCooldown)
		f.Hint = "Wait " + seconds(f.Cooldown).String() + " before you ask again."
	}
	return f
}

// loginWall is the failure when LinkedIn asks for a login or a CAPTCHA.
func loginWall(message string) *httpcall.Failure {
	return &httpcall.Failure{Type: "blocked", Message: message, Hint: hintBlocked, Cooldown: cooldownBlocked}
}

var (
	// loginPath is the path to which LinkedIn redirects guests who are to log in or to prove that they are people, perhaps
	// behind the letter of the mobile pages.
	loginPath = lazyregexp.New(`(?i)^/(m/)?(authwall|login|uas|checkpoint|signup|reg|start|cold-join|captcha)(/|$)`)

	// loginPage is in a login page or CAPTCHA. Texts of jobs may mention CAPTCHAs, so only pages without any are searched.
	loginPage = lazyregexp.New(`(?i)captcha|/authwall|/checkpoint/|login-submit|security verification|unusual activity`)

	// linkedInHost is linkedin.com or below it, without a port. It is ASCII: case folding would admit other scripts.
	linkedInHost = lazyregexp.New(`^([A-Za-z0-9_-]+\.)*[Ll][Ii][Nn][Kk][Ee][Dd][Ii][Nn]\.[Cc][Oo][Mm]$`)
)

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
func pathOf(u *url.URL) string { return httpcall.Clip(u.EscapedPath(), 100) }

// mayFollow reports whether a redirect stays where the configuration sends
// requests: on LinkedIn's hosts, or on the one host that stands in for them.
func (s *site) mayFollow(u *url.URL) bool {
	stays := u.Scheme == s.Base.Scheme && u.Host == s.Base.Host
	secure := u.Scheme == "https" && linkedInHost().MatchString(s.Base.Host) && linkedInHost().MatchString(u.Host)
	return u.User == nil && (stays || secure)
}

package linkedin

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"toolserver/domain"
	"toolserver/tools/httpcall"
)

// How long LinkedIn is left alone.
const (
	coolTooMany = 5 * time.Minute  // after 429, unless Retry-After says otherwise
	coolBlocked = 10 * time.Minute // after 999, 401, 403, its login wall or a CAPTCHA
	maxCool     = 24 * time.Hour
)

// A halt is why nothing more is read.
type halt struct {
	errorType string
	status    int    // of an answer that is no page; 0 if it is not that
	what      string // the status with its meaning, or a clause
	more      string // goes on after that, from its space on
	hint      string
	cool      time.Duration // how long LinkedIn is to be left alone
}

// Error returns the halt as a clause.
func (h *halt) Error() string {
	if h.status != 0 {
		return "LinkedIn answered " + h.what + h.more
	}
	return h.what + h.more
}

// failure returns the halt as bad news that begins with one of two texts: about
// a status, or about anything else.
func (h *halt) failure(fetching, other string) domain.ToolResult {
	about := other
	if h.status != 0 {
		about = fetching
	}
	return domain.Failure(h.errorType, about+": "+h.what+h.more+". "+h.hint, h.hint)
}

// Hints that are given in several places.
const (
	hintBlocked = "LinkedIn does not answer programs from here now. Wait ten minutes at least, ask for less at a time, " +
		"or open the page in a browser."
	hintLater = "Try again later."
)

// statusHalt explains an answer by its status.
func statusHalt(status int, header http.Header) *halt {
	meaning := strings.ToLower(http.StatusText(status))
	h := &halt{errorType: "http_status", status: status, hint: hintLater}
	switch status {
	case http.StatusTooManyRequests:
		h.errorType, h.cool = "rate_limited", coolTooMany
		if asked, ok := httpcall.RetryAfter(header, time.Now()); ok {
			h.cool = min(asked, maxCool)
		}
		h.hint = "Wait some minutes before you ask again."
		if h.cool > 0 {
			h.hint = "Wait " + seconds(h.cool).String() + " before you ask again."
		}
	case 999: // LinkedIn's own, mostly for addresses of data centers
		meaning = "request denied"
		h.errorType, h.cool, h.hint = "blocked", coolBlocked, hintBlocked
	case http.StatusUnauthorized, http.StatusForbidden:
		h.errorType, h.cool, h.hint = "blocked", coolBlocked, hintBlocked
	case http.StatusNotFound, http.StatusGone:
		h.errorType, h.hint = "not_found", "Check the id; jobs are removed some time after they are filled."
	case http.StatusServiceUnavailable, 529:
		h.errorType = "overloaded"
	}
	h.what = "HTTP " + strconv.Itoa(status)
	if meaning != "" {
		h.what += " (" + meaning + ")"
	}
	return h
}

// wallHalt is LinkedIn asking for something that only a person has.
func wallHalt(what string) *halt {
	return &halt{errorType: "blocked", what: what, hint: hintBlocked, cool: coolBlocked}
}

// walls are the first parts of the paths LinkedIn sends guests to who are to log
// in or to prove that they are people.
var walls = map[string]bool{
	"authwall": true, "login": true, "uas": true, "checkpoint": true, "signup": true,
	"reg": true, "start": true, "cold-join": true, "captcha": true,
}

// isWall reports whether a redirect leads to a wall, in LinkedIn's own words or
// behind the letter of its mobile pages: /m/login.
func isWall(u *url.URL) bool {
	first, rest, _ := strings.Cut(strings.TrimPrefix(strings.ToLower(u.Path), "/"), "/")
	if first == "m" {
		first, _, _ = strings.Cut(rest, "/")
	}
	return walls[first]
}

// wallMarks are what the pages have in them that stand in for the one asked for.
var wallMarks = []string{"captcha", "/authwall", "/checkpoint/", "login-submit", "security verification", "unusual activity"}

// isWallPage reports whether a page in which nothing else was found is a wall.
// Texts of jobs may speak of CAPTCHAs, so others are not asked about.
func isWallPage(body string) bool {
	body = strings.ToLower(body)
	for _, mark := range wallMarks {
		if strings.Contains(body, mark) {
			return true
		}
	}
	return false
}

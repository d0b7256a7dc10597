package linkedin

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

// Forms in which a job is named. Ids have ten digits today; sixteen leave room
// for what is to come, and keep other numbers out.
var (
	bareID  = lazyregexp.New(`^[1-9][0-9]{0,15}$`)
	urnID   = lazyregexp.New(`^urn:li:(?:[a-zA-Z]+_)*[jJ]obPosting:([1-9][0-9]{0,15})$`)
	viewID  = lazyregexp.New(`^(?:/comm)?/jobs/view/(?:[^/]*-)?([1-9][0-9]{0,15})/?$`)
	guestID = lazyregexp.New(`^/jobs-guest/jobs/api/jobPosting/([1-9][0-9]{0,15})/?$`)
)

// jobID returns the id of the job that an argument names: an id, a URN, or the URL of a page of the job or of a search in
// which it is open. If it names none, why says what is wrong with it, as a clause.
func (s *site) jobID(arg string) (id, why string) {
	arg = strings.TrimSpace(arg)
	if bareID().MatchString(arg) {
		return arg, ""
	}
	if m := urnID().FindStringSubmatch(arg); m != nil {
		return m[1], ""
	}
	if strings.ContainsAny(arg, "\\ \t\r\n") {
		return "", "it is no URL"
	}
	if host, _, _ := strings.Cut(arg, "/"); linkedInHost().MatchString(host) { // as browsers show it
		arg = "https://" + arg
	}
	u, err := url.Parse(arg)
	switch {
	case err != nil:
		return "", "it is no URL"
	case u.Scheme != "https" && u.Scheme != "http" || u.Opaque != "":
		return "", "it does not start with https://"
	case u.User != nil:
		return "", "it has a user name in it, so that its host is " + u.Host
	case !s.isOurs(u):
		return "", "its host is not linkedin.com"
	}
	if id := idOfURL(u); id != "" {
		return id, ""
	}
	return "", "it is not the page of a job"
}

// isOurs reports whether a URL is one of LinkedIn's, or of the host that stands in for it.
func (s *site) isOurs(u *url.URL) bool {
	return u.User == nil && (linkedInHost().MatchString(u.Host) || strings.EqualFold(u.Scheme, s.Base.Scheme) && strings.EqualFold(u.Host, s.Base.Host))
}

// idOfURL returns the id of the job that a URL of LinkedIn's leads to, or "".
// The path is read as it is written: an escaped slash is not a slash.
func idOfURL(u *url.URL) string {
	path := u.EscapedPath()
	if lower := strings.ToLower(path); strings.Contains(lower, "%2f") || strings.Contains(lower, "%5c") {
		return ""
	}
	for _, form := range []*regexp.Regexp{viewID(), guestID()} {
		if m := form.FindStringSubmatch(path); m != nil {
			return m[1]
		}
	}
	if id := u.Query().Get("currentJobId"); bareID().MatchString(id) && (path == "/jobs" || strings.HasPrefix(path, "/jobs/")) {
		return id
	}
	return ""
}

// canonical returns the URL of a page of LinkedIn's without what tracks who
// follows it, or "" if the address in a page is not one.
func (s *site) canonical(href string) string {
	if href = strings.TrimSpace(href); href == "" {
		return ""
	}
	u, err := publicBase.Parse(href)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || !s.isOurs(u) {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}

// publicBase is what links in pages are relative to, wherever the pages came from.
var publicBase = &url.URL{Scheme: "https", Host: "www.linkedin.com", Path: "/"}

// viewURL is the public page of a job.
func viewURL(id string) string { return DefaultBaseURL + "/jobs/view/" + id }

package linkedin

import (
	"net/http"
	"net/url"
)

// TooManyRequests is HTTP 429; retryAfter is its header of that name, if it is
// not empty.
func TooManyRequests(retryAfter string) *Answer {
	a := &Answer{Status: http.StatusTooManyRequests}
	if retryAfter != "" {
		a.Header = map[string]string{"Retry-After": retryAfter}
	}
	return a
}

// RequestDenied is HTTP 999, with the script that sends browsers to the login
// wall.
func RequestDenied() *Answer {
	return &Answer{Status: 999, Body: `<html><head><script type="text/javascript">window.onload = function() {
  window.location.href = "https://" + window.location.hostname + "/authwall?trk=bf&original_referer=";
}</script></head></html>`}
}

// Authwall is the redirect to the login wall.
func Authwall(asked *http.Request) *Answer {
	to := "/authwall?trk=qf&sessionRedirect=" + url.QueryEscape("https://www.linkedin.com"+asked.URL.RequestURI())
	return Redirect(to)
}

// Redirect is HTTP 302.
func Redirect(to string) *Answer {
	return &Answer{Status: http.StatusFound, Header: map[string]string{"Location": to}}
}

// Captcha is HTTP 200 with a challenge.
func Captcha() *Answer {
	return &Answer{Status: http.StatusOK, Body: `<!DOCTYPE html><html lang="en"><head><title>Security Verification | LinkedIn</title></head><body>
<main class="app__content" role="main"><h1>Let’s do a quick security check</h1>
<form action="/checkpoint/challenge/verify" method="POST"><div id="captcha-challenge">
<iframe id="captcha-internal" src="https://www.linkedin.com/checkpoint/challenge/captchaInternal"></iframe></div></form>
</main></body></html>`}
}

// Status is any other status, without a body.
func Status(status int) *Answer { return &Answer{Status: status} }

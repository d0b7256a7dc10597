package google

import (
	"html/template"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// authorization is a request for the page that asks a person for consent.
type authorization struct {
	redirect, state, challenge, nonce string
	scopes                            []string
	offline, consent, include         bool
}

// consentPage has one checkbox a scope, as a person may allow some of them. Its ids do not change.
var consentPage = template.Must(template.New("").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Sign in - Google Accounts</title></head><body>
<h1>toolserver wants access to your Google Account</h1>
<form id="consent" method="post" action="` + AuthPath + `">
<input type="hidden" name="request" value="{{.ID}}">
<label>Account <select id="account" name="account">
{{- range .Accounts}}<option value="{{.}}"{{if eq . $.Hint}} selected{{end}}>{{.}}</option>{{end -}}
</select></label>
{{range $i, $s := .Scopes}}<p><label><input type="checkbox" id="scope-{{$i}}" name="scope" value="{{$s.Name}}" checked> {{$s.About}}</label></p>
{{end -}}
<button id="deny" name="decision" value="deny">Cancel</button> <button id="allow" name="decision" value="allow">Continue</button>
</form></body></html>
`))

var errorPage = template.Must(template.New("").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Error {{.Status}}: {{.Reason}}</title></head><body>
<h1>Access blocked: {{.Message}}</h1><p id="error">Error {{.Status}}: {{.Reason}}</p></body></html>
`))

func showError(w http.ResponseWriter, status int, reason, message string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = errorPage.Execute(w, Answer{Status: status, Reason: reason, Message: message})
}

// authorize shows the consent page and answers its form.
func (f *Fake) authorize(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch r.Method {
	case http.MethodGet:
		f.ask(w, r.URL.Query())
	case http.MethodPost:
		if err := r.ParseForm(); err != nil {
			showError(w, http.StatusBadRequest, "invalid_request", "the form is malformed")
			return
		}
		f.decide(w, r, r.PostForm)
	default:
		showError(w, http.StatusMethodNotAllowed, "invalid_request", "only GET and POST")
	}
}

// ask shows the page, if the request for it keeps to the rules.
func (f *Fake) ask(w http.ResponseWriter, q url.Values) {
	for name, values := range q {
		if len(values) > 1 {
			showError(w, http.StatusBadRequest, "invalid_request", "the parameter "+name+" is repeated")
			return
		}
	}
	a := &authorization{
		redirect: q.Get("redirect_uri"), state: q.Get("state"), challenge: q.Get("code_challenge"), nonce: q.Get("nonce"),
		offline: q.Get("access_type") == "offline", consent: slices.Contains(strings.Fields(q.Get("prompt")), "consent"),
		include: q.Get("include_granted_scopes") == "true", scopes: strings.Fields(q.Get("scope")),
	}
	for i, s := range a.scopes {
		if s == "email" || s == "profile" {
			a.scopes[i] = userinfo + s
		}
		if _, known := f.scopes[a.scopes[i]]; !known {
			showError(w, http.StatusBadRequest, "invalid_scope", "some requested scopes were invalid: "+s)
			return
		}
	}
	switch {
	case q.Get("client_id") != f.o.ClientID:
		showError(w, http.StatusUnauthorized, "invalid_client", "the OAuth client was not found")
	case f.o.Redirect == "" && !loopback(a.redirect), f.o.Redirect != "" && a.redirect != f.o.Redirect:
		showError(w, http.StatusBadRequest, "redirect_uri_mismatch", "this app's request is invalid")
	case q.Get("response_type") != "code":
		showError(w, http.StatusBadRequest, "unsupported_response_type", "response_type must be code")
	case len(a.scopes) == 0:
		showError(w, http.StatusBadRequest, "invalid_request", "missing required parameter: scope")
	case len(a.challenge) != 43 || q.Get("code_challenge_method") != "S256":
		showError(w, http.StatusBadRequest, "invalid_request", "code_challenge with code_challenge_method S256 is required")
	case q.Get("access_type") != "" && q.Get("access_type") != "offline" && q.Get("access_type") != "online":
		showError(w, http.StatusBadRequest, "invalid_request", "invalid parameter value for access_type")
	default:
		id := secret(16)
		f.asked[id] = a
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		_ = consentPage.Execute(w, map[string]any{"ID": id, "Accounts": f.order, "Hint": q.Get("login_hint"), "Scopes": f.described(a.scopes)})
	}
}

// loopback reports whether a Desktop app may have people sent to address: to its own machine, on any port.
func loopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || u.User != nil || u.Fragment != "" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && (ip.String() == "127.0.0.1" || ip.String() == "::1")
}

// signIn reports whether a scope only says who the user is: the page does not ask for it.
func signIn(scope string) bool { return scope == "openid" || strings.HasPrefix(scope, userinfo) }

type described struct{ Name, About string }

func (f *Fake) described(scopes []string) (all []described) {
	for _, s := range scopes {
		if !signIn(s) {
			all = append(all, described{s, f.scopes[s]})
		}
	}
	return all
}

// decide answers the page's form.
func (f *Fake) decide(w http.ResponseWriter, r *http.Request, form url.Values) {
	a := f.asked[form.Get("request")]
	u := f.users[form.Get("account")]
	if a == nil || u == nil {
		showError(w, http.StatusBadRequest, "invalid_request", "the page is no longer valid")
		return
	}
	if !u.TestUser {
		showError(w, http.StatusForbidden, "access_denied", "toolserver has not completed the Google verification process")
		return
	}
	delete(f.asked, form.Get("request"))
	var allowed []string
	chosen := 0
	for _, s := range a.scopes {
		if signIn(s) || slices.Contains(form["scope"], s) {
			allowed = append(allowed, s)
		}
		if !signIn(s) && slices.Contains(form["scope"], s) {
			chosen++
		}
	}
	back, _ := url.Parse(a.redirect) // was parsed before
	q := back.Query()
	if a.state != "" {
		q.Set("state", a.state)
	}
	if form.Get("decision") != "allow" || chosen == 0 && len(f.described(a.scopes)) > 0 {
		q.Set("error", "access_denied")
	} else {
		if a.include {
			allowed = f.withEarlier(u, allowed)
		}
		text := "4/0A" + secret(36)
		f.codes[text] = &code{asked: a, user: u, scopes: allowed, expires: f.o.Now().Add(codeLife)}
		q.Set("code", text)
		q.Set("scope", strings.Join(allowed, " "))
		q.Set("iss", "https://accounts.google.com")
		q.Set("authuser", "0")
		q.Set("prompt", "consent")
	}
	back.RawQuery = q.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// withEarlier adds the scopes that a user has granted before.
func (f *Fake) withEarlier(u *user, scopes []string) []string {
	for _, g := range f.grants {
		if g.user != u || g.revoked {
			continue
		}
		for _, s := range g.scopes {
			if !slices.Contains(scopes, s) {
				scopes = append(scopes, s)
			}
		}
	}
	return scopes
}

package signin

import (
	"fmt"
	"html"
	"net/http"
	"strings"
)

// again says how people get another sign-in.
const again = "Ask for the sign-in again to get a new link."

// page answers with a page. Text is not from the request, and escaped here.
func page(w http.ResponseWriter, status int, title, text string) {
	write(w, status, title, "<p>"+html.EscapeString(text)+"</p>")
}

func write(w http.ResponseWriter, status int, title, body string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>%s</title>
<style>body{font:1.1em/1.5 system-ui,sans-serif;max-width:34em;margin:4em auto;padding:0 1em}input,button{font:inherit;padding:.3em .6em}</style></head>
<body><h1>%[1]s</h1>%s</body></html>
`, html.EscapeString(title), body)
}

// proofPage asks for the credential of the principal whose sign-in it is.
func proofPage(w http.ResponseWriter, status int, f *Flow, problem string) {
	if problem != "" {
		problem = "<p><strong>" + html.EscapeString(problem) + "</strong></p>"
	}
	r := f.request
	write(w, status, "Sign in to "+r.Title, fmt.Sprintf(`%s<p>This connects %s with %s. Did somebody else send you this link? Then close this page.</p>
<form method="post"><p><label>Enter the token that your MCP client uses for this server:<br>
<input type="password" name="token" autocomplete="off" required autofocus></label> <button>Continue to %s</button></p></form>`,
		problem, html.EscapeString(r.Account), html.EscapeString(display(r.Principal)), html.EscapeString(r.Provider)))
}

// onwardPage goes on to where consent is asked for.
func onwardPage(w http.ResponseWriter, f *Flow) {
	onward := "Continue to " + f.request.Provider
	write(w, http.StatusOK, onward, fmt.Sprintf(`<meta http-equiv="refresh" content="0;url=%s"><p><a href="%[1]s">%s</a></p>`,
		html.EscapeString(f.consent()), html.EscapeString(onward)))
}

// donePage says what was connected with whom.
func donePage(w http.ResponseWriter, f *Flow, done Done) {
	title := f.request.Title
	text := "<p>" + html.EscapeString(strings.ToUpper(title[:1])+title[1:])
	if done.Account != "" {
		text += " of <strong>" + html.EscapeString(done.Account) + "</strong>"
	}
	text += " is connected with <strong>" + html.EscapeString(display(f.request.Principal)) + "</strong>. You can close this tab.</p>"
	if len(done.Missing) > 0 {
		text += "<p>You did not allow all of it. Not possible:</p><ul>"
		for _, what := range done.Missing {
			text += "<li>" + html.EscapeString(what) + "</li>"
		}
		text += "</ul>"
	}
	write(w, http.StatusOK, "Signed in", text)
}

// display returns the name of a principal: its ID without the source.
func display(principal string) string {
	if _, name, ok := strings.Cut(principal, ":"); ok && name != "" {
		return name
	}
	return principal
}

// sentence makes one of a clause.
func sentence(clause error) string {
	text := clause.Error()
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

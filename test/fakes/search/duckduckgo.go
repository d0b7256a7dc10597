package search

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// DuckDuckGo returns DuckDuckGo lite, with its markup of 2026. Its first page has ten results, the others fifteen. Further
// pages are shown only to those who send the form that leads to them; anybody else is taken for a machine. So is who comes too
// often.
func DuckDuckGo(o Options) *Service { return newService(o, serveDuckDuckGo) }

var duckRegion = regexp.MustCompile(`^([a-z]{2}-[a-z]{2,3})?$`)

const duckToken = "4-27547094037301250810679169593972079382"

func serveDuckDuckGo(s *Service, w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/lite/" && r.URL.Path != "/lite" {
		http.Error(w, "<html><body>404</body></html>", http.StatusNotFound)
		return
	}
	if err := r.ParseForm(); err != nil {
		http.Error(w, "<html><body>400</body></html>", http.StatusBadRequest)
		return
	}
	form := r.Form
	from := 0
	if form.Has("s") {
		from, _ = strconv.Atoi(form.Get("s"))
	}
	known := !form.Has("s") || form.Get("vqd") == duckToken && form.Get("dc") == strconv.Itoa(from+1) && r.Method == http.MethodPost
	ok, _, _, _ := s.admit()
	switch query := form.Get("q"); {
	case !ok || !known || s.is(Forbidden) || r.Header.Get("User-Agent") == "" || strings.HasPrefix(r.Header.Get("User-Agent"), "Go-http-client"):
		writePage(w, http.StatusAccepted)
	case strings.HasPrefix(query, "!"):
		w.Header().Set("Location", "https://elsewhere.example/?q="+url.QueryEscape(query))
		w.WriteHeader(http.StatusSeeOther)
	case query == "" || utf8.RuneCountInString(query) > 499 || !duckRegion.MatchString(form.Get("kl")) ||
		!slices.Contains([]string{"", "d", "w", "m", "y"}, form.Get("df")):
		http.Error(w, "<html><body>400</body></html>", http.StatusBadRequest)
	default:
		w.Header().Set("Content-Type", "text/html; charset=UTF-8")
		_, _ = fmt.Fprint(w, s.duckPage(query, form, from))
	}
}

func (s *Service) duckPage(query string, form url.Values, from int) string {
	switch {
	case s.is(BadJSON):
		return "<html><body><table><tr><td><a rel='nofollow' hre"
	case s.is(OtherJSON):
		return "<html><body><h1>A new design</h1><div class='card'><a href='https://example.com/'>Title</a></div></body></html>"
	}
	size := 10
	if from > 0 {
		size = 15
	}
	docs := Corpus(query)
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN"><html><head><title>` + html.EscapeString(query) + ` at DuckDuckGo</title></head>
<body><form action="/lite/" method="post"><input class="query" type="text" size="40" name="q" value="` + html.EscapeString(query) + `"><input type="submit" class="submit" value="Search">
<select name="kl"><option value="">All Regions</option></select></form><table border="0">
<tr class='result-sponsored'><td>&nbsp;</td><td><a rel="nofollow" href="https://duckduckgo.com/y.js?ad_domain=ad.example&amp;u3=x" class='result-link'>An advertisement</a></td></tr>
<tr class='result-sponsored'><td>&nbsp;</td><td class='result-snippet'>Buy <b>` + html.EscapeString(query) + `</b></td></tr></table><table border="0">`)
	page := slice(docs, from, from+size)
	for i, d := range page {
		href := html.EscapeString("//duckduckgo.com/l/?uddg=" + url.QueryEscape(d.URL) + "&rut=abc")
		if i%2 == 1 {
			href = html.EscapeString(d.URL)
		}
		fmt.Fprintf(&b, `
<tr><td valign="top">%d.&nbsp;</td><td><a rel="nofollow" href="%s" class='result-link'>%s</a></td></tr>
<tr><td>&nbsp;&nbsp;&nbsp;</td><td class='result-snippet'>
  %s
</td></tr>
<tr><td>&nbsp;&nbsp;&nbsp;</td><td><span class='link-text'>%s</span>`, from+i+1, href, d.render(d.Title, query, "b"), d.render(d.Text, query, "b"), html.EscapeString(d.URL))
		if d.Age != "" {
			fmt.Fprintf(&b, `&nbsp;&nbsp;&nbsp;<span class='timestamp'>%sT00:00:00.0000000</span>`, d.Age)
		}
		b.WriteString("</td></tr>\n<tr><td>&nbsp;</td><td>&nbsp;</td></tr>")
	}
	b.WriteString("</table>")
	if len(page) == 0 {
		b.WriteString("No results.")
	}
	if from > 0 {
		b.WriteString(`<form class="prev_form" action="/lite/" method="post"><input type="submit" class='navbutton' value="&lt; Previous Page"><input type="hidden" name="s" value="0"></form>`)
	}
	if next := from + size; next < len(docs) {
		fmt.Fprintf(&b, `<form class="next_form" action="/lite/" method="post"><input type="submit" class='navbutton' value="Next Page &gt;">
<input type="hidden" name="q" value="%s"><input type="hidden" name="s" value="%d"><input type="hidden" name="nextParams" value=""><input type="hidden" name="v" value="l">
<input type="hidden" name="o" value="json"><input type="hidden" name="dc" value="%d"><input type="hidden" name="api" value="d.js"><input type="hidden" name="vqd" value="%s">
<input name="kl" value="%s" type="hidden"><input name="df" value="%s" type="hidden"></form>`,
			html.EscapeString(query), next, next+1, duckToken, html.EscapeString(form.Get("kl")), html.EscapeString(form.Get("df")))
	}
	b.WriteString("</body></html>")
	return b.String()
}

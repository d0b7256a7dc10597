package websearch

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/outbound/httpcall"
)

// TestDuckPage reads pages in the markup that was seen over the years.
func TestDuckPage(t *testing.T) {
	const form = `<form class="next_form" action="/lite/" method="post"><input type="submit" value="Next Page &gt;"><input type="hidden" name="s" value="10"><input type="hidden" name="vqd" value="4-1"></form>`
	for _, test := range []struct {
		name, page string
		want       string // url title|description|age of each result; or the type of the error
		next       string
	}{
		{"rows", `<table><tr><td>1.&nbsp;</td><td><a rel="nofollow" href="https://a.example/" class='result-link'>A &amp; <b>b</b></a></td></tr>
			<tr><td>&nbsp;</td><td class='result-snippet'>about <b>a</b></td></tr><tr><td></td><td><span class='link-text'>a.example</span> <span class='timestamp'>2026-01-02T00:00:00.0000000</span></td></tr>
			<tr><td>2.&nbsp;</td><td><a class="result-link" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fb.example%2F%3Fx%3D1%26y%3D2&amp;rut=1">B</a></td></tr></table>` + form,
			"https://a.example/ A &amp; <b>b</b>|about <b>a</b>|2026-01-02T00:00:00.0000000; https://b.example/?x=1&y=2 B||", "s=10&vqd=4-1"},
		{"advertisements", `<table><tr class='result-sponsored'><td><a class='result-link' href="https://ad.example/">Ad</a></td><td><a class='result-link' href="http://help/">more info</a></td></tr>
			<tr class='result-sponsored'><td class='result-snippet'>buy</td></tr>
			<tr><td><a class='result-link' href="https://duckduckgo.com/y.js?ad_domain=x">Ad</a></td></tr><tr><td class='result-snippet'>buy</td></tr>
			<tr><td><a class='result-link' href="https://c.example/">C</a></td></tr><tr><td class='result-snippet'>c</td></tr></table>`,
			" Ad|buy|; https://c.example/ C|c|", ""},
		{"an answer above", `<table><tr><td>Zero-click info: <a href="https://en.wikipedia.org/">Wikipedia</a></td></tr><tr><td>An encyclopedia</td></tr></table>
			<table><tr><td><a class='result-link' href='https://d.example/'>D</a></td></tr></table>`, "https://d.example/ D||", ""},
		{"a layout of tables", `<table><tr><td><table><tr><td><a class='result-link' href='https://e.example/'>E</a></td></tr><tr><td class='result-snippet'>e</td></tr></table></td></tr></table>`, "https://e.example/ E|e|", ""},
		{"none", `<table></table><table><tr><td><span class="no-results">There are none</span></td></tr></table>`, "", ""},
		{"none, in words", `<body>No results.</body>`, "", ""},
		{"no more", `<body><b>No more results.</b><form class="prev_form"><input type="submit" value="&lt; Previous Page"><input type="hidden" name="s" value="0"></form></body>`, "", ""},
		{"next by its label", `<a></a>No results.<form><input type="submit" value="Next Page &gt;"><input name="q" value="x" type="hidden"></form>`, "", "q=x"},
		{"a form of many fields", `No results.<form class="next_form">` + strings.Repeat(`<input type="hidden" name="a">`, maxFields+1) + `</form>`, "", ""},
		{"challenge", `<div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div>`, "blocked", ""},
		{"challenge form", `<form id="challenge-form"></form>`, "blocked", ""},
		{"another page", `<h1>Welcome</h1>`, "bad_answer", ""},
		{"empty", ``, "bad_answer", ""},
		{"nested too deep", strings.Repeat("<div>", 10_000), "bad_answer", ""},
	} {
		d := connectAll(same{})["duckduckgo"]
		found, form, err := d.parseDuckPage(test.page)
		var got []string
		next := ""
		if trouble, ok := errors.AsType[*httpcall.Failure](err); ok {
			got = append(got, trouble.Type)
		} else {
			for _, r := range found {
				got = append(got, fmt.Sprintf("%s %s|%s|%s", r.URL, r.Title, r.Description, r.Age))
			}
			next = form.Encode()
		}
		if text := strings.Join(got, "; "); text != test.want || next != test.next {
			t.Errorf("%s:\n got %q, next %q\nwant %q, next %q", test.name, text, next, test.want, test.next)
		}
	}
}

func TestUnwrapDuck(t *testing.T) {
	for href, want := range map[string]string{
		"//duckduckgo.com/l/?uddg=" + url.QueryEscape("https://a.example/?b=c&d=%20#e") + "&rut=1": "https://a.example/?b=c&d=%20#e",
		"/l/?kh=-1&uddg=https%3A%2F%2Fa.example%2F":                                                "https://a.example/",
		"https://duckduckgo.com/l/?uddg=https%3A%2F%2Fduckduckgo.com%2Fy.js%3Fad":                  "",
		"https://duckduckgo.com/y.js?ad_domain=x":                                                  "",
		"//a.example/x":               "https://a.example/x",
		"https://a.example/l/?uddg=x": "https://a.example/l/?uddg=x",
		"http://[":                    "",
	} {
		if got := unwrapDuck(href); got != want {
			t.Errorf("%q: %q; want %q", href, got, want)
		}
	}
}

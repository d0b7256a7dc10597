package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// contentPage has one of everything that HTML becomes text of.
const contentPage = `<!DOCTYPE html><html><head><title>T</title><base href="/base/"><style>p{}</style></head><body>
<nav><a href="/home">Home</a></nav>
<main id=main><h1>Title &amp; more</h1>
<p>First&nbsp;line<br>second &lt;b&gt; &amp;amp; <b>bold</b> <i>in</i>line &#8364; &hellip;
<ul><li>one<ul><li>inner</ul><li>two</ul><ol><li>first</ol>
<table><tr><th>k<th>v</tr><tr><td>a</td><td><p>b</p></td></tr><tr><td></td><td>c</td></tr></table>
<pre>  kept
    as is</pre>
<p><a href="rel?q=1">Relative</a>, <a href="https://example.com/x">https://example.com/x</a>, <a href="#here">here</a>, <a href="javascript:x()">js</a>.
<script>var hidden = "script";</script><template>hidden</template><!-- hidden --></main>
<footer>End</footer></body></html>`

// contentNumbers has numbers that no float64 holds, and a name twice.
const contentNumbers = `{"z":9223372036854775808,"a":-9223372036854775809,"z":18446744073709551617,"m":[1.10,1e400,-0,1E5],"u":"\u00e9\ud83d\ude00</x>"}`

// TestWebFetchContent holds what is made of a page to the last character.
func TestWebFetchContent(t *testing.T) {
	t.Parallel()
	site := serveSite(t, map[string]http.HandlerFunc{
		"/page":    body("text/html; charset=utf-8", contentPage),
		"/xhtml":   body("application/xhtml+xml", `<html xmlns="http://www.w3.org/1999/xhtml"><body><p>x<br/>y</p></body></html>`),
		"/sniffed": body("application/octet-stream", "<!doctype html><p>sniffed"),
		"/untyped": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			w.Write([]byte(`{"a":1}`))
		},
		"/xml":      body("application/atom+xml", "<a><b>c</b></a>"),
		"/numbers":  body("application/vnd.api+json", contentNumbers),
		"/not-json": body("application/json", "{\"a\": \n nope"),
		"/lines":    body("application/x-ndjson", "{\"a\":1}\n{\"b\":2}\n"),
	})
	c := openFetch(t, "", site)
	const main = "Title & more\n\nFirst line\nsecond <b> &amp; bold inline € …\n\n" +
		"- one\n  - inner\n- two\n\n1. first\n\nk\tv\na\tb\n\tc\n\n  kept\n    as is\n\n"
	for _, tt := range []struct {
		path string
		args []any
		want string
	}{
		{"/page", nil, "Home (SITE/home)\n\n" + main + "Relative (SITE/base/rel?q=1), https://example.com/x, here, js.\n\nEnd"},
		{"/page", []any{"links", "none"}, "Home\n\n" + main + "Relative, https://example.com/x, here, js.\n\nEnd"},
		{"/page", []any{"links", "list"}, "Home [1]\n\n" + main + "Relative [2], https://example.com/x, here, js.\n\nEnd\n\n" +
			"Links:\n[1] SITE/home\n[2] SITE/base/rel?q=1"},
		{"/page", []any{"format", "raw"}, contentPage},
		{"/page", []any{"selector", "h1, li ul, ol"}, "Title & more\n\n- inner\n\n1. first"},
		{"/page", []any{"selector", "footer", "format", "raw"}, "<footer>End</footer>"},
		{"/xhtml", nil, "x\ny"},
		{"/sniffed", nil, "sniffed"},
		{"/untyped", nil, "{\n  \"a\": 1\n}"},
		{"/xml", nil, "<a><b>c</b></a>"},
		{"/numbers", nil, "{\n  \"z\": 9223372036854775808,\n  \"a\": -9223372036854775809,\n  \"z\": 18446744073709551617,\n" +
			"  \"m\": [\n    1.10,\n    1e400,\n    -0,\n    1E5\n  ],\n" +
			"  \"u\": \"\\u00e9\\ud83d\\ude00</x>\"\n}"},
		{"/numbers", []any{"format", "raw"}, contentNumbers},
		{"/not-json", nil, "{\"a\": \n nope"},
		{"/lines", nil, "{\"a\":1}\n{\"b\":2}\n"},
	} {
		want := strings.ReplaceAll(tt.want, "SITE", site)
		if got := c.fetched(site+tt.path, tt.args...); got != want {
			t.Errorf("%s %v:\n%q\nwant\n%q", tt.path, tt.args, got, want)
		}
	}
	markdown := c.fetched(site+"/page", "format", "markdown")
	for _, part := range []string{
		"# Title & more", "**bold**", "- one", "  - inner", "1. first", "| k | v |", "```\n  kept\n    as is\n```", "[Home](" + site + "/home)",
	} {
		if !strings.Contains(markdown, part) {
			t.Errorf("Markdown lacks %q:\n%s", part, markdown)
		}
	}
	if strings.Contains(markdown, "hidden") || strings.Contains(c.fetched(site+"/page", "format", "markdown", "links", "none"), "](") {
		t.Errorf("Markdown has what is not text, or links although there are to be none:\n%s", markdown)
	}
	c.ping()
}

// TestWebFetchBase resolves links against the address that a page names, whatever
// is made of it.
func TestWebFetchBase(t *testing.T) {
	t.Parallel()
	const page = `<head><base href="/base/x"></head><main><p><a href="rel?q=1">Relative</a> <a href="/top">top</a></main>`
	site := serveSite(t, map[string]http.HandlerFunc{"/dir/page": body("text/html", page)})
	c := openFetch(t, "", site)
	for _, tt := range []struct {
		args []any
		want string
	}{
		{nil, "Relative (SITE/base/rel?q=1) top (SITE/top)"},
		{[]any{"links", "list"}, "Relative [1] top [2]\n\nLinks:\n[1] SITE/base/rel?q=1\n[2] SITE/top"},
		{[]any{"format", "markdown"}, "[Relative](SITE/base/rel?q=1) [top](SITE/top)"},
		{[]any{"selector", "main"}, "Relative (SITE/base/rel?q=1) top (SITE/top)"},
		{[]any{"selector", "main", "format", "markdown"}, "[Relative](SITE/base/rel?q=1) [top](SITE/top)"},
	} {
		if got, want := c.fetched(site+"/dir/page", tt.args...), strings.ReplaceAll(tt.want, "SITE", site); got != want {
			t.Errorf("%v: %q, want %q", tt.args, got, want)
		}
	}
}

// TestWebFetchNested fetches pages that nest deeper than parsers like: none of
// their text is lost, and parts of them can be selected.
func TestWebFetchNested(t *testing.T) {
	t.Parallel()
	const depth = 5000
	names := []string{"div", "b", "a", "ul", "li", "table", "td", "svg", "template", "blockquote", "font", "select", "button", "math"}
	sites := map[string]string{}
	hosts := []string{serveSite(t, map[string]http.HandlerFunc{"/": body("application/json",
		strings.Repeat("[", depth)+strings.Repeat("]", depth))})}
	for _, name := range names {
		open := "<p id=top>top</p>" + strings.Repeat("<"+name+">", depth) + "<section id=x>deep</section>"
		sites[name] = serveSite(t, map[string]http.HandlerFunc{
			"/open": body("text/html", open), "/closed": body("text/html", open+strings.Repeat("</"+name+">", depth)+"<p id=end>bottom</p>"),
		})
		hosts = append(hosts, sites[name])
	}
	c := openFetch(t, "", hosts...)
	for _, name := range names {
		for _, path := range []string{"/open", "/closed"} {
			for _, args := range [][]any{nil, {"format", "markdown"}, {"selector", "#top"}, {"selector", "#top", "format", "markdown"}} {
				if text := c.fetched(sites[name]+path, args...); !strings.HasPrefix(text, "top") {
					t.Errorf("%s %s %v: %.300q", path, name, args, text)
				}
			}
		}
	}
	for _, name := range []string{"div", "b", "ul", "li", "blockquote", "font", "button"} {
		page := sites[name] + "/closed"
		for _, args := range [][]any{nil, {"format", "markdown"}} {
			if text := c.fetched(page, args...); strings.Count(text, "deep") != 1 || !strings.HasSuffix(text, "bottom") {
				t.Errorf("%s %v: ...%q", name, args, text[max(0, len(text)-300):])
			}
		}
		for selector, want := range map[string]string{"#end": "bottom", "#x": "deep", "section": "deep"} {
			if text := c.fetch(page, "selector", selector).text(); !strings.HasSuffix(text, "\n\n"+want) {
				t.Errorf("%s: %s selects %.300q", name, selector, text)
			}
		}
	}
	if a := c.fetch(hosts[0]); a.failed() || a.Result.Meta["total_length"].(float64) < 2*depth {
		t.Errorf("nested JSON: %.300q", a.text())
	}
	c.ping()
}

package search

import (
	"fmt"
	"html"
	"strings"
)

// Doc is a page of the web, with its texts as people see them.
type Doc struct {
	Title, URL, Text string
	Age              string   // when it was published, YYYY-MM-DD, or ""
	Ago              string   // the same in words, as Brave has it, or ""
	More             []string // further passages, which Brave has
	Raw              bool     // the texts are what services make of pages already, with all their markup
}

// Corpus returns what a query finds, in order. There are these:
//
//	few        3 pages
//	nothing    none
//	unicode    pages whose texts are of many scripts, or try to change direction
//	markup     pages about markup, with entities, and texts with markup and control characters left in them
//	twins      the same page at addresses that differ in what does not matter
//	schemes    addresses of many schemes, of which two are on the web
//	passages   a page with further passages, whose age is in words
//	answered   3 pages, and answers; of services that have any
//	known      none, and the same answers
//	huge       20 pages whose texts and addresses are as long as they can be
//
// Anything else finds 60 pages.
func Corpus(query string) []Doc {
	switch strings.ToLower(strings.TrimSpace(query)) {
	case "few", "answered":
		return numbered("few", 3)
	case "nothing", "known":
		return nil
	case "passages":
		return []Doc{{
			Title: "Passages", URL: "https://example.com/passages", Text: "The description.", Age: "2026-11-20", Ago: "3 days ago",
			More: []string{"The description.", "A further <passage>.", "Another one."},
		}}
	case "huge":
		docs := numbered("huge", 20)
		for i := range docs {
			docs[i].Title, docs[i].Text = strings.Repeat("<\"ü\\> ", 400), strings.Repeat("\"& <x> ", 400)
			docs[i].More = []string{docs[i].Text + "1", docs[i].Text + "2", docs[i].Text + "3"}
			docs[i].URL += "?" + strings.Repeat("x", 100*i*i)
		}
		return docs
	case "unicode":
		return []Doc{
			{Title: "日本語の検索 🔍", URL: "https://例え.example/検索?q=ü", Text: "Grüße aus Zürich — naïve café, עברית, العربية"},
			{Title: "evil \u202egnp.exe\u202c title\u0007", URL: "https://example.com/bidi", Text: "zero\u200bwidth and\u2066 isolates\u2069"},
			{Title: "e\u0301 combining", URL: "https://example.com/%E2%82%AC", Text: "𝔘𝔫𝔦𝔠𝔬𝔡𝔢"},
		}
	case "markup":
		return []Doc{
			{Title: `Tom & Jerry: "if a < b && b > c"`, URL: "https://example.com/a?x=1&y=2", Text: "Why &amp; is written &amp;amp; in HTML"},
			{Title: "Use of the <b> tag", URL: "https://example.com/b", Text: "<script>alert(1)</script> is how it starts"},
			{Title: "A <strong>bold</strong> title", URL: "https://example.com/c", Text: "line one<br>line two\n\n <i>end</i>&nbsp;&#x21;", Raw: true},
			{Title: "", URL: "https://example.com/untitled", Text: ""},
		}
	case "twins":
		return []Doc{
			{Title: "One", URL: "https://example.com/page", Text: "the first"},
			{Title: "One again", URL: "http://www.Example.com/page/", Text: "the same"},
			{Title: "One, part two", URL: "https://example.com/page#two", Text: "the same"},
			{Title: "Another", URL: "https://example.com/page?id=2", Text: "not the same"},
		}
	case "schemes":
		return []Doc{
			{Title: "script", URL: "javascript:alert(1)", Text: "x"},
			{Title: "file", URL: "file:///etc/passwd", Text: "x"},
			{Title: "good", URL: "https://example.com/good", Text: "x"},
			{Title: "user", URL: "https://bank.example@evil.example/", Text: "x"},
			{Title: "none", URL: "", Text: "x"},
			{Title: "relative", URL: "/path", Text: "x"},
			{Title: "plain", URL: "http://example.com/plain", Text: "x"},
		}
	}
	return numbered("many", 60)
}

func numbered(name string, n int) []Doc {
	docs := make([]Doc, n)
	for i := range docs {
		docs[i] = Doc{
			Title: fmt.Sprintf("Page %d of %s", i+1, name), URL: fmt.Sprintf("https://%s.example/%d", name, i+1),
			Text: fmt.Sprintf("Page %d is about %s.", i+1, name), Age: "2026-10-01",
		}
	}
	return docs
}

// render returns a text the way services send it: escaped, with the words of the query marked by an element.
func (d Doc) render(text, query, mark string) string {
	if d.Raw {
		return text
	}
	text = html.EscapeString(text)
	if mark == "" || query == "" {
		return text
	}
	return strings.ReplaceAll(text, query, "<"+mark+">"+query+"</"+mark+">")
}

// slice returns docs[from:to], as far as there are any.
func slice(docs []Doc, from, to int) []Doc {
	from = min(max(from, 0), len(docs))
	return docs[from:min(max(to, from), len(docs))]
}

package html_test

import (
	"strings"
	"testing"

	"github.com/toolserver/toolserver/text/html"
)

func BenchmarkParseHostile(b *testing.B) {
	for name, src := range hostile(2_000_000) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				html.Parse(src)
			}
		})
	}
}

// words are the letters and digits of a text.
func words(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789", r) {
			return r
		}
		return -1
	}, s)
}

func TestParseKeepsDeepText(t *testing.T) {
	for _, c := range []struct{ open, close string }{
		{"<div>", "</div>"}, {"<div>", ""}, {"<b>", "</b>"}, {"<ul><li>", "</li></ul>"}, {"<table><tr><td>", "</td></tr></table>"},
		{"<table><tr><td>", ""}, {"<span>", "</span>"}, {"<blockquote><p>", "</p></blockquote>"}, {"<x-y>", "</x-y>"},
		{"<div><a href=x>", "</a></div>"}, {"<section><h2>t</h2>", "</section>"}, {"<svg>", "</svg>"}, {"<font><center>", "</font>"},
		{"<dl><dd>", "</dd></dl>"}, {"<form><fieldset>", "</fieldset></form>"}, {"<pre>", "</pre>"}, {"<select><option>", ""},
	} {
		var b strings.Builder
		want := ""
		for i := range 1500 {
			b.WriteString(c.open + "w" + string(rune('a'+i%26)) + " ")
			want += words("w" + string(rune('a'+i%26)))
		}
		b.WriteString(" middle ")
		want += "middle"
		for range 1500 {
			b.WriteString(c.close)
		}
		b.WriteString("<p class=end>end</p>")
		want += "end"
		want = strings.ReplaceAll(want, "t", "")
		doc := html.Parse(b.String())
		if got := strings.ReplaceAll(words(doc.Text()), "t", ""); got != want {
			t.Errorf("%s nested: got %d letters of text, want %d", c.open, len(got), len(want))
		}
		if n := doc.Find("p.end").Length(); n != 1 {
			t.Errorf("%s nested: p.end is found %d times", c.open, n)
		}
	}
}

package html_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/text/html"
)

// page makes a realistic page of about n bytes: paragraphs, links, lists, tables, code and entities.
func page(n int) string {
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><html lang="en"><head><title>A page</title><style>p{margin:0}</style></head><body class="page">`)
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, `<section id="s%d" class="section section--wide"><h2 class="title">Section %d &amp; its <em>heading</em></h2>
<p class="lead">The quick brown fox&nbsp;jumps over the lazy dog, then reads <a href="/wiki/Page_%d?x=1&amp;y=2" title="Page" class="link">an article</a>
 about caf&eacute; culture in Z&uuml;rich &mdash; and <strong>much more</strong>. “Quoted” words, naïve ones.</p>
<div class="box"><div class="inner"><span class="a">one</span> <span class="b">two</span></div></div>
<ul class="list"><li class="item">First item with <code>code</code></li><li class="item"><p>Second</p><ol><li>Nested <a href="https://example.com/%d">link</a></li></ol></li></ul>
<table class="data"><thead><tr><th>Name</th><th>Value</th><th></th></tr></thead><tbody><tr><td>alpha</td><td align="right">%d</td><td>x</td></tr><tr><td>beta</td><td><p>a</p><p>b</p></td><td></td></tr></tbody></table>
<pre class="code"><span class="k">func</span> main() {
	fmt.Println("&lt;%d&gt;")
}</pre><script>var x = %d; if (x < 3) { y("<p>") }</script></section>
`, i, i, i, i, i*7, i, i)
	}
	b.WriteString("</body></html>")
	return b.String()
}

func BenchmarkText(b *testing.B) {
	src := page(2_000_000)
	base, _ := url.Parse("https://example.com/dir/")
	for name, o := range map[string]html.Options{"bare": {}, "base": {Base: base}, "list": {Links: html.List}, "marked": {Base: base, SkipMarked: true}} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				html.Text(src, o)
			}
		})
	}
}

// hostile are pages of about that size of what converters choke on.
func hostile(size int) map[string]string {
	times := func(s string, share int) string { return strings.Repeat(s, size/share/len(s)+1) }
	fill := func(s string) string { return strings.Repeat(s, size/len(s)+1)[:size] }
	attrs := func(prefix, suffix string) string {
		var b strings.Builder
		b.WriteString(prefix)
		for i := range size / 20 {
			fmt.Fprintf(&b, " a%d=v", i)
		}
		b.WriteString(suffix)
		return b.String()
	}
	counted := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	pages := map[string]string{
		"attribute":       "<p class=\"" + fill("x ") + "\">a",
		"attributes":      attrs("<p", ">a") + times("<p a=b>", 2),
		"attributes b":    attrs("<b", ">") + times("<p>a", 2),
		"body attributes": counted("<body a%d=x>"),
		"formatting":      counted("<b id=%d><p>a"),
		"formatting few":  times("<div>"+counted("<b id=%d>")[:size/500]+"</div>", 50) + fill("<p>a"),
		"table leaks":     times("<div><b><font><table><td></table></div>", 10) + times("<p>x", 2),
		"wide table":      "<table>" + times("<tr>"+strings.Repeat("<td>a", 500), 1) + "</table>",
		"ragged table":    "<table><tr>" + times("<td>a", 2) + times("<tr><td>a", 2) + "</table>",
		"spans":           "<table>" + times("<tr><td colspan=1000000000 rowspan=1000000000>a", 1) + "</table>",
		"one cell":        "<table><tr><td>a<td>" + times("long ", 2) + times("<tr><td>a<td>b", 2) + "</table>",
		"deep lists":      times("<ul><li>text", 1),
		"deep quotes":     times("<blockquote>a", 1),
		"nested links":    fill("<a href=x><b>a</b>"),
		"open links":      counted("<a href=/%d>"),
		"anchors":         fill("<a href=x>y</a>"),
		"select":          fill("<select><option>a"),
		"svg":             times("<svg><g>", 1) + "</svg>",
		"title":           fill("<title>a<p>"),
		"nested inline":   strings.Repeat("<b><i>", 300) + "a" + strings.Repeat("</i></b>", 300) + "b",
		"empty links":     times("<a href=x><b><a>", 1),
		"base":            "<base href=\"https://x.org/" + strings.Repeat("y", 2000) + "/\">" + fill("<a href=x>y</a>"),
	}
	for _, s := range []string{"<div>", "<b>", "<table>", "<table><tr><td>", "<td>a", "<li>", "<li>a", "<a>", "<a href=x>", "&", "<", "<!", "<!--", "<!-- >",
		"</p>", "</br>", "x", "&#", "&amp", "<p>", "<br>", "\x00", "\xff", "é", "\u200d", "a ", "</", "<pre>", "<pre>a\n", "<template>", "<svg>", "<math>",
		"<textarea>", "<script>", "<![CDATA[", "]]>", "</x>a", "<q>", "<td>a<br>", "<ul>", "<ul><li>", "<h1>", "<p>*", "`", "_a", "[", "\\", "|", "#", "> ",
		"<td><p>", "<noscript>", "<i><b>", "<em>a<strong>", "<code>", "<span>a</span>", "<img>", "<img src=a>", "<hr>", "<dl><dt>", "<form>", "<frameset>", "<button>"} {
		pages[s] = fill(s)
	}
	return pages
}

func BenchmarkTextHostile(b *testing.B) {
	base, _ := url.Parse("https://example.com/")
	for name, src := range hostile(2_000_000) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				html.Text(src, html.Options{Base: base})
			}
		})
	}
}

func TestTextIsBounded(t *testing.T) {
	base, _ := url.Parse("https://example.com/" + strings.Repeat("long/", 500))
	for name, src := range hostile(20_000) {
		for _, o := range []html.Options{{}, {Base: base}, {Base: base, Links: html.List}} {
			if out := html.Text(src, o); len(out) > 6*len(src)+100_000 {
				t.Errorf("Text of %d bytes of %s is %d bytes long", len(src), name, len(out))
			}
		}
	}
}

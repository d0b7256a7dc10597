package html_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/text/html"
)

func TestMarkdown(t *testing.T) {
	base, _ := url.Parse("https://example.com/dir/page")
	for _, c := range []textCase{
		{"", ""},
		{"<h1>a</h1><p>b <b>c</b> <i>d</i> <code>e</code></p>", "# a\n\nb **c** *d* `e`"},
		{"<p>a <a href=/b>c</a> <a href='#d'>e</a> <a name=f>g</a> <a href='javascript:h'>i</a></p>", "a [c](https://example.com/b) e g i"},
		{"<p>a <a name=f></a>b</p>", "a b"},
		{"<img src=a.png alt=b>", "![b](https://example.com/dir/a.png)"},
		{"<img src='data:image/png;base64,xxxx' alt=b>c", "c"},
		{"<img src=blank.gif data-src=a.png alt=b>", "![b](https://example.com/dir/a.png)"},
		{"<h2>a &lt;b&gt; &lt; &amp;lt;</h2>", "## a \\<b> < \\&lt;"},
		{"<pre>f(<em><code>x</code></em>, <b>y</b>)</pre>f(<i><code>x</code></i>)", "```\nf(x, y)\n```\n\nf(*`x`*)"},
		{"<ul><li>a</ul><ul><li>b</ul>", "- a\n\n- b"},
		{"<ol><li>a<li>b<ul><li>c</ul></ol>", "1. a\n2. b\n   - c"},
		{"<table><tr><th>H1<th>H2<tr><td>a<td>b|c</table>", "| H1 | H2 |\n|---|---|\n| a | b\\|c |"},
		{"<table><tr><th>A<th>B<tr><td><p>a</p><p>b</p><td><ul><li>c<li>d</ul></table>", "| A | B |\n|---|---|\n| a<br>b | - c<br>- d |"},
		{"<table><tr><td>a<table><tr><td>b<td>c</table><td>d</table>", "a\n\n| b | c |\n|---|---|\n\nd"},
		{"<template><p>a</template><script>b</script><style>c</style><svg>d</svg><title>e</title>f", "f"},
		{"<noscript><p>a</noscript>", "a"},
		{"<pre><code class=language-go>x := 1\n\ny</code></pre>", "```go\nx := 1\n\ny\n```"},
		{"<p>a &lt;b&gt; *c* &amp;amp; 1. d</p>", "a \\<b> \\*c\\* \\&amp; 1. d"},
		{"<p>a\u200b\u202eb&nbsp;c</p>", "ab c"},
		{"<a href=x><div><h3>a</h3><p>b</p></div></a><a href=y><h3>a</h3></a>", "### [a b](https://example.com/dir/x)\n\n### [a](https://example.com/dir/y)"},
		{"<s>a</s>", "~~a~~"},
		{"<p><b> a </b>b <b></b><i>c<b>d</i>e</b></p><b>f</b><strong>g</strong>", "**a** b *c**d*****e**\n\n**fg**"},
		{"<b>a<p>b</p><ul><li>c</ul>", "**a**\n\n**b**\n\n- c"},
		{"<code>a`b</code> <code>*<b>c</b>*</code>", "`` a`b `` `*c*`"},
		{"# a<p>1. b<p>- c - d<p>2019. e<br>+ f<p>> g<p>a_b _c_ 2*3 2 * 3 [d](e) &amp;lt; & i", "\\# a\n\n1\\. b\n\n\\- c - d\n\n2019\\. e  \n\\+ f\n\n" +
			"\\> g\n\na_b \\_c\\_ 2\\*3 2 * 3 [d\\](e) \\&lt; & i"},
		{"<blockquote><p>a<p>b<blockquote>c</blockquote></blockquote>d", "> a\n>\n> b\n>\n> > c\n\nd"},
		{"<ol start=9><li>a<p>b</p><li>c<pre>d\n\n e</pre></ol>", "9. a\n\n   b\n10. c\n\n    ```\n    d\n    \n     e\n    ```"},
		{"<pre>a\n```\nb</pre>", "````\na\n```\nb\n````"},
		{"<table><tr><td rowspan=2>a<td colspan=2>b<td>c<tr><td>d</table>", "| a | b |  | c |\n|---|---|---|---|\n|  | d |  |  |"},
		{"<table><tr><td><h2>a</h2><p>b|c<td>d</table>", "| a<br>b\\|c | d |\n|---|---|"},
		{"<table><tr><td><h2>a</h2><p>b</table>", "## a\n\nb"},
		{"<ul><li><table><tr><td>a<td>b<tr><td>c<td>d</table><li>e</ul>", "- | a | b |\n  |---|---|\n  | c | d |\n- e"},
		{"<table><tr><td><h2>a|b</h2><tr><td>c</table>", "## a|b\n\nc"},
		{"<h2>a<br>b</h2><h3></h3><h4><b>c</b></h4>", "## a b\n\n#### **c**"},
		{"<dl><dt>a<dd>b<dt>c<dd>d</dl>", "a\n\nb\n\nc\n\nd"},
	} {
		got := html.Markdown(c.in, html.Options{Base: base})
		if got != c.want {
			t.Errorf("Markdown(%q)\n got %q\nwant %q", c.in, got, c.want)
		}
	}
	if got := html.Markdown("<a href=/b>c</a>", html.Options{Links: html.None}); got != "c" {
		t.Errorf("without links: %q", got)
	}
}

func BenchmarkMarkdown(b *testing.B) {
	src := page(2_000_000)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		html.Markdown(src, html.Options{})
	}
}

func BenchmarkMarkdownHostile(b *testing.B) {
	for name, src := range hostile(2_000_000) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				html.Markdown(src, html.Options{})
			}
		})
	}
}

func TestMarkdownIsBounded(t *testing.T) {
	for name, src := range hostile(20_000) {
		md := html.Markdown(src, html.Options{})
		if len(md) > 10*len(src)+100_000 {
			t.Errorf("Markdown of %d bytes of %s is %d bytes long", len(src), name, len(md))
		}
	}
}

func TestMarkdownKeepsTheText(t *testing.T) {
	src := page(20_000)
	md := html.Markdown(src, html.Options{Links: html.None})
	want := strings.Fields(html.Text(src, html.Options{Links: html.None}))
	for _, w := range want {
		if words(w) == w && !strings.Contains(md, w) {
			t.Errorf("%q is not in the Markdown", w)
		}
	}
}

func TestMarkdownLinkList(t *testing.T) {
	got := html.Markdown("<p><a href=http://x/(a)>x</a> and <a href=http://y/>[y]</a>, <a href=http://x/(a)>x again</a><p><img src=http://i/ alt=i>",
		html.Options{Links: html.List})
	want := "[x][1] and [\\[y\\]][2], [x again][1]\n\n![i](http://i/)\n\n[1]: http://x/%28a%29\n[2]: http://y/"
	if got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestFromXHTML(t *testing.T) {
	for src, want := range map[string]string{
		"<head><script src='a/>b'/><title/></head><p/>x<br/><a id='a'/>y<textarea/>z": "<head><script src='a/>b'></script><title></title></head><p></p>x<br/><a id='a'></a>y<textarea></textarea>z",
		"<p>no empty tag</p>":                        "<p>no empty tag</p>",
		"<script>a('<b/>')</script><![CDATA[<i/>]]>": "<script>a('<b/>')</script><![CDATA[<i/>]]>",
	} {
		if got := html.FromXHTML(src); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}

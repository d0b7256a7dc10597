package html_test

import (
	"strings"
	"testing"

	"github.com/toolserver/toolserver/text/html"
)

// hiddenCases are documents whose words are "seen" or "not": what is left out says so.
var hiddenCases = []string{
	`<p>seen<p style="display:none">not<p>seen`,
	`<div style="display : NONE !important">not<div>not</div></div>seen`,
	`<span style="color:red;display:none;max-height:0">not</span>seen`,
	`<div style="visibility:hidden">not<p style="visibility:visible">seen</p>not</div>`,
	`<div style="opacity:0">not</div><div style="opacity:.0">not</div><div style="opacity:0.5">seen</div><p style="opacity:0%">not`,
	`<div style="font-size:0">not<span style="font-size:14px">seen</span><span style="font-size:100%">not</span></div>`,
	`<div style="font-size:1px">not</div><div style="font-size:12px">seen</div><div style="font-size:.01em">not</div><div style="font-size:small">seen</div>`,
	`<div style="font:0/0 a">not<b style="font:bold 14px/20px Arial">seen</b></div><b style="font:400 12px Arial">seen</b>`,
	`<div style="max-height:0;overflow:hidden">not</div><div style="max-height:0">seen</div><div style="height:0px;overflow:hidden">not</div>`,
	`<div style="overflow:hidden;width:0">not</div><div style="width:100%;overflow:hidden">seen</div>`,
	`<table><tr><td style="max-width:0;overflow:hidden">seen<td style="display:none">not<td>seen</table>`,
	`<p hidden>not</p><p hidden="">not</p><p HIDDEN=until-found>not</p><p aria-hidden="true">seen</p>`,
	`<div style="color:#fff;background-color:#FFFFFF">not</div><div style="color:white;background:#fff url(x)">seen</div><div style="color:#fff">not</div>`,
	`<div style="color:rgb(255, 255, 255);background:white">not<i style="color:red">seen</i></div><p bgcolor=#ffffff style="color:#ffffff">not`,
	`<font color="white" style="background:white">not</font><p style="color:inherit;background:inherit">seen</p><p style="color:transparent">not`,
	`<div style="text-indent:-9999px">not</div><div style="text-indent:-20px">seen</div><div style="position:absolute;left:-9999px">not</div>`,
	`<div style="margin:-9999px 0 0">not</div><div style="margin:-1px 0">seen</div><p style="position:absolute;clip:rect(0,0,0,0)">not`,
	`<div style="clip-path:inset(50%)">not</div><div style="transform:scale(0)">not</div><div style="clip-path:inset(10px)">seen</div>`,
	`<template>not</template><iframe>not</iframe><noembed>not</noembed><noframes>not</noframes><noscript>seen &lt;p seen</noscript>`,
	`seen<!-- not --><!--[if mso]><p>not</p><![endif]--><![if !mso]>seen<![endif]>`,
	`seen<!-- not <p>not`,
	`seen<iframe>not`,
	`seen<template><p>not`,
	// Style sheets.
	`<style>.x{display:none}</style><p class="a x">not</p><p>seen`,
	`<style>.x{display:none}.x{display:block}#y{color:#fff}</style><p class=x>seen<p id=y>not<p id=y style="color:black">seen`,
	`<style>@media print{p{display:none}}@media screen and (min-width:30em){.x{visibility:hidden}}</style><p>seen<p class=x>not`,
	`<style>@media (max-width:600px){p{display:none!important}}@media (prefers-color-scheme:dark){p{color:#fff}}</style><p>seen`,
	`<style>.a>.b, td.c{font-size:0}</style><div class=a><div class=b>not</div><section><p class=b>seen</section></div><table><tr><td class=c>not<td>seen</table>`,
	`<style>p{display:none!important}</style><p style="display:block">not`, `<style>p{display:none</style><p>not`,
	`<style>.a{x:);color:rgba(0 0 0 / 0)}} .b{} .c{opacity:0}</style><p class=a>not<p class=c>not<p class=b>seen`,
	`<style>p::before, .x:hover, :nosuch(p) p{display:none}</style><p class=x>seen`, `<style>p:is(b){}.x, p:nosuch{display:none}</style><p class=x>seen`,
	`<style>` + strings.Repeat(`@media all{`, 1000) + `p{display:none}</style><p>seen`,
	// Colours.
	`<table bgcolor=navy><tr><td><font color=#000080>not</font><font color=white>seen</font></table>`,
	`<body bgcolor=black text=white>seen<div style="background:#fff">not<p style="color:hsl(0 0% 99.5%)">not<p style="color:#0008">seen`,
	`<div style="background:linear-gradient(red, blue);color:#fff">seen</div><p style="color:#fff8">not<p style="color:var(--x)">seen`,
	`<div style="opacity:.2">seen<div style="opacity:.2">not</div></div><div style="font-size:0"><p style="font:italic 12px/1 a">seen</div>`,
	// Declarations that others seem to take back, and spellings.
	`<p style="display:none;background:url('x;display:block;y')">not`,
	`<p style="background:url('/*');display:none;color:red'*/'">not`,
	`<p style="/* x */display/**/:/**/none">not`,
	`<p style="d\69 splay:n\6fne">not`,
	`<p style="x:);display:none">not`,
	`<p style="font-size:0;content:';font-size:14px;'">not`,
	`<p style="DISPLAY&#58;none">not`,
	// Trees that are not what the tags say.
	`<ul><li hidden>not<li>seen</ul>`,
	`<table><tr><td><div style="display:none">not</td><td>seen</td></table>`,
	`<p><span style="display:none">not</p>seen`,
	`<p><b style="display:none">not</p><p>not</b>seen`,
	`<a style="font-size:0"><div>not</a>seen</div>`,
	`<div hidden></p></span>not</div>seen`,
	`<x-a hidden>not<x-b>not</x-b></x-c>not</x-a>seen`,
	`<div style="display:none"/>not`,
}

func TestSkipHidden(t *testing.T) {
	for _, src := range hiddenCases {
		for kind, got := range map[string]string{
			"Text": html.Text(html.Source(src), html.Options{}), "Markdown": html.Markdown(html.Source(src), html.Options{}),
			"Source": html.Source(src),
		} {
			if strings.Contains(got, "not") || strings.Count(got, "seen") != strings.Count(src, "seen") {
				t.Errorf("%s of\n%s is\n%s", kind, src, got)
			}
		}
	}
}

// TestSkipHiddenDeep hides in documents that the parser cannot cope with.
func TestSkipHiddenDeep(t *testing.T) {
	deep := strings.Repeat("<div><i>", 600)
	for _, hidden := range []string{
		`<div hidden>not<div>not</div>not</div>seen`, `<p style="font-size:0">not</p>seen`, `<iframe>not</iframe>seen`, `seen<!--not`,
		`<input type=hidden value=not>seen`, `<div style=display:none>` + deep + `not` + strings.Repeat("</i></div>", 600) + `</div>seen`,
	} {
		got := html.Text(html.Source("seen "+deep+hidden), html.Options{})
		if strings.Contains(got, "not") || strings.Count(got, "seen") != 2 {
			t.Errorf("Text of %s in a deep document is %q", hidden[:min(len(hidden), 80)], got)
		}
	}
}

func TestHiddenStaysByDefault(t *testing.T) {
	if got := html.Text(`<p hidden>a<p style="display:none">b<p style="font-size:0">c`, html.Options{}); got != "a\n\nb\n\nc" {
		t.Errorf("Text is %q", got)
	}
}

func TestSource(t *testing.T) {
	for _, c := range [][2]string{
		{`<p onclick="x()" class=a>a<script>b</script></p>`, `<p class="a">a</p>`},
		{`<a href=" java&#10;script:x()">a</a><a href="https://example.com/?a=1&amp;b">b</a>`, `<a>a</a><a href="https://example.com/?a=1&amp;b">b</a>`},
		{`<img src=a width=1 height=1><img src=b style="width:1px;height:1px"><img src=c width=100 height=1>`, `<img src="c" width="100" height="1"/>`},
		{`<style>p{color:red}</style>a`, `<style>p{color:red}</style>a`},
		{`a &lt;b&gt; c`, `a &lt;b&gt; c`},
	} {
		got := strings.NewReplacer("<html>", "", "</html>", "", "<head>", "", "</head>", "", "<body>", "", "</body>", "").Replace(html.Source(c[0]))
		if got != c[1] {
			t.Errorf("Source(%s)\n got %s\nwant %s", c[0], got, c[1])
		}
	}
}

func TestSkipHiddenIsBounded(t *testing.T) {
	for name, src := range hostile(20_000) {
		if out := html.Text(html.Source(src), html.Options{}); len(out) > 6*len(src)+100_000 {
			t.Errorf("Text of %d bytes of %s is %d bytes long", len(src), name, len(out))
		}
	}
}

// TestStyleSheetsAreBounded has selectors that would be tested without end against a document.
func TestStyleSheetsAreBounded(t *testing.T) {
	elements := strings.Repeat("<div class=x>", 400) + strings.Repeat("<p class=x>a</p>", 5_000)
	for _, selector := range []string{".x", strings.Repeat(".x ", 30) + "i.x", "i" + strings.Repeat("~.x", 30), "p:nth-child(2n+1)", strings.Repeat("div ", 31) + "p", "*"} {
		src := "<style>" + strings.Repeat(selector+"{color:#fff}", 1000) + "</style>" + elements
		doc := html.Tests(src)
		if doc > html.MaxTests+100_000 {
			t.Errorf("%.20s: %d tests", selector, doc)
		}
	}
}

func BenchmarkSkipHidden(b *testing.B) {
	src := page(100_000)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		html.Text(html.Source(src), html.Options{})
	}
}

// FuzzSkipHidden hides anything that has no end tags.
func FuzzSkipHidden(f *testing.F) {
	for _, src := range hiddenCases {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		checkText(t, src, html.Text(html.Source(src), html.Options{}))
		inside := strings.ReplaceAll(strings.ReplaceAll(src, "QQXX", ""), "</", "")
		for _, start := range []string{`<div hidden>`, `<p style="display:none">a<div style="font-size:0;visibility:hidden"><b>a</p><div hidden>`} {
			if got := html.Text(html.Source(start+inside+"QQXX"), html.Options{}); strings.Contains(got, "QQXX") {
				t.Errorf("hidden text: %q", got)
			}
		}
	})
}

// TestShown has pages of the web whose words are "seen" or "not".
func TestShown(t *testing.T) {
	for _, src := range []string{
		`<style>.x{display:none}</style><p class=x>not<p>seen`, `<style>.x{visibility:hidden}.y{opacity:0}</style><p class=x>not<p class=y>not<p>seen`,
		`<style>.x{visibility:hidden}.y{opacity:0}</style><p class=x>seen<p class=y>seen<script>show()</script>`,
		`<style>body{display:none;opacity:0;visibility:hidden}</style><body>seen<p>seen`, `<style>.x{color:#fff}</style><p class=x>not<p>seen`,
		`<link rel=stylesheet href=/a.css><style>.x{color:#fff}.y{display:none}.z{background:#fff}</style><p class=x>seen<p class=y>not<p class="x z">not`,
		`<style>@import "a.css";.x{color:#fff}</style><p class=x>seen`, `<style>p{color:red}</style><p style="font-size:0">not<p>seen`,
		`<p style="font-size:0">seen`, `<style>.x{display:none}</style><template shadowrootmode=open>seen</template><p class=x>not`,
		`<noscript><style>.x{display:none}</style></noscript><p class=x>not</p><noscript>seen</noscript>`,
		`<style media=print>.x{display:none}</style><p class=x>seen`, `<style>.x{display:none`,
	} {
		shown, hidden := html.Shown(src)
		if text := html.Text(shown, html.Options{}); strings.Contains(text, "not") || strings.Count(text, "seen") != strings.Count(src, "seen") || hidden != 3*strings.Count(src, ">not") {
			t.Errorf("%s\n%d: %s", src, hidden, shown)
		}
	}
}

func FuzzShown(f *testing.F) {
	for _, src := range hiddenCases {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		shown, hidden := html.Shown(src)
		if hidden < 0 || hidden == 0 && shown != src {
			t.Errorf("%d of %q: %q", hidden, src, shown)
		}
	})
}

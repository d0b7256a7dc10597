package html_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/text/html"
)

func TestText(t *testing.T) {
	for name, groups := range textCases {
		t.Run(name, func(t *testing.T) {
			for _, c := range groups {
				if got := html.Text(c.in, html.Options{}); got != c.want {
					t.Errorf("Text(%q)\n got %q\nwant %q", c.in, got, c.want)
				}
			}
		})
	}
}

type textCase struct{ in, want string }

var textCases = map[string][]textCase{
	"blocks": {
		{"", ""},
		{"plain", "plain"},
		{"<p>a</p><p>b</p>", "a\n\nb"},
		{"<div>a</div><div>b</div>", "a\nb"},
		{"<div><div>a</div></div>\n\n<div>b</div>", "a\nb"},
		{"a<h1>b</h1>c", "a\n\nb\n\nc"},
		{"<p>a<div>b<p>c", "a\nb\n\nc"},
		{"<blockquote>a</blockquote>b", "a\n\nb"},
		{"<section>a</section><section>b</section>", "a\n\nb"},
		{"<p></p><p> </p><p>&nbsp;</p>a<p></p>", "a"},
		{"a<hr>b", "a\n\nb"},
		{"<dl><dt>a<dd>b<dt>c<dd>d</dl>", "a\nb\nc\nd"},
		{"<figure><img src=x><figcaption>a</figcaption></figure>b", "a\n\nb"},
		{"<details><summary>a</summary>b</details>", "a\nb"},
		{"<fieldset><legend>a</legend>b</fieldset>", "a\nb"},
		{"<x-y>a</x-y><x-y>b</x-y>", "ab"},
	},
	"breaks": {
		{"a<br>b", "a\nb"},
		{"a<br/>b</br>c", "a\nb\nc"},
		{"a<br><br>b", "a\n\nb"},
		{"a<br><br><br><br>b", "a\n\nb"},
		{"a <br> b", "a\nb"},
		{"<p>a<br></p><p>b</p>", "a\n\nb"},
		{"<br>a<br>", "a"},
	},
	"white space": {
		{"  a \n\t b  ", "a b"},
		{"a<b> b</b> c", "a b c"},
		{"a <b> b </b> c", "a b c"},
		{"in<b>li</b>ne", "inline"},
		{"a&nbsp;&nbsp;b\u00a0", "a b"},
		{"a\u3000b\u2003c\u2028d", "a b c d"},
		{"so\u00adft ze\u200bro \ufeffbom \u202ebidi\u202c \u2066x\u2069 wo\u2060rd", "soft zero bom bidi x word"},
		{"می\u200cخواهم 👩\u200d👧 a\u200db", "می\u200cخواهم 👩\u200d👧 ab"},
		{"a\U000e0041\U000e0042b", "ab"},
		{"a\x00b\x01c\x7f", "abc"},
		{"a\xffb\xe2\x82", "a\ufffdb\ufffd\ufffd"},
		{"a\r\nb\rc", "a b c"},
	},
	"entities": {
		{"&amp;amp; &lt;b&gt; &quot;&#39;&apos; &copy; &#8364; &#x20AC; &hellip;", `&amp; <b> "'' © € € …`},
		{"&#128;&#150;", "€–"},
		{"AT&T R&D a & b &unknown; &copy2024 &", "AT&T R&D a & b &unknown; ©2024 &"},
		{"&#0;&#xD800;&#x110000;", "\ufffd\ufffd\ufffd"},
		{"&#8203;a&shy;b&#x202e;", "ab"},
		{"&NotEqualTilde;&fjlig;", "≂̸fj"},
	},
	"images": {
		{"<p>a <img src=x alt=' b  c '> d", "a [image: b c] d"},
		{"a<img alt=''>b<img>", "a b"},
		{"<a href=http://x/><img alt=Home></a>", "[image: Home] (http://x/)"},
	},
	"spans": {
		{"<table><tr><td rowspan=2>r<td>1<tr><td>2</table>", "r\t1\n\t2"},
		{"<table><tr><th colspan=2>a<th>b<tr><td>1<td>2<td>3</table>", "a\t\tb\n1\t2\t3"},
		{"<table><tr><td rowspan=99999>a<tr><td><tr><td>b</table>", "a\n\tb"},
	},
	"empty tags": {
		{"<head><script src=x /></head><p>a<p>b", "a\n\nb"},
		{"<script src=x /><p>a</p></script>b", "b"}, // as in browsers: the script has an end
		{"a<style/>b<title/>c", "abc"},
	},
	"lists": {
		{"<ul><li>a</li><li>b</li></ul>", "- a\n- b"},
		{"<ol><li>a<li>b</ol>", "1. a\n2. b"},
		{"<ol start=9><li>a<li>b<p>c</ol><ul><li>d</ul>", "9. a\n10. b\n\n    c\n\n- d"},
		{"x<ul><li>a</ul>y", "x\n\n- a\n\ny"},
		{"<ul><li>a<ul><li>b<ol><li>c</ol></ul><li>d</ul>", "- a\n  - b\n    1. c\n- d"},
		{"<ul><li>a<ul><li>b</li></ul>c</li><li>d</li></ul>", "- a\n  - b\n  c\n- d"},
		{"<ul><li><p>a</p></li><li><p>b</p><p>c</p></li><li>d</ul>", "- a\n- b\n\n  c\n- d"},
		{"<ul><li><p>a<li><p>b</ul>", "- a\n- b"},
		{"<ul><li>a<br>b</li></ul>", "- a\n  b"},
		{"<ul><li></li><li> </li><li>a</li></ul>", "- a"},
		{"<li>a</li><li>b</li><p>c</p>", "- a\n- b\n\nc"},
		{"<ul><ul><li>a</ul></ul>b", "- a\n\nb"},
		{"<ul><li>a</ul><ul><li>b</ul>", "- a\n\n- b"},
		{"<ul><li><pre>a\n b</pre><li>c</ul>", "- a\n b\n- c"},
		{"<ul><li><h3>a</h3>b</li></ul>", "- a\n\n  b"},
		{"</ul></li>a", "a"},
		{"<menu><li>a</menu><dir><li>b</dir>", "- a\n\n- b"},
		{"<ul><li><ul><li>a</ul></ul>", "- a"},
		{"<ul>a<li>b</ul>", "a\n- b"},
	},
	"tables": {
		{"<table><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>", "a\tb\nc\td"},
		{"<table><thead><tr><th>a<th>b<tbody><tr><td>c<td>d</table>", "a\tb\nc\td"},
		{"<table>\n <tr>\n  <td> a </td>\n  <td> b </td>\n </tr>\n</table>", "a\tb"},
		{"<tr><td>a</td><td>b</td></tr>", "a\tb"},
		{"<td>a</td><td>b</td>", "a\tb"},
		{"<table><tr><td></td><td>b</td><td></td><td>d</td><td></td></tr></table>", "\tb\t\td"},
		{"x<table><tr><td></td><td>b</td></table>", "x\n\n\tb"},
		{"<table><tr><td><p>a</p><p>b</p></td><td><div>c</div></td></tr></table>", "a b\tc"},
		{"<table><tr><td>a<br>b</td><td><ul><li>c<li>d</ul></td></tr></table>", "a b\t- c - d"},
		{"<table><caption>t</caption><tr><td>a</table>b", "t\na\n\nb"},
		{"<table><tr><td></td></tr><tr></tr></table>a", "a"},
		{"<table><tr><td><p>a</p><p>b</p></td></tr></table>", "a\n\nb"},
		{"<table><tr><td>n</td><td>a<table><tr><td>b</td><td>c</td></tr></table>d</td></tr></table>", "n\na\nb\tc\n\nd"},
		{"<table><tr><td><table><tr><td>a</td><td>b</td></tr></table></td><td>c</td></tr></table>d", "a\tb\n\nc\n\nd"},
		{"<table role=presentation><tr><td>a</td><td>b</td></tr></table>", "a\nb"},
		{"<table><tr><td>1\n</td><td><pre>a\n\tb</pre></td></tr></table>", "1\n\na\n\tb"},
		{"<table><tr><td>1</td><td><pre>a\tb</pre></td></tr></table>", "1\ta b"},
		{"<table><tr><td>a<td>b<tr><td>c", "a\tb\nc"},
		{"<ul><li>x<table><tr><td>a<td>b</table><li>y</ul>", "- x\n\n  a\tb\n- y"},
		{"<ul><li><table><tr><td>a<td>b</table></ul>", "- a\tb"},
		{"<table><tr><td><pre>a<td>b <i> c<tr><td>d  e</table>", "a\tb c\nd e"},
		{"<table><tr><td>a<td><cite>b</cite>c</table>", "a\tb c"},
		{"</td></tr></table>a", "a"},
		{"<table><tr>x<td>a</table>", "x\ta"},
	},
	"verbatim": {
		{"<pre>  a\n\n\n    b\t\n</pre>", "  a\n\n\n    b"},
		{"<pre>\n\na  b</pre>c", "a  b\n\nc"},
		{"x<pre>\na\n</pre>y", "x\n\na\n\ny"},
		{"<pre><code>if a &lt; b {<br>  <b>x</b>\n}</code></pre>", "if a < b {\n  x\n}"},
		{"<pre>a <a href=http://x/>b</a></pre>", "a b"},
		{"<textarea>a\n <b>b</b> &amp;</textarea>", "a\n <b>b</b> &"},
		{"<xmp><b>&amp;</b></xmp>", "<b>&amp;</b>"},
		{"a<plaintext><b>c</plaintext>", "a\n\n<b>c</plaintext>"},
		{"<pre>a\u202e\u200b\x00b</pre>", "ab"},
		{"<pre></pre>a<pre> </pre>", "a"},
		{"<pre>a<td></p>\n\n", "a"},
		{"<pre>a<td></p>\n</pre>b", "a\n\nb"},
	},
	"links": {
		{"<a href=http://x/>a</a>", "a (http://x/)"},
		{"<a href=http://x/>a</a>.", "a (http://x/)."},
		{"<a href=http://x/>a </a>b", "a (http://x/) b"},
		{"<a href=/1>1</a><a href=/2>2</a>", "1 (/1) 2 (/2)"},
		{"<a href=http://x/></a>", "http://x/"},
		{"see <a href=http://x/><img src=y></a> now", "see http://x/ now"},
		{"<a href=http://x/>http://x/</a>", "http://x/"},
		{"<a href=https://www.x.com/>x.com</a>!", "https://www.x.com/!"},
		{"<a href=mailto:a@b.c>a@b.c</a>", "a@b.c"},
		{"<a href=''>a</a> <a href='#x'>b</a> <a href='javascript:f()'>c</a> <a href=' JavaScript:f()'>d</a> <a href=data:x>e</a>", "a b c d e"},
		{"<a href=\"java\nscript:f()\">a</a>", "a"},
		{"<a name=x>a</a><a>b</a>", "ab"},
		{"<a href=/x><h3>a</h3><p>b</p></a>c", "a\n\nb (/x)\n\nc"},
		{"<a href=/x>a<a href=/y>b", "a (/x) b (/y)"},
		{"<ul><li><a href=/x>a<li><a href=/y>b</ul>", "- a (/x)\n- b (/y)"},
		{"<table><tr><td><a href=/x>a<td>b</table>", "a (/x)\tb"},
		{"<a href='/a b?c=\"d\"'>e</a>", `e (/a%20b?c="d")`},
		{"<a href=/x>a</a>", "a (/x)"},
		{"<p>a</p><a href=/x></a><p>b</p>", "a\n\n/x\n\nb"},
		{"<frameset><frame src=/a><frame src=/b></frameset>", "/a\n/b"},
		{"<a href=/?a=1&amp;b=2&copy=3>x</a>", "x (/?a=1&b=2&copy=3)"},
	},
	"not text": {
		{"<head><title>t</title><meta name=x></head><body>a", "a"},
		{"a<script>b<!-- <script> --></script>c<style>d</style>e", "ace"},
		{"a<script>b", "a"},
		{"a<!-- b -->c<!---->d<!-->e<!--->f<!-- > -- > --!>g", "acdefg"},
		{"a<template><p>b</template>c", "ac"},
		{"a<template><template>b</template>c</template>d", "ad"},
		{"<div><template shadowrootmode=open><p>a</p></template>b</div>", "a\n\nb"},
		{"a<svg><title>b</title><text>c</text></svg>d", "a d"},
		{"a<svg/>b", "a b"},
		{"a <svg><path d=x /></svg>.", "a ."},
		{"a<iframe src=x>b</iframe>c<video>d</video>e<canvas>f</canvas>", "a c e"},
		{"<datalist><option>a</datalist>b", "b"},
		{"a<!DOCTYPE html><?xml x?>b", "ab"},
		{"<input value=a placeholder=b>c", "c"},
	},
	"text after all": {
		{"<noscript>a<p>b</noscript>c", "a\n\nb\nc"},
		{"<noframes><p>a</noframes><noembed>b</noembed>", "a\nb"},
		{"<object>a</object>", "a"},
		{"<div hidden>a</div><span aria-hidden=true>b</span>", "a\nb"},
		{"<select><option>a<option>b</select>c", "a\nb\nc"},
		{"<button>a</button><button>b</button>", "a b"},
		{"<label>a</label><input><label>b</label>", "a b"},
		{"a<img>b a<img>.", "a b a."},
		{"<![CDATA[a < b]]>", "a < b"},
		{"10<sup>6</sup> 1<sup>st</sup> m<sup> 2</sup> <sup>3</sup> H<sub>2</sub>O [<sup>4</sup>", "10^6 1st m 2 3 H2O [4"},
		{"he said <q>a</q>.", `he said "a".`},
		{"<math><mfrac><mn>1</mn><mn>2</mn></mfrac><mo>+</mo><mi>x</mi></math>", "1/2 + x"},
		{"<math><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><msqrt><mi>c</mi></msqrt></mfrac></math>", "(a + b)/√(c)"},
		{"<math><mi>m</mi><mo>\u2062</mo><msup><mi>c</mi><mn>2</mn></msup><mo>+</mo><msub><mi>x</mi><mrow><mi>i</mi><mo>+</mo><mn>1</mn></mrow></msub></math>", "m c^2 + x_(i + 1)"},
		{"<math><munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><mroot><mi>x</mi><mn>3</mn></mroot></math>", "∑_(i = 1)^n 3√(x)"},
		{"<math><mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr><mtr><mtd><mn>3</mn></mtd><mtd><mn>4</mn></mtd></mtr></mtable></math>", "1, 2; 3, 4;"},
		{`So <span class="katex"><span class="katex-mathml"><math><semantics><mrow><mfrac><mi>a</mi><mi>b</mi></mfrac></mrow><annotation encoding="application/x-tex">\frac{a}{b}</annotation></semantics></math></span>` +
			`<span class="katex-html" aria-hidden="true"><span class="base"><span>b</span><span>a</span></span></span></span>.`, `So \frac{a}{b}.`},
		{`E: <span class="MathJax_Preview">E</span><span class="MathJax" id="MathJax-Element-1-Frame"><nobr><span>E=mc2</span></nobr></span><script type="math/tex">E=mc^2</script>.`, `E: E=mc^2.`},
		{`<mjx-container class="MathJax"><mjx-math aria-hidden="true"><mjx-c></mjx-c></mjx-math><mjx-assistive-mml><math><msup><mi>c</mi><mn>2</mn></msup></math></mjx-assistive-mml></mjx-container>`, `c^2`},
		{`<script type="math/tex; mode=display">x<y</script>a<script>b</script>`, `x<y a`}, {`<math><mi>x</mi>`, "x"}, {`<math/>a<math></math>b`, "a b"},
		{`<ruby>漢字<rt>かんじ</rt></ruby>を`, "漢字(かんじ)を"}, {`<ruby>漢<rt>kan<ruby>字<rt>ji</ruby>.`, "漢(kan)字(ji)."},
		{`<ruby>a<rp>(</rp><rt>b</rt><rp>)</rp></ruby><ruby>c<rt>d</rt></ruby>`, "a(b)c(d)"}, {`<ruby>漢<rt>かん</rt>字<rt>じ</rt></ruby>`, "漢(かん)字(じ)"},
		{"<math alttext='\\frac{1}{2}'><mn>1</mn></math>.", `\frac{1}{2}.`},
		{"<math><mi>x</mi><annotation>y</annotation></math>", "x"},
		{"<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>", "漢(kan)"},
	},
	"broken": {
		{"a < b && c > d <3 <- << >", "a < b && c > d <3 <- << >"},
		{"a <b", "a <b"},
		{"a <div class=\"x", "a"},
		{"a</", "a</"},
		{"a<!-- b <p>c", "a b\n\nc"},
		{"a<!-- b --", "a b --"},
		{"a<!-- b <i>c</i> <!-- d <p>e", "a b c d\n\ne"},
		{"<title>a<p>b", "b"},
		{"<title>a<title>b<p>c", "c"},
		{"<textarea>a<p>b", "a\n\nb"},
		{"<iframe src=x>a<p>b", "a\n\nb"},
		{"<svg>a<p>b", "a\n\nb"},
		{"a<svg><g>b<p>c</svg>", "a\n\nc"},
		{"<video>a<p>b", "a\n\nb"},
		{"<template>a", "a"},
		{"<p class=x id=\">\">a", "a"},
		{"<p a='>b", ""},
		{"</p></b></x>a</>b", "ab"},
		{"<b><i>a</b></i>", "a"},
		{"<P CLASS=X>a<BR>b</P>", "a\nb"},
		{"<p/>a<div/>b", "a\nb"},
		{"<?xml version='1.0'?><html><head><script src='x'/><title/></head><body>a</body>", "a"},
	},
}

func TestLinkOptions(t *testing.T) {
	base, _ := url.Parse("https://example.com/dir/page?q")
	in := `<a href="a.html">1</a>, <a href="/b">2</a>, <a href="//x.org/c">3</a>, <a href="?d">4</a>, <a href="http://y.org">5</a>, <a href="a.html">6</a>, <a href="../e"></a>`
	for _, c := range []struct {
		in   string
		o    html.Options
		want string
	}{
		{in, html.Options{Base: base}, "1 (https://example.com/dir/a.html), 2 (https://example.com/b), 3 (https://x.org/c), " +
			"4 (https://example.com/dir/page?d), 5 (http://y.org), 6 (https://example.com/dir/a.html), https://example.com/e"},
		{in, html.Options{Links: html.None}, "1, 2, 3, 4, 5, 6,"},
		{in, html.Options{Links: html.List}, "1 [1], 2 [2], 3 [3], 4 [4], 5 [5], 6 [1], [6]\n\n" +
			"Links:\n[1] a.html\n[2] /b\n[3] //x.org/c\n[4] ?d\n[5] http://y.org\n[6] ../e"},
		{`<base href="/up/"><base href="/no/"><a href="x">a</a>`, html.Options{Base: base}, "a (https://example.com/up/x)"},
		{`<base href="/up/"><a href="x">a</a>`, html.Options{}, "a (x)"},
		{`<base href="javascript:x"><a href="x">a</a>`, html.Options{Base: base}, "a (https://example.com/dir/x)"},
		{`<a href="http://[">a</a> <a href="%zz">b</a>`, html.Options{Base: base}, "a (http://[) b (%zz)"},
		{`<a href="http://x.org/">x.org</a>`, html.Options{Links: html.List}, "x.org"},
		{`<ul><li><a href=/a>b</a>`, html.Options{Links: html.List}, "- b [1]\n\nLinks:\n[1] /a"},
	} {
		if got := html.Text(c.in, c.o); got != c.want {
			t.Errorf("Text(%q, %+v)\n got %q\nwant %q", c.in, c.o, got, c.want)
		}
	}
}

func TestTitle(t *testing.T) {
	for _, c := range []textCase{
		{"<title>a</title>", "a"},
		{"<TITLE lang=en>\n a &amp; <b>\n c</TITLE><title>d</title>", "a & <b> c"},
		{"<svg><title>no</title></svg><title>yes</title>", "yes"},
		{"<svg><title>never closed</title>", "never closed"},
		{"<title></title>a", ""},
		{"<title>a<p>b", "a"},
		{"<title>a", "a"},
		{"<p>no title", ""},
		{"<script>'<title>no</title>'</script><!-- <title>no</title> -->", ""},
		{"", ""},
	} {
		if got := html.Title(c.in); got != c.want {
			t.Errorf("Title(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestLine(t *testing.T) {
	for _, c := range []textCase{
		{" a <strong>b</strong>\n<br>c &amp;amp; d&#x27;s ", "a b c &amp; d's"},
		{"<p>a</p><ul><li>b</ul><table><tr><td>c<td>d</table><pre>e\n\tf</pre>", "a b c d e f"},
		{"<a href=/x>a</a><!---->", "a"},
		{"3 < 4 > 2", "3 < 4 > 2"},
		{"", ""},
	} {
		if got := html.Line(c.in); got != c.want {
			t.Errorf("Line(%q) = %q, want %q", c.in, got, c.want)
		}
		if strings.Contains(html.Line(c.in), "\n") {
			t.Errorf("Line(%q) has a new line", c.in)
		}
	}
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"  a\n\n\n\tb  ":                     "  a\n\n\n\tb  ",
		"a\u200bb\u034f\ufeff\u00adc\u202ed": "abcd",
		"😀\U000e0154\U000e01efz":             "😀z",
		"x\U000e0041\U000e0042y\x00\x1b":     "xy",
		"a \u200c\u200c \u200d b":            "a   b",
		"👩\u200d🚀 نمی\u200cخواهم":            "👩\u200d🚀 نمی\u200cخواهم",
		"a\u00a0b":                           "a b",
		"<p>&amp;":                           "<p>&amp;",
		"\xff":                               "\ufffd",
		"":                                   "",
	} {
		if got := html.Plain(in); got != want {
			t.Errorf("Plain(%q) is %q, want %q", in, got, want)
		}
	}
}

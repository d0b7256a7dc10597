package html_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolserver/toolserver/text/html"
)

// TestSkipMarked has documents whose words are "seen" or "not": what is left out says so.
func TestSkipMarked(t *testing.T) {
	for _, src := range []string{
		`seen<div hidden>not<div>not</div>not</div>seen`,
		`<p hidden>not<p>seen`, `<p HIDDEN="">not</p>seen`, `<p hIdDen=until-found>not</p>seen`,
		`<div><p hidden>not</div>seen`, `<p aria-hidden=true>not<div>seen</div>`, `<p hidden>not<br>not<b>not</b><h2>seen</h2>`,
		`<p aria-hidden="true">not</p><p aria-hidden="false">seen</p><p aria-hidden>seen`,
		`<span style="display:none">not</span>seen`, `<span STYLE="color:red;DISPLAY : NONE !important">not</span>seen`,
		`<p style="d\69 splay:n\6fne">not</p>seen<p style="display&#58;none">not</p>seen<p style="/**/display/**/:none">not`,
		`<p style="visibility:hidden">not</p><p style="overflow:hidden;opacity:0">seen</p>`,
		`<div><span style="display:none">not</div>seen`,
		`<ul><li>seen<li hidden>not<ul><li>not</ul>not<li>seen</ul>seen`, `<ul><li hidden>not</ul>seen`, `<ul hidden><li>not<li>not</ul>seen`,
		`<table><tr><td>seen<td hidden>not<td>seen<tr hidden><td>not<td>not<tr><td>seen</table>seen`,
		`<table><tr><td hidden>not</table>seen`, `<table><tr><td hidden>not</tr><tr><td>seen</table>`,
		`<table><tr><th>seen<th hidden>not<td>seen</table><table><tbody hidden><tr><td>not<tbody><tr><td>seen</table>`,
		`<table><tr><td hidden>not<table><tr><td>not</table>not<td>seen</table>`,
		`<dl><dt hidden>not<dd>seen<dt>seen<dd hidden>not<dt>seen</dl>`, `<select><option hidden>not<option>seen</select>`,
		`<dialog>not</dialog><dialog open>seen</dialog><dialog open hidden>not</dialog>seen`,
		`<html hidden><body style="display:none">seen`, `<body aria-hidden=true>seen`,
		`<i hidden/>seen`, `<img hidden alt=not>seen<br hidden>seen<input hidden>seen`,
		`<div hidden><script>var x = "</div>"</script>not</div>seen`, `<div hidden><textarea>not</div>not</textarea></div>seen`,
		`<svg hidden><text>x</text></svg>seen<script hidden>x</script>seen<style hidden>x</style>seen`,
		`<a href=/x hidden>not</a><a href=/x style="color:red">seen</a>`,
		`<details><summary>seen</summary>seen</details>`, `<p class="sr-only">seen`, `<p title=hidden data-x="style">seen`,
	} {
		for _, markdown := range []bool{false, true} {
			text, unshown := html.Convert(src, html.Options{SkipMarked: true}, markdown)
			if strings.Contains(text, "not") || strings.Count(text, "seen") != strings.Count(src, "seen") || unshown != 3*strings.Count(src, "not")-unsaid(src) {
				t.Errorf("%s\n%t: %q, %d characters left out", src, markdown, text, unshown)
			}
		}
		if text := html.Text(src, html.Options{}); strings.Contains(src, ">not") && !strings.Contains(text, "not") {
			t.Errorf("%s: not shown when asked for: %q", src, text)
		}
	}
	text, _ := html.Convert(`<p><a style="color:red" href="/x">a</a> <a hidden href="/y">b</a>`, html.Options{SkipMarked: true}, true)
	if text != "[a](/x)" {
		t.Errorf("an address is lost: %q", text)
	}
}

// unsaid is how many characters "not" has in attributes, and of tags in verbatim text.
func unsaid(src string) int {
	return 3*strings.Count(src, "alt=not") - len("</div>")*strings.Count(src, "<textarea>not</div>")
}

func FuzzSkipMarked(f *testing.F) {
	seeds(f)
	for _, src := range hiddenCases {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		text, unshown := html.Convert(src, html.Options{SkipMarked: true}, false)
		checkText(t, src, text)
		if unshown < 0 || unshown > utf8.RuneCountInString(src)+len(src) {
			t.Errorf("%d characters left out of %d bytes", unshown, len(src))
		}
		// What is around a hidden element that is closed stays.
		if text := html.Text("QQXX<div hidden>"+strings.ReplaceAll(src, "<", "")+"</div>QQYY", html.Options{SkipMarked: true}); text != "QQXX\nQQYY" {
			t.Errorf("%q", text)
		}
	})
}

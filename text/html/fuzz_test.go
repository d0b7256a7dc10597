package html_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolserver/toolserver/text/html"
)

// seeds adds the golden pages and the cases of the tables to a corpus.
func seeds(f *testing.F) {
	pages, err := filepath.Glob("testdata/golden/*.html")
	if err != nil {
		f.Fatal(err)
	}
	for _, page := range pages {
		src, err := os.ReadFile(page)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(src))
	}
	for _, cases := range textCases {
		for _, c := range cases {
			f.Add(c.in)
		}
	}
}

func FuzzText(f *testing.F) {
	seeds(f)
	base, err := url.Parse("https://example.com/dir/page")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, src string) {
		for _, o := range []html.Options{{}, {Links: html.None}, {Links: html.List}, {Base: base}} {
			text := html.Text(src, o)
			limit := 8*len(src) + 300
			if o.Base != nil { // encoded, a byte that is not UTF-8 has nine
				limit = 12*len(src) + 70_000
			}
			if len(text) > limit {
				t.Errorf("%d bytes of text of %d", len(text), len(src))
			}
			checkText(t, src, text)
			if line := html.Line(src); strings.ContainsAny(line, "\n\t") || strings.Contains(line, "  ") {
				t.Errorf("Line has more white space than words: %q", line)
			}
			if title := html.Title(src); !utf8.ValidString(title) || strings.Contains(title, "\n") {
				t.Errorf("Title is not a line: %q", title)
			}
			if !strings.ContainsAny(text, "<&") {
				plain := html.Text(strings.Join(strings.Fields(text), " "), o)
				if again := html.Text(plain, o); again != plain {
					t.Errorf("plain text changes:\n%q\n%q", plain, again)
				}
			}
		}
		if text := html.Text("<div><script>"+strings.ReplaceAll(src, "</", "")+"QQXX</script>a<style>"+strings.ReplaceAll(src, "</", "")+"QQXX</style>b",
			html.Options{}); strings.Contains(text, "QQXX") {
			t.Errorf("text of a script or style: %q", text)
		}
	})
}

func checkText(t *testing.T, src, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("not UTF-8: %q", text)
	}
	if strings.ContainsAny(text, "\x00\x01\x02\r\u200b\u202e\ufeff\u00a0\u00ad") {
		t.Errorf("odd characters: %q", text)
	}
	if text != strings.TrimRight(text, " \n\t") {
		t.Errorf("not trimmed: %q", text)
	}
	lower := strings.ToLower(src)
	for _, tag := range []string{"<pre", "<textarea", "<xmp", "<plaintext", "<listing"} {
		if strings.Contains(lower, tag) {
			return
		}
	}
	if strings.Contains(text, "\n\n\n") {
		t.Errorf("two blank lines: %q", text)
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); line != strings.TrimRight(line, " \t") {
			t.Errorf("line %q is not trimmed", line)
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, src string) {
		md := html.Markdown(src, html.Options{})
		if !utf8.ValidString(md) {
			t.Errorf("not UTF-8: %q", md)
		}
		if strings.Contains(md, "<!--THE END-->") && !strings.Contains(src, "THE END") {
			t.Errorf("comment of the converter: %q", md)
		}
		if x := html.FromXHTML(src); len(x) > 6*len(src) {
			t.Errorf("%d bytes of HTML of %d of XHTML", len(x), len(src))
		}
		if len(md) > 40*len(src)+1000 {
			t.Errorf("%d bytes of Markdown of %d", len(md), len(src))
		}
	})
}

func FuzzSelect(f *testing.F) {
	for _, selector := range []string{"p", "div > p.x", "a[href^=http], b", "p:not(.x) ~ *", "tr:nth-child(2n+1) td", ":has(> a)", "a\\:b", "[a=\"x,y > z\"]", "*"} {
		f.Add(selectPage, selector)
	}
	f.Fuzz(func(t *testing.T, src, selector string) {
		out, n, err := html.Select(src, selector)
		if err != nil {
			return
		}
		if (n == 0) != (out == "") || n < 0 {
			t.Errorf("%d matches, %q", n, out)
		}
		doc := html.Parse(src)
		if found := doc.Find(selector).Length(); found < n || found > 0 && n == 0 {
			t.Errorf("Select %q finds %d, goquery %d", selector, n, found)
		}
	})
}

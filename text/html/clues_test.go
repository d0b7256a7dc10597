package html_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/text/html"
)

func TestClues(t *testing.T) {
	address, err := url.Parse("https://example.com/a/b")
	if err != nil {
		t.Fatal(err)
	}
	for src, want := range map[string]html.Clues{
		`<p>x`: {},
		`<meta http-equiv=Refresh content="0; URL='/there?a=1&amp;b=2'">`:                 {Refresh: "https://example.com/there?a=1&b=2"},
		`<base href=//cdn.example/x/><meta http-equiv=refresh content="5,there">`:         {Refresh: "https://cdn.example/x/there"},
		`<noscript><meta http-equiv="refresh" content=" 1.5 ;url = c "></noscript>`:       {Refresh: "https://example.com/a/c"},
		`<meta http-equiv=refresh content=300><meta name=refresh content="0;url=x">`:      {},
		`<meta http-equiv=refresh content="0;url=javascript:x()"><script src=a></script>`: {Scripted: true},
		`<script type="application/ld+json">{"@graph":[{"articleBody":"a"},{"x":{"articleBody":"long\n\u200bone"}}]}</script>`: {
			Scripted: true, ArticleBody: "long\none",
		},
		`<script type="application/ld+json">{"articleBody":"<p>a &amp; b<p hidden>c</p>d"}</script>`:   {Scripted: true, ArticleBody: "a & b\nd"},
		`<script type="application/ld+json">{"articleBody":[1,</script><script>"articleBody"</script>`: {Scripted: true},
	} {
		if got := html.FindClues(src, address); got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", src, got, want)
		}
	}
}

// articlePage is a page with an article between what is not part of it.
func articlePage(sentences int) string {
	words := strings.Repeat("The quick brown fox, having seen the dog, jumps over it. ", sentences)
	return `<html><head><title>T</title></head><body><nav class=menu><ul><li><a href=/1>Home menu</a><li><a href=/2>Sport menu</a></ul></nav>
<div class=sidebar><a href=/3>Teaser one</a> <a href=/4>Teaser two</a></div>
<article><h2>Heading</h2><p>` + words + `</p><p>See <a href="next">the next</a>. ` + words + `</p><pre><code class="language-go">a := 1</code></pre></article>
<footer>Imprint footer</footer></body></html>`
}

func TestArticle(t *testing.T) {
	address, err := url.Parse("https://example.com/dir/page")
	if err != nil {
		t.Fatal(err)
	}
	md := html.Markdown(html.Article(articlePage(10), address), html.Options{})
	for _, want := range []string{"quick brown fox", "[the next](https://example.com/dir/next)", "```go\na := 1\n```"} {
		if !strings.Contains(md, want) {
			t.Errorf("no %q in\n%s", want, md)
		}
	}
	for _, other := range []string{"menu", "Teaser", "Imprint"} {
		if strings.Contains(md, other) {
			t.Errorf("%q in\n%s", other, md)
		}
	}
	for name, src := range map[string]string{
		"nothing":  "",
		"costly":   "<b><i><u><s><em><strong><code><big>" + strings.Repeat("<p>x", 200_000),
		"too long": strings.Repeat("<p>some text, of a page</p>", maxElements+1),
		"too deep": strings.Repeat("<div>", 400) + strings.Repeat("<p>text, of this", 10_000),
	} {
		if got := html.Article(src, address); got != "" {
			t.Errorf("%s: %.200q", name, got)
		}
	}
}

const maxElements = 20_000

func FuzzArticle(f *testing.F) {
	seeds(f)
	f.Add(articlePage(10))
	address, err := url.Parse("https://example.com/dir/page")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if article := html.Article(src, address); len(article) > 40*len(src)+1000 {
			t.Errorf("%d bytes of an article of %d", len(article), len(src))
		}
		if c := html.FindClues(src, address); len(c.ArticleBody) > 8*len(src) || len(c.Refresh) > 12*len(src)+1000 {
			t.Errorf("clues grow: %d, %d of %d", len(c.ArticleBody), len(c.Refresh), len(src))
		}
	})
}

// BenchmarkArticle is of a page of 200 kB, as news sites have.
func BenchmarkArticle(b *testing.B) {
	src, address := page(200_000), &url.URL{Scheme: "https", Host: "example.com"}
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		html.Article(src, address)
	}
}

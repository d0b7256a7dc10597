package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolserver/toolserver/text/html"
)

// FuzzDecode makes text of any bytes that claim any type: it is always UTF-8, and
// UTF-8 that says so is kept.
func FuzzDecode(f *testing.F) {
	for _, seed := range [][2]string{
		{"caf\xe9", "text/plain; charset=windows-1252"}, {"\xff\xfeh\x00", "text/plain"}, {`<meta charset="shift_jis">` + "\x93\xfa", "text/html"},
		{`<?xml version="1.0" encoding='gbk'?>`, "application/xml"}, {"é", "text/html; charset=utf-8"}, {"\x1b$B", "text/plain; charset=iso-2022-jp"},
		{"x", `text/plain; charset="utf-7`}, {"", ""}, {"<meta charset=utf-16>é", "text/html"}, {"\xfe\xff\xd8\x00", "text/plain; charset=replacement"},
	} {
		f.Add([]byte(seed[0]), seed[1])
	}
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		text, name, _ := decode(body, contentType)
		if !utf8.ValidString(text) || name == "" {
			t.Fatalf("%q of %q", text, name)
		}
		if contentType == "text/plain; charset=utf-8" && utf8.Valid(body) && name == "utf-8" && text != strings.TrimPrefix(string(body), "\ufeff") {
			t.Fatalf("%q became %q", body, text)
		}
		media := mediaType(contentType, body)
		if media == "" {
			t.Fatal("no type")
		}
	})
}

// FuzzParts cuts text in parts, which make up the whole.
func FuzzParts(f *testing.F) {
	f.Add("aé日😀\n", 1)
	f.Add("\xff\xfe", 1)
	f.Add("", 3)
	f.Fuzz(func(t *testing.T, text string, size int) {
		if size < 1 || size > 1<<20 || !utf8.ValidString(text) {
			t.Skip()
		}
		var got strings.Builder
		for start := 0; start < utf8.RuneCountInString(text); start += size {
			part := cutRunes(text, start, size)
			if n := utf8.RuneCountInString(part); n == 0 || n > size {
				t.Fatalf("a part of %d characters, of %d", n, size)
			}
			got.WriteString(part)
		}
		if got.String() != text {
			t.Fatalf("%q became %q", text, got.String())
		}
	})
}

// FuzzFreshness reads what sites say about keeping pages.
func FuzzFreshness(f *testing.F) {
	f.Add("max-age=60, private", "5", "*")
	f.Add(`Max-Age="60"`, "-1", "")
	f.Fuzz(func(t *testing.T, control, age, vary string) {
		lifetime, _ := freshness(http.Header{"Cache-Control": {control}, "Age": {age}, "Vary": {vary}})
		if lifetime < 0 || lifetime > snapshot {
			t.Fatalf("lifetime %v", lifetime)
		}
	})
}

// FuzzFeed reads feeds, whose text is not much longer than they are.
func FuzzFeed(f *testing.F) {
	for _, seed := range []string{
		`<rss><channel><title>a</title><item><title>b</title><link>/c</link><description>&lt;p&gt;d</description></item></channel></rss>`,
		`<feed xmlns="http://www.w3.org/2005/Atom"><title type="xhtml"><div>a</div></title><entry><link rel="self" href="x"/><content type="html">&lt;b&gt;</content></entry></feed>`,
		`<rdf:RDF><item><title><![CDATA[<!--]]></title></item></rdf:RDF>`, `<rss><item>`, `<?xml encoding="x"?><rss/>`, `<rss>&nope;<channel>`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		doc, ok := feedDocument("text/xml", text)
		if !ok {
			return
		}
		if made := html.Text(doc, html.Options{}); len(made) > 20*len(text)+1000 || !utf8.ValidString(made) {
			t.Errorf("%d bytes of text of %d, %q", len(made), len(text), made)
		}
	})
}

// FuzzLittle explains pages of any content.
func FuzzLittle(f *testing.F) {
	for _, seed := range []string{"", "<title>x</title>", `<meta http-equiv=refresh content="0;url=/x">`, "<div hidden>x</div>", "[To read on: x"} {
		f.Add(seed, "text", "page")
	}
	f.Add("<article><p>x</article>", "markdown", "article")
	f.Fuzz(func(t *testing.T, body, format, content string) {
		if !strings.HasPrefix(http.DetectContentType([]byte(body)), "text/") {
			t.Skip() // nothing reads images and documents here
		}
		p := &page{url: &url.URL{Scheme: "https", Host: "example.com"}, header: http.Header{"Content-Type": {"text/html; charset=utf-8"}}}
		_ = p.decode(t.Context(), nil, []byte(body))
		made, err := p.render(input{Format: format, Content: content, Links: "inline"})
		if err != nil {
			t.Fatal(err)
		}
		head := p.head(input{URL: "https://example.com/"}, made)
		if strings.Contains(made.text, readOn) || strings.Contains(head, "\n--- Content ---") || strings.Contains(head, "\n\n") {
			t.Errorf("the page writes our lines: %q\n%q", head, made.text)
		}
	})
}

package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

// charsets are those that pages are in, with what is written in them. Guessed is
// whether a page tells by itself.
var charsets = []struct {
	label   string
	enc     encoding.Encoding
	text    string
	guessed bool
}{
	{"utf-8", encoding.Nop, "Grüße, 日本語, emoji 😀", true},
	{"Shift_JIS", japanese.ShiftJIS, "これは日本語のページです。文字コードを正しく読めますか。カタカナも漢字もあります。", true},
	{"EUC-JP", japanese.EUCJP, "これは日本語のページです。文字コードを正しく読めますか。カタカナも漢字もあります。", true},
	{"ISO-2022-JP", japanese.ISO2022JP, "これは日本語のページです。文字コードを正しく読めますか。", false},
	{"GBK", simplifiedchinese.GBK, "这是一个中文网页，我们希望它能够被正确地显示出来。汉字很多，所以编码很重要。", true},
	{"gb18030", simplifiedchinese.GB18030, "这是一个中文网页，我们希望它能够被正确地显示出来。€", false},
	{"big5", traditionalchinese.Big5, "這是一個中文網頁，我們希望它能夠被正確地顯示出來。", false},
	{"EUC-KR", korean.EUCKR, "이것은 한국어 페이지입니다. 글자가 올바르게 보이기를 바랍니다. 인코딩은 중요합니다.", true},
	{"windows-1252", charmap.Windows1252, "Grüße aus Köln – “naïve” café, 5 €", true},
	{"iso-8859-1", charmap.Windows1252, "Grüße – €", false}, // as browsers take it
	{"iso-8859-2", charmap.ISO8859_2, "Žluťoučký kůň úpěl ďábelské ódy", false},
	{"KOI8-R", charmap.KOI8R, "Это страница на русском языке, и её нужно прочитать правильно. Кодировка имеет значение.", true},
	{"windows-1251", charmap.Windows1251, "Это страница на русском языке, и её нужно прочитать правильно. Кодировка имеет значение.", true},
	{"utf-16le", unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "Grüße, 日本語, emoji 😀", false},
	{"utf-16be", unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), "Grüße, 日本語, emoji 😀", false},
}

// TestWebFetchCharsets has the same pages in every charset, which is said in
// every way.
func TestWebFetchCharsets(t *testing.T) {
	t.Parallel()
	type page struct {
		path, contentType string
		body              []byte
		want, charset     string
	}
	var pages []page
	add := func(contentType string, enc encoding.Encoding, before, source, want, charset string) {
		b, err := enc.NewEncoder().String(source)
		must(t, err)
		pages = append(pages, page{fmt.Sprintf("/%d", len(pages)), contentType, []byte(before + b), want, charset})
	}
	for _, c := range charsets {
		wide := strings.HasPrefix(c.label, "utf-16")
		add("text/html; charset="+c.label, c.enc, "", "<title>t</title><p>"+c.text, c.text, c.label)
		add(`text/plain;charset="`+strings.ToUpper(c.label)+`"`, c.enc, "", c.text, c.text, c.label)
		add("text/html; charset="+c.label, c.enc, "", `<meta charset="windows-1253"><p>`+c.text, c.text, c.label) // the header counts
		if !wide {
			add("text/html", c.enc, "", `<!doctype html><meta charset=`+c.label+`><p>`+c.text, c.text, c.label)
			add("text/html", c.enc, "", `<html><head><meta http-equiv="Content-Type" content="text/html; charset=`+c.label+`"></head><p>`+c.text,
				c.text, c.label)
			add("text/html; charset=no-such-charset", c.enc, "", `<meta charset='`+c.label+`'><p>`+c.text, c.text, c.label)
			add("text/xml", c.enc, "", `<?xml version="1.0" encoding="`+c.label+`"?><a>`+c.text+`</a>`,
				`<?xml version="1.0" encoding="`+c.label+`"?><a>`+c.text+`</a>`, c.label)
			add("text/html", c.enc, "", "<!-- "+strings.Repeat("x", 2000)+" --><meta charset="+c.label+"><p>"+c.text, c.text, c.label)
		}
		if c.guessed {
			add("text/html", c.enc, "", "<p>"+c.text, c.text, "")
			add("text/plain", c.enc, "", c.text, c.text, "")
		}
	}
	const text = "Grüße, 日本語 😀"
	for label, mark := range map[string]string{"utf-8": "\xef\xbb\xbf", "utf-16le": "\xff\xfe", "utf-16be": "\xfe\xff"} {
		for _, c := range charsets {
			if c.label == label {
				add("text/plain; charset=windows-1252", c.enc, mark, text, text, label) // the mark counts
				add("text/html", c.enc, mark, "<meta charset=koi8-r><p>"+text, text, label)
				add("text/plain", c.enc, mark, text, text, label)
			}
		}
	}
	// UTF-8 that nobody declares, with nothing but ASCII in the beginning.
	add("text/html", encoding.Nop, "", "<p>"+strings.Repeat("ascii ", 500)+text, strings.Repeat("ascii ", 500)+text, "utf-8")
	add("text/plain", encoding.Nop, "", strings.Repeat("ascii ", 500)+text, strings.Repeat("ascii ", 500)+text, "utf-8")
	add("application/json", encoding.Nop, "", `{"a":"`+text+`"}`, "{\n  \"a\": \""+text+"\"\n}", "utf-8")
	add("application/json; charset=shift_jis", japanese.ShiftJIS, "", `{"a":"日本語"}`, "{\n  \"a\": \"日本語\"\n}", "shift_jis")
	add("text/html", encoding.Nop, "", `<meta charset="utf-16"><p>`+text, text, "utf-8") // or it could not be read
	add("text/html; charset=utf-8", encoding.Nop, "", "<p>a\xff\xfeb \xc3(", "a\ufffdb \ufffd(", "utf-8")
	add("text/plain; charset=utf-8", encoding.Nop, "", "cut in a character: \xf0\x9f\x98", "cut in a character: \ufffd", "utf-8")

	routes := map[string]http.HandlerFunc{}
	for _, p := range pages {
		routes[p.path] = body(p.contentType, string(p.body))
	}
	var sites []string
	for range len(pages)/40 + 1 {
		sites = append(sites, serveSite(t, routes))
	}
	c := openFetch(t, "", sites...)
	for i, p := range pages {
		a := c.fetch(sites[i/40] + p.path)
		_, content, _ := strings.Cut(a.text(), "\n\n--- Content ---\n\n")
		if content != p.want {
			t.Errorf("%s, %.100q: %q, want %q", p.contentType, p.body, content, p.want)
		}
		charset, _ := a.Result.Meta["charset"].(string)
		if p.charset != "" && charset != strings.ToLower(p.charset) && !(p.charset == "iso-8859-1" && charset == "windows-1252") {
			t.Errorf("%s, %.100q: is taken for %s", p.contentType, p.body, charset)
		}
	}
	c.ping()
}

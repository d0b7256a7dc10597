package html_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/text/html"
)

func TestBase(t *testing.T) {
	address, err := url.Parse("https://example.com/dir/page")
	if err != nil {
		t.Fatal(err)
	}
	for src, want := range map[string]string{
		"<p>no base":            "https://example.com/dir/page",
		`<base href="/other/">`: "https://example.com/other/",
		`<BASE target=x><Base HREF=sub/><base href=z>`:               "https://example.com/dir/sub/",
		`<base href="http://elsewhere.test/a">`:                      "http://elsewhere.test/a",
		`<base href="javascript:x"><base href="/b">`:                 "https://example.com/b",
		`<!-- <base href="/c"> --><script>"<base href=/d>"</script>`: "https://example.com/dir/page",
		"<basefont><bas": "https://example.com/dir/page",
	} {
		if got := html.Base(src, address).String(); got != want {
			t.Errorf("%s: %s; want %s", src, got, want)
		}
	}
	if html.Base(`<base href="https://example.com/">`, nil) != nil {
		t.Error("there is a base without an address")
	}
	md := html.Markdown(`<base href="/other/"><a href="x">y</a>`, html.Options{Base: address})
	if !strings.Contains(md, "(https://example.com/other/x)") {
		t.Errorf("%q", md)
	}
}

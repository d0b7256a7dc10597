package document_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/text/document"
)

// book makes a book of chapters, given as file name and content in turn.
func book(t testing.TB, pairs ...string) []byte {
	t.Helper()
	items, spine := "", ""
	parts := []string{"mimetype", "application/epub+zip",
		"META-INF/container.xml", `<container><rootfiles><rootfile full-path="OEBPS/content.opf" media-type="application/oebps-package+xml"/></rootfiles></container>`}
	for i := 0; i < len(pairs); i += 2 {
		id := pairs[i]
		items = `<item id="` + id + `" href="` + strings.ReplaceAll(id, " ", "%20") + `" media-type="application/xhtml+xml"/>` + items // in another order
		spine += `<itemref idref="` + id + `"/>`
		parts = append(parts, "OEBPS/"+id, pairs[i+1])
	}
	return pack(t, append(parts, "OEBPS/content.opf", `<package><manifest>`+items+`<item id="img" href="a.png" media-type="image/png"/></manifest><spine>`+spine+`<itemref idref="`+pairs[0]+`"/><itemref idref="img"/></spine></package>`)...)
}

func TestEpubText(t *testing.T) {
	file := book(t, "one two.xhtml", `<?xml version="1.0"?><html><head><title>T</title><script src="x"/></head><body><h1>One</h1><p>first <a href="two.xhtml">link</a></p></body></html>`,
		"two.xhtml", `<html><body/></html>`, "three.xhtml", `<html><body><p>last &amp; least</p></body></html>`)
	got, err := epubText(bytes.NewReader(file), int64(len(file)), document.Limits{})
	if want := "One\n\nfirst link\n\nlast & least"; err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestEpubFailures(t *testing.T) {
	chapter := `<html><body><p>` + strings.Repeat("word ", 100) + `</p></body></html>`
	for _, tc := range []struct {
		name string
		file []byte
		want string
	}{
		{"no container", pack(t, "x", "y"), "META-INF/container.xml"},
		{"encrypted", append([]byte(nil), pack(t, "META-INF/container.xml", `<container><rootfile full-path="c.opf"/></container>`,
			"c.opf", `<package><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/><itemref idref="a"/></package>`, "a.xhtml", "\x00\x01",
			"META-INF/encryption.xml", `<encryption><EncryptedData><CipherData><CipherReference URI="a.xhtml"/></CipherData></EncryptedData></encryption>`)...), "DRM"},
		{"text", book(t, "a", chapter), "100 bytes of text"},
	} {
		if _, err := epubText(bytes.NewReader(tc.file), int64(len(tc.file)), document.Limits{Text: 100}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}

func FuzzEpub(f *testing.F) {
	f.Add([]byte(`<html><body><p>x</p></body></html>`))
	f.Fuzz(func(t *testing.T, chapter []byte) { check(t, epubText, book(t, "a.xhtml", string(chapter))) })
}

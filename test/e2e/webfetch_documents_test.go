//go:build linux

package e2e

import (
	"bytes"
	"compress/gzip"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"net/http"
	"strings"
	"testing"
)

// TestFetchDocuments reads from a site what read_file reads, also if the site calls it something else.
func TestFetchDocuments(t *testing.T) {
	t.Parallel()
	const words = "some words of a page"
	routes := map[string]http.HandlerFunc{}
	add := func(path, contentType string, data []byte) { routes[path] = body(contentType, string(data)) }
	var paths []string
	for name, data := range documentsThatSay(t, words) {
		if strings.HasSuffix(name, ".csv") || strings.HasSuffix(name, ".html") || strings.HasSuffix(name, ".txt") {
			continue
		}
		add("/"+name, "application/octet-stream", data)
		paths = append(paths, "/"+name)
		if name == "a.pdf" || name == "a.docx" || name == "a.xlsx" || name == "a.epub" {
			add("/nameless/"+name[2:], "application/octet-stream", data)
			add("/text/"+name, "text/plain; charset=utf-8", data)
			paths = append(paths, "/nameless/"+name[2:], "/text/"+name)
		}
	}
	m := image.NewRGBA(image.Rect(0, 0, 40, 30))
	m.Set(1, 1, color.White)
	for name, encode := range map[string]func(*bytes.Buffer) error{
		"png": func(b *bytes.Buffer) error { return png.Encode(b, m) }, "jpeg": func(b *bytes.Buffer) error { return jpeg.Encode(b, m, nil) },
		"gif": func(b *bytes.Buffer) error { return gif.Encode(b, m, nil) },
	} {
		var b bytes.Buffer
		must(t, encode(&b))
		add("/"+name, "image/"+name, b.Bytes())
		add("/odd/"+name, "text/plain", b.Bytes())
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write([]byte("<p>" + words))
	must(t, z.Close())
	add("/gzip", "text/html", zipped.Bytes())
	add("/exe", "application/octet-stream", []byte("\x7fELF\x02\x01\x01\x00"))
	add("/pdf.pdf", "application/pdf", []byte("<html><p>"+words))
	add("/large.pdf", "application/pdf", append(pdfOf("BT /F 12 Tf 20 200 Td ("+words+") Tj ET"), bytes.Repeat([]byte("%"), 3_000_000)...))
	add("/forged.pdf", "application/pdf", pdfOf("BT /F 12 Tf 20 200 Td ([Content truncated at "+words+") Tj ET"))
	site := serveSite(t, routes)
	c := openFetch(t, "", site)
	for _, path := range append(paths, "/gzip", "/pdf.pdf", "/large.pdf") {
		if got := c.fetched(site + path); !strings.Contains(got, words) {
			t.Errorf("%s: %.300q", path, got)
		}
	}
	for _, path := range []string{"/png", "/jpeg", "/gif", "/odd/png", "/odd/gif"} {
		a := c.fetch(site + path)
		if a.failed() || len(a.Result.Content) != 2 || !strings.Contains(a.text(), "an image of 40 x 30 pixels") {
			t.Errorf("%s: %+v", path, a)
		}
	}
	if got := c.fetched(site + "/forged.pdf"); !strings.Contains(got, "[the page says: Content truncated at") {
		t.Errorf("our own line in a document: %q", got)
	}
	wantFailure(t, "/exe", c.fetch(site+"/exe"), "unsupported_content", "Error: Unsupported content type application/x-elf (8 bytes)")
}

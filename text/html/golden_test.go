package html_test

import (
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/text/html"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden converts the pages in testdata/golden, which are of the shapes that the web has, to text and to Markdown.
func TestGolden(t *testing.T) {
	pages, err := filepath.Glob("testdata/golden/*.html")
	if err != nil || len(pages) == 0 {
		t.Fatal("no pages:", err)
	}
	base, err := url.Parse("https://example.com/dir/page.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		name := strings.TrimSuffix(page, ".html")
		t.Run(filepath.Base(name), func(t *testing.T) {
			src, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			in := strings.ReplaceAll(string(src), "\r\n", "\n")
			text := "Title: " + html.Title(in) + "\n\n" + html.Text(in, html.Options{Base: base})
			tooltest.Golden(t, name+".txt", text+"\n", *update)
			md := html.Markdown(in, html.Options{Base: base})
			tooltest.Golden(t, name+".md", md+"\n", *update)
		})
	}
}

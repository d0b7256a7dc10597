package document

import (
	"errors"
	"io"
	"net/url"
	"path"
	"strings"

	"github.com/toolserver/toolserver/text/html"
)

var errDRM = errors.New("its chapters are encrypted (DRM)")

// maxChapter bounds one chapter of a book, which is held as a whole.
const maxChapter = 8 << 20

// epubText returns the text of a book (EPUB): its chapters in the order they are read in, with
// a blank line between, as [html.Text] makes text of them. Addresses of links are left out.
func epubText(a *archive) ([]byte, error) {
	chapters, err := spine(a)
	if err != nil {
		return nil, err
	}
	encrypted := map[string]bool{} // by partKey; fonts may be, and nobody minds
	err = a.elements("META-INF/encryption.xml", func(e element) {
		if e.name == "CipherReference" {
			encrypted[partKey(e.attr("URI"))] = true
		}
	})
	if err != nil {
		return nil, err
	}
	var out []byte
	for _, chapter := range chapters {
		if encrypted[partKey(chapter)] {
			return out, errDRM
		}
		a.miss(chapter)
		err := a.unpack(chapter, func(content io.Reader) error {
			src, err := io.ReadAll(io.LimitReader(content, maxChapter+1))
			if err != nil {
				return err
			}
			if len(src) > maxChapter {
				return &LimitError{What: "bytes in one chapter", Max: maxChapter}
			}
			text := html.Text(html.FromXHTML(string(src)), html.Options{Links: html.None, SkipMarked: true})
			switch {
			case text == "":
			case a.take(len(text) + 2):
				out = append(append(out, text...), "\n\n"...)
			default:
				return a.full
			}
			return nil
		})
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// spine returns the chapters of a book in their order.
func spine(a *archive) (chapters []string, err error) {
	opf := ""
	err = a.elements("META-INF/container.xml", func(e element) {
		if e.name == "rootfile" && opf == "" {
			opf = e.attr("full-path")
		}
	})
	if err != nil {
		return nil, err
	}
	if !a.has(opf) {
		return nil, lacking("the package document that META-INF/container.xml names")
	}
	items := map[string]string{} // parts by id
	seen := map[string]bool{}    // a chapter is read once
	err = a.elements(opf, func(e element) {
		switch e.name {
		case "item":
			href, _, _ := strings.Cut(e.attr("href"), "#")
			if plain, err := url.PathUnescape(href); err == nil {
				href = plain
			}
			if media := e.attr("media-type"); strings.Contains(media, "html") {
				items[e.attr("id")] = path.Join(path.Dir(opf), href)
			}
		case "itemref":
			if part := items[e.attr("idref")]; part != "" && !seen[part] {
				seen[part] = true
				chapters = append(chapters, part)
			}
		}
	})
	return chapters, err
}

package html

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"
)

// Base returns what the relative links of a document are resolved against: the document's own first <base href>, or else its
// address, which may be nil. Who takes a part out of a document gives it to [Options.Base] of the part.
func Base(src string, address *url.URL) *url.URL {
	if address == nil || !mentions(src, "<base") {
		return address
	}
	l := links{base: address}
	for s := newScanner(src); !l.based && s.next(); {
		if s.name == "base" && s.kind != html.EndTagToken {
			if href, ok := s.attr("href"); ok {
				l.rebase(href)
			}
		}
	}
	return l.base
}

// mentions reports whether a document has a text in it, whatever the case of its ASCII letters.
func mentions(src, text string) bool {
	for i := strings.IndexByte(src, text[0]); i >= 0 && len(src)-i >= len(text); {
		if strings.EqualFold(src[i:i+len(text)], text) {
			return true
		}
		next := strings.IndexByte(src[i+1:], text[0])
		if next < 0 {
			return false
		}
		i += 1 + next
	}
	return false
}

// Package html turns HTML into something to read: plain text, Markdown, one line, or the part a selector names.
//
// Its input comes from strangers. Nothing here hangs, fails on deep nesting or grows out of proportion to what it was given:
// text and Markdown are made in one pass over the tokens, and only documents that the parser can cope with are given to it.
package html

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"
)

// LinkStyle is where the addresses of links go.
type LinkStyle int

const (
	// Inline writes an address behind its text: text (https://example.com/).
	Inline LinkStyle = iota
	// None leaves addresses out.
	None
	// List writes a number behind the text, text [1], and the addresses below the document, each once.
	List
)

// Options say how a document becomes text.
type Options struct {
	// Base is the document's address. Relative links are resolved against it, and against the document's own <base href>;
	// nil leaves them as they are.
	Base *url.URL
	// Links is where the addresses of links go.
	Links LinkStyle
	// SkipMarked leaves out elements whose own tag says that they are not shown: those with the attribute hidden, aria-hidden=true,
	// or a style of display:none or visibility:hidden, and dialogs that are not open. It costs next to nothing.
	SkipMarked bool
}

// Text converts a document or a fragment to readable text. It never fails: what is not HTML is text.
//
//   - Blocks (div, li, tr, dd, option ...) stand on lines of their own. Paragraphs, headings, sections, outer lists, tables and
//     the like are set apart by one blank line, and there is never more than one in a row outside pre.
//   - br is a new line; two make a blank line. White space is one space, lines have none around them, nor has the result.
//   - Items of lists begin with "- ", two spaces further in for each list they are nested in, those of ordered lists with their
//     number. What goes on in an item on further lines is indented like its text.
//   - Cells are separated by one TAB, empty ones too, and those that another one spans; none trails. Blocks in a cell do not break
//     its row, unless the row is plainly there for layout: it holds another table, lines of pre, a single cell of several blocks or
//     dozens of blocks. The blocks of such a row are lines as they would be outside a table.
//   - pre, textarea, xmp and plaintext are verbatim, without addresses of links.
//   - A link is "text (url)"; the url alone if the text is empty or the same; the text alone if the address is empty, a
//     fragment, javascript: or data:. A frame is its address.
//   - Entities are decoded once. No-break and other odd spaces become spaces; soft hyphens, zero-width characters (joiners stay
//     where scripts and emoji need them), marks of direction, tag and control characters are removed.
//   - script, style, title, template, svg, iframe, audio, video, canvas, datalist, comments and attributes are not text. An image
//     is [image: what its alt says], and nothing without one. noscript, noframes, noembed and object are text: they are written for
//     readers that do not run or show what they stand in for, and we are one. Elements marked hidden stay, unless Options leave them
//     out: streamed pages carry their content in them until a script moves it. So does a template with shadowrootmode, which
//     browsers show.
//   - math is its alttext, or else its symbols, spaced. A digit in sup gets a ^ in front of it, so that 10<sup>6</sup> is 10^6.
//     q has quotation marks.
//   - What is never closed does not swallow the rest of the document: neither a comment, nor a title, textarea or svg. A script
//     or style does.
//   - CDATA is text. Bytes that are not UTF-8 become U+FFFD. The result is valid UTF-8, at most a few times as long as src.
func Text(src string, o Options) string {
	text, _ := Convert(src, o, false)
	return text
}

// Convert is [Text], or converts to CommonMark with pipe tables, and tells besides how many characters [Options.SkipMarked] has
// left out. In Markdown blocks, addresses and what is left out are as in Text, but images keep their addresses, and code, tables,
// headings, quotes and emphasis are marked as such. With the style None, links are their text; with List they are numbered
// references, whose definitions end the document. Rows for layout are paragraphs. Lists and quotes more than ten deep stand on the
// same level.
func Convert(src string, o Options, markdown bool) (text string, unshown int) {
	r := newRenderer(src, o)
	if markdown {
		r.markdown, r.gap, r.classes, r.due = true, 2, &markdownClasses, true
	}
	r.run()
	return r.finish(), r.unshown.chars
}

// Line returns the text of a snippet, such as the title of a search result or a field of a card, on one line: no markup and no
// addresses, entities decoded once, white space collapsed.
func Line(src string) string {
	r := newRenderer(src, Options{Links: None})
	r.line = true
	r.run()
	return strings.Join(strings.Fields(r.finish()), " ")
}

// Title returns the title of a document on one line, or "" if there is none. The title of a drawing (svg) is not one.
func Title(src string) string {
	s := newScanner(src)
	drawings := 0
	for s.next() {
		switch s.name {
		case "svg":
			drawings = max(0, drawings+s.nesting())
		case "title":
			if s.kind == html.StartTagToken && (drawings == 0 || !s.closes("svg")) {
				return s.title()
			}
		}
	}
	return ""
}

// title returns the text of the title whose start tag was just read. One that is never closed ends at the next tag.
func (s *scanner) title() string {
	w := writer{classes: &textClasses}
	for s.next() && s.kind == html.TextToken {
		w.text(s.content())
	}
	return strings.Join(strings.Fields(w.finish()), " ")
}

// PlainLine is [Plain] on one line.
func PlainLine(text string) string { return strings.Join(strings.Fields(Plain(text)), " ") }

// Plain returns plain text as it is in pre: lines and white space stay, and what cannot be seen is removed as from [Text].
func Plain(text string) string {
	w := writer{classes: &textClasses, verbatim: 1, out: make([]byte, 0, len(text))}
	w.pre([]byte(text))
	return string(w.out)
}

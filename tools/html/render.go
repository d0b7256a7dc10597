package html

import (
	"strconv"

	"golang.org/x/net/html"
)

// renderer turns tokens into text.
type renderer struct {
	*scanner
	writer
	links  links
	anchor string // the address of the link that is open, or ""

	listed bool         // the current list has an item
	loose  bool         // the current item is in no list
	tables []tableState // that are open, with what is around them

	skip    string // the element that is skipped, or ""
	depth   int    // of elements of that name in it
	foreign int    // foreignObject elements open in it
}

func newRenderer(src string, o Options) *renderer {
	r := &renderer{scanner: newScanner(src)}
	r.out = make([]byte, 0, len(src)/2+16)
	r.links = newLinks(src, o)
	return r
}

// run reads the document.
func (r *renderer) run() {
	for r.next() {
		switch {
		case r.skip != "":
			r.skipping()
		case r.kind == html.TextToken:
			r.text(r.content())
		case r.kind == html.EndTagToken:
			r.end()
		default:
			r.start()
		}
	}
	r.closeAnchor()
	for len(r.tables) > 0 {
		r.endTable()
	}
	r.closePre()
	r.endRow()
	r.footnotes()
}

// footnotes writes the list of addresses.
func (r *renderer) footnotes() {
	if len(r.links.list) == 0 {
		return
	}
	r.level, r.item, r.verbatim = 0, false, 0
	r.breakLines(2)
	r.text([]byte("Links:"))
	for i, address := range r.links.list {
		r.breakLines(1)
		r.text([]byte("[" + strconv.Itoa(i+1) + "] " + address))
	}
}

// start is a start tag.
func (r *renderer) start() {
	switch roleOf(r.name) {
	case line:
		r.breakLines(1)
	case block:
		r.breakLines(2)
	case object, button:
		r.keepApart()
	case skipped:
		r.keepApart()
		r.skipElement()
	case dropped:
		r.drop()
	case lineBreak:
		r.lineBreak()
	case list:
		r.openList()
	case item:
		r.openItem()
	case table:
		r.startTable()
	case row:
		r.closeAnchor()
		r.restoreLevel()
		r.openRow(r.plain())
	case cell:
		r.startCell()
	case verbatim:
		r.startVerbatim()
	case anchor:
		href, _ := r.attr("href")
		r.openAnchor(r.links.address(href))
	case frame:
		src, _ := r.attr("src")
		r.breakLines(1)
		r.openAnchor(r.links.address(src))
		r.closeAnchor()
		r.breakLines(1)
	case quote:
		r.text([]byte{'"'})
	case superscript:
		r.power, r.due = true, true
	case formula:
		r.startFormula()
	case symbol:
		r.keepApart()
	case shadow:
		r.startTemplate()
	case inline:
		if r.name == "base" {
			if href, ok := r.attr("href"); ok {
				r.links.rebase(href)
			}
		}
	}
}

// end is an end tag.
func (r *renderer) end() {
	switch roleOf(r.name) {
	case line:
		r.breakLines(1)
	case block:
		r.breakLines(2)
	case object, button, symbol, formula:
		r.keepApart()
	case lineBreak: // browsers read </br> as <br>
		r.lineBreak()
	case list:
		r.closeList()
	case item:
		r.closeItem()
	case table:
		if len(r.tables) > 0 {
			r.closeAnchor()
			r.endTable()
		}
	case row:
		r.closeAnchor()
		r.endRow()
	case cell:
		r.closeAnchor()
	case verbatim:
		r.closePre()
	case anchor:
		r.closeAnchor()
	case quote:
		r.text([]byte{'"'})
	case superscript:
		r.power = false
	}
}

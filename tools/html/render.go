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
		default:
			r.tag()
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

func (r *renderer) tag() {
	if r.kind == html.EndTagToken {
		r.end()
	} else {
		r.start()
	}
}

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
	case verbatim: // a field or an example that is never closed is not verbatim to the end of the document
		if (r.name == "textarea" || r.name == "xmp") && !r.closes(r.name) {
			r.breakLines(2)
		} else {
			r.openPre()
		}
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
	case shadow: // browsers show a template with the attribute
		if _, shown := r.attr("shadowrootmode"); !shown {
			r.skipElement()
		}
	case inline:
		if r.name == "base" {
			if href, ok := r.attr("href"); ok {
				r.links.rebase(href)
			}
		}
	}
}

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

// openList begins a list: set apart on the outside, on the lines of the item within another.
func (r *renderer) openList() {
	r.breakLines(2 - min(r.level, 1))
	r.level++
	r.listed = false
}

func (r *renderer) closeList() {
	r.item, r.listed, r.loose = false, true, false
	if r.level > r.outerLevel() {
		r.level--
	}
	if r.level > 0 {
		r.lines, r.due = 1, true
	} else {
		r.breakLines(2)
	}
}

// openItem begins an item. There is no blank line between it and the one before, whatever that ends in.
func (r *renderer) openItem() {
	r.closeAnchor()
	if r.level == 0 {
		r.level, r.loose = 1, true
	}
	if r.listed {
		r.lines = 0
	}
	r.breakLines(1)
	r.item, r.listed = true, true
}

func (r *renderer) closeItem() {
	if r.loose {
		r.level, r.loose = r.outerLevel(), false
	}
	r.item = false
	r.lines, r.due = 1, true
}

func (r *renderer) startTable() {
	r.closeAnchor()
	// The attributes are read first: they belong to the token.
	role, _ := r.attr("role")
	if len(r.tables) > 0 && !r.row.open { // not in a cell: browsers end the table before
		r.endTable()
	}
	state := r.openTable()
	state.plain = role == "presentation" || role == "none"
	r.tables = append(r.tables, state)
}

func (r *renderer) endTable() {
	last := len(r.tables) - 1
	state := r.tables[last]
	r.tables = r.tables[:last]
	r.closeTable(state)
}

func (r *renderer) startCell() {
	r.closeAnchor()
	r.restoreLevel()
	if !r.row.open {
		r.openRow(r.plain())
	}
	r.openCell(!r.row.celled)
}

// plain reports whether the table says it is there for layout.
func (r *renderer) plain() bool {
	return len(r.tables) > 0 && r.tables[len(r.tables)-1].plain
}

// outerLevel is how deep in lists the table is that is open.
func (r *renderer) outerLevel() int {
	if len(r.tables) == 0 {
		return 0
	}
	return r.tables[len(r.tables)-1].level
}

// restoreLevel ends the lists and verbatim elements in a cell that were not closed.
func (r *renderer) restoreLevel() {
	if last := len(r.tables) - 1; last >= 0 {
		r.level, r.verbatim = r.tables[last].level, r.tables[last].pre
	}
}

// drop passes over the content of a script, style, title or iframe, which is one token.
func (r *renderer) drop() {
	if r.name == "iframe" {
		r.keepApart()
	}
	if (r.name != "iframe" || r.closes(r.name)) && (r.kind != html.SelfClosingTagToken || !r.xml) {
		r.skip, r.depth = r.name, 1
	}
}

// skipElement passes over an element, if it has an end at all.
func (r *renderer) skipElement() {
	if r.kind == html.SelfClosingTagToken && r.name == "svg" || !r.closes(r.name) {
		return
	}
	r.skip, r.depth, r.foreign = r.name, 1, 0
}

// skipping reads a token of an element that is passed over.
func (r *renderer) skipping() {
	switch {
	case r.kind == html.TextToken:
	case roleOf(r.skip) == dropped && !(r.name == r.skip && r.kind == html.EndTagToken): // it was never closed
		r.skip = ""
		r.tag()
	case r.name == r.skip && r.kind == html.EndTagToken:
		if r.depth--; r.depth == 0 {
			r.skip = ""
		}
	case r.name == r.skip && r.kind == html.StartTagToken:
		r.depth++
	case r.name == "foreignobject" && r.kind == html.StartTagToken:
		r.foreign++
	case r.name == "foreignobject" && r.kind == html.EndTagToken:
		r.foreign--
	case r.skip == "svg" && r.foreign == 0 && roleOf(r.name).breaksOut():
		r.skip = ""
		r.tag()
	}
}

// startFormula writes a formula as its author spelled it out, if so.
func (r *renderer) startFormula() {
	r.keepApart()
	if alt, ok := r.attr("alttext"); ok && alt != "" && r.closes("math") {
		r.text([]byte(alt))
		r.keepApart()
		r.skipElement()
	}
}

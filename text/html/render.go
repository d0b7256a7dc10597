package html

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// renderer turns tokens into text.
type renderer struct {
	*scanner
	writer
	links  links
	anchor string // the address of the link that is open, or ""

	line   bool         // all is to be one line, without bullets and images
	listed bool         // the current list has an item
	loose  bool         // the current item is in no list
	tables []tableState // what is around all, and the tables that are open

	skipMarked bool
	unshown    unshown
	skip       skip

	mathScripts          bool // there are scripts with formulas
	bracket, bracketsOwn bool // of ruby: one of ours is open, the author has some
}

func newRenderer(src string, o Options) *renderer {
	r := &renderer{scanner: newScanner(src), tables: make([]tableState, 1)}
	r.classes, r.gap = &textClasses, 1
	r.mathScripts = strings.Contains(src, `"math/tex`)
	r.out = make([]byte, 0, len(src)/2+16)
	r.links = newLinks(src, o)
	r.skipMarked = o.SkipMarked
	return r
}

// run reads the document.
func (r *renderer) run() {
	for r.next() {
		switch {
		case r.unshown.name != "" && !r.unshown.pass(r.scanner):
		case r.skip.name != "" && r.kind == html.TextToken:
			if r.skip.tex {
				r.keepApart()
				r.text(r.content())
				r.keepApart()
			}
		case r.skip.name != "" && !r.skip.pass(r.scanner):
		case r.kind == html.TextToken:
			r.text(r.content())
		case r.kind == html.EndTagToken:
			r.end()
		default:
			r.start()
		}
	}
	r.closeAnchor()
	for len(r.tables) > 1 {
		r.closeTable()
	}
	r.closePre()
	r.endRow()
	r.suspendMarks(0)
	r.pipes()
	r.footnotes()
}

// footnotes writes the list of addresses.
func (r *renderer) footnotes() {
	if len(r.links.list) == 0 {
		return
	}
	r.levels, r.item, r.verbatim = nil, false, 0
	r.breakLines(2)
	if r.markdown {
		for i, address := range r.links.list {
			r.raw("[" + strconv.Itoa(i+1) + "]: " + address)
			r.out = append(r.out, '\n')
		}
		return
	}
	r.text([]byte("Links:"))
	for i, address := range r.links.list {
		r.breakLines(1)
		r.text([]byte("[" + strconv.Itoa(i+1) + "] " + address))
	}
}

func (r *renderer) start() {
	role := r.is.role
	if r.saidTwice() {
		r.keepApart()
		r.skipElement()
		return
	}
	if r.skipMarked && role != skipped && role != dropped && r.marked() {
		if r.is.breaksOut() { // it ends the paragraph before it
			r.breakLines(r.gap)
		}
		r.unshown.begin(r.scanner)
		return
	}
	switch role {
	case line:
		r.breakLines(r.gap)
	case block:
		r.breakLines(2)
		r.heading = ""
	case heading:
		r.openHeading()
	case quotation:
		r.openQuotation()
	case rule:
		r.rule()
	case emphasis:
		r.openEmphasis()
	case object, button, symbol:
		r.keepApart()
	case image:
		r.image()
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
		r.openTable()
	case row:
		r.openRow()
	case cell:
		r.openCell()
	case verbatim: // a field or an example that is never closed is not verbatim to the end of the document
		if (r.name == "textarea" || r.name == "xmp") && !r.closes(r.name) {
			r.breakLines(2)
		} else {
			r.openPre()
			if r.markdown {
				r.language = language(r.attr("class"))
			}
		}
	case anchor:
		r.openAnchor(r.links.address(r.attr("href")))
	case frame:
		r.breakLines(r.gap)
		if r.links.style != None {
			r.text([]byte(r.links.address(r.attr("src"))))
		}
		r.breakLines(r.gap)
	case quote:
		r.text([]byte{'"'})
	case superscript:
		r.power, r.due = true, true
	case formulas:
		r.startFormula()
	case annotated:
		r.reading()
	case shadow: // browsers show a template with the attribute
		if r.attr("shadowrootmode") == "" {
			r.skipElement()
		}
	case inline:
		if r.name == "base" {
			r.links.rebase(r.attr("href"))
		}
	}
}

func (r *renderer) end() {
	switch r.is.role {
	case line:
		r.breakLines(r.gap)
	case block, rule, heading:
		r.breakLines(2)
		r.heading = ""
	case quotation:
		r.breakLines(2)
		if i := len(r.levels) - 1; i >= r.table().level && r.levels[i].quote {
			r.levels = r.levels[:i]
		}
	case emphasis:
		r.closeMark(markOf(r.name))
	case object, image, button, symbol, formulas:
		r.keepApart()
	case lineBreak: // browsers read </br> as <br>
		r.lineBreak()
	case list:
		r.closeList()
	case item:
		r.closeItem()
	case table:
		r.closeTable()
	case row:
		r.endCell()
		r.endRow()
	case cell:
		r.endCell()
	case verbatim:
		r.closePre()
	case anchor:
		r.closeAnchor()
	case quote:
		r.text([]byte{'"'})
	case superscript:
		r.power = false
	case annotated:
		r.reading()
	}
}

// openList begins a list: set apart on the outside, on the lines of the item within another.
func (r *renderer) openList() {
	r.breakLines(2 - min(len(r.levels), 1))
	l := level{indent: "  "}
	if !r.line && r.name == "ol" {
		l.number = 1
		if start, err := strconv.Atoi(r.attr("start")); err == nil && start >= 0 && start < 1_000_000 {
			l.number = start
		}
	}
	r.levels = append(r.levels, l)
	r.listed = false
}

func (r *renderer) closeList() {
	r.resetMarks()
	r.item, r.listed, r.loose = false, true, false
	if r.inList() {
		r.levels = r.levels[:len(r.levels)-1]
	}
	if r.inList() {
		r.lines, r.due = r.gap, true
	} else {
		r.breakLines(2)
	}
}

// inList reports whether a list is open in the table or quote that is open.
func (r *renderer) inList() bool {
	n := len(r.levels)
	return n > r.table().level && !r.levels[n-1].quote
}

// openItem begins an item. There is no blank line between it and the one before, whatever that ends in.
func (r *renderer) openItem() {
	r.endCell()
	if !r.inList() {
		r.levels, r.loose = append(r.levels, level{indent: "  "}), true
	}
	if !r.line {
		r.bullet = "- "
	}
	if l := &r.levels[len(r.levels)-1]; l.number > 0 {
		r.bullet = strconv.Itoa(l.number) + ". "
		l.indent = strings.Repeat(" ", len(r.bullet))
		l.number++
	}
	if r.listed {
		r.lines = 0
	}
	r.breakLines(1)
	r.item, r.listed = true, true
}

func (r *renderer) closeItem() {
	if r.loose && r.inList() {
		r.levels, r.loose = r.levels[:len(r.levels)-1], false
	}
	r.item = false
	r.lines, r.due = r.gap, true
}

// drop passes over the content of a script, style, title or iframe, which is one token.
func (r *renderer) drop() {
	if r.name == "iframe" {
		r.keepApart()
	}
	if (r.name != "iframe" || r.closes(r.name)) && !r.empty() {
		r.skip = skip{name: r.name, depth: 1, tex: r.name == "script" && strings.HasPrefix(r.attr("type"), "math/tex")}
	}
}

// skipElement passes over an element, if it has an end at all.
func (r *renderer) skipElement() {
	if r.closes(r.name) && !(r.kind == html.SelfClosingTagToken && r.name == "svg") {
		r.skip = skip{name: r.name, depth: 1}
	}
}

// skip is the element that is passed over.
type skip struct {
	name    string // or "" if there is none
	depth   int    // of elements of that name
	tex     bool   // it is a script with a formula, which is shown
	foreign int    // foreignObject elements open in it
}

// pass reads a tag in the element. It reports whether the tag ends that without being its end tag.
func (k *skip) pass(s *scanner) (ended bool) {
	switch {
	case roleOf(k.name) == dropped && !(s.name == k.name && s.kind == html.EndTagToken): // it was never closed
		ended = true
	case s.name == k.name:
		k.depth += s.nesting()
	case s.name == "foreignobject":
		k.foreign += s.nesting()
	case k.name == "svg" && k.foreign == 0 && s.is.breaksOut():
		ended = true
	}
	if ended || k.depth == 0 {
		k.name = ""
	}
	return ended
}

// unshown is the element that [Options.SkipMarked] leaves out at the moment.
type unshown struct {
	name  string // or "" if there is none
	depth int    // of elements of that name
	open  int    // blocks in it that only their end tags end
	code  bool   // what follows is a script or the like
	chars int    // left out of the document so far
}

// marked reports whether the start tag says that its element is not shown. The document itself is, whatever its tags say: scripts
// show it.
func (s *scanner) marked() bool {
	switch s.name {
	case "html", "body":
		return false
	case "dialog":
		return !s.has("open") || s.marksHidden()
	}
	return s.marksHidden()
}

// has reports whether the tag has an attribute.
func (s *scanner) has(name string) bool {
	return slices.ContainsFunc(s.attributes(), func(a attribute) bool { return string(a.name) == name })
}

func (s *scanner) marksHidden() bool {
	if s.has("hidden") || strings.EqualFold(strings.TrimSpace(s.attr("aria-hidden")), "true") {
		return true
	}
	source := s.attr("style")
	if source == "" {
		return false
	}
	style := map[string]string{}
	for _, d := range readStyle(source) {
		style[d.property] = d.value
	}
	return style["display"] == "none" || style["visibility"] == "hidden" || style["visibility"] == "collapse"
}

// begin begins to pass over the element of a start tag. An empty tag leaves nothing out, in HTML it would be never closed.
func (u *unshown) begin(s *scanner) {
	if !s.is.void && s.kind != html.SelfClosingTagToken {
		*u = unshown{name: s.name, depth: 1, chars: u.chars}
	}
}

// pass reads a token of the element. It reports whether that is a tag that ends the element without being its end tag.
func (u *unshown) pass(s *scanner) (ended bool) {
	code, end := u.code, s.kind == html.EndTagToken
	u.code = s.kind == html.StartTagToken && s.is.role == dropped
	switch {
	case s.kind == html.TextToken && !code:
		u.chars += utf8.RuneCount(bytes.TrimSpace(s.content()))
	case s.kind == html.TextToken:
	case s.name == u.name && end:
		u.depth--
	case u.open == 0 && endsWithout(u.name, s.name, end):
		ended = true
	case s.name == u.name:
		u.depth += s.nesting()
	case closedByItself(s.name):
		u.open += s.nesting()
	}
	if ended || u.depth == 0 {
		u.name = ""
	}
	return ended
}

// closedByItself reports whether an element is a block that only its own end tag ends, or that of one around it.
func closedByItself(name string) bool {
	switch roleOf(name) {
	case line, block, heading, quotation, list, table, verbatim:
		return implied(name) == 0 && name != "p" && !void(name)
	}
	return false
}

// endsWithout reports whether a tag ends an element without its end tag: that of what is around it, or that of the next.
func endsWithout(open, name string, end bool) bool {
	if end {
		return closedByItself(name) || implied(name) > implied(open)
	}
	switch {
	case open == "p":
		return name == "p" || implied(name) > 0 || roleOf(name).breaksOut() && name != "br"
	case implied(open) == 1 && implied(name) == 1 && open != name:
		pair := open + name
		return pair == "dtdd" || pair == "dddt" || pair == "tdth" || pair == "thtd"
	}
	return implied(open) > 0 && implied(name) >= implied(open)
}

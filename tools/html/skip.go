package html

import "golang.org/x/net/html"

// drop passes over the content of a script, style, title or iframe, which is one token.
func (r *renderer) drop() {
	if r.name == "iframe" {
		r.keepApart()
		if !r.closes("iframe") {
			return
		}
	}
	if r.kind == html.SelfClosingTagToken && r.xml {
		return
	}
	r.skip, r.depth = r.name, 1
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
		r.again()
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
		r.again()
	}
}

// again handles a tag that ended an element that was passed over.
func (r *renderer) again() {
	if r.kind == html.EndTagToken {
		r.end()
	} else {
		r.start()
	}
}

// startVerbatim begins verbatim text. A field or an example that is never closed is not verbatim to the end of the document.
func (r *renderer) startVerbatim() {
	if (r.name == "textarea" || r.name == "xmp") && !r.closes(r.name) {
		r.breakLines(2)
		return
	}
	r.openPre()
}

// startTemplate passes over a template, unless it is one that browsers show.
func (r *renderer) startTemplate() {
	if _, ok := r.attr("shadowrootmode"); !ok {
		r.skipElement()
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

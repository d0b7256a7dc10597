package html

import (
	"cmp"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"toolserver/lazyregexp"
)

// look is the ways in which an element is not seen. All but the first are inherited only until an element within sets the
// property anew: newsletters have font-size:0 around columns whose text has a size.
type look uint8

const (
	gone    look = 1 << iota // with all that is in it
	tiny                     // font-size of 0 or 1px
	veiled                   // visibility:hidden
	inkless                  // text in the colour of its background
)

// offScreen is from where on, in pixels, an element is moved out of sight.
const offScreen = -500

// Source returns the HTML of a document without what runs or is not seen: scripts, handlers of events, comments and what
// [Options.SkipHidden] leaves out.
func Source(src string) string {
	var out strings.Builder
	// The error is that of a void element with content, which neither parser makes.
	_ = html.Render(&out, visible(src))
	return out.String()
}

// visible returns the tree of a document without what is not seen. Of documents that the parser cannot cope with, hidden elements
// end at the next end tag of their own that is not that of an element within.
func visible(src string) *html.Node {
	if !costly(src) {
		doc, err := html.ParseWithOptions(strings.NewReader(src), html.ParseOptionEnableScripting(false))
		if err == nil {
			prune(doc, 0)
			return doc
		}
	}
	doc := plainTree(src, true)
	prune(doc, 0)
	return doc
}

// prune removes what is not seen from an element that itself looks as given.
func prune(n *html.Node, around look) {
	for c, next := n.FirstChild, (*html.Node)(nil); c != nil; c = next {
		next = c.NextSibling
		l := around
		if c.Type == html.ElementNode {
			set, reset := looks(c)
			l = around&^reset | set
		}
		switch {
		case c.Type == html.CommentNode || l&gone != 0 || c.Type == html.TextNode && l != 0:
			n.RemoveChild(c)
		case c.Type == html.ElementNode:
			c.Attr = withoutHandlers(c.Attr)
			if c.DataAtom == atom.Noscript { // the text in one is written as it is, not escaped
				c.Data, c.DataAtom = "div", atom.Div
			}
			prune(c, l)
		}
	}
}

// withoutHandlers removes the attributes that run scripts.
func withoutHandlers(attrs []html.Attribute) []html.Attribute {
	kept := attrs[:0]
	for _, a := range attrs {
		if s := scheme(cleanAddress(a.Val)); !strings.HasPrefix(a.Key, "on") && s != "javascript" && s != "vbscript" {
			kept = append(kept, a)
		}
	}
	return kept
}

// looks returns the ways in which an element is not seen, and those in which it is although what is around it may not be.
// A declaration that hides counts even if another one takes it back.
func looks(n *html.Node) (set, reset look) {
	switch n.Data {
	case "script", "template", "iframe", "noembed", "noframes":
		return gone, 0
	}
	var s styles
	cell := n.DataAtom == atom.Td || n.DataAtom == atom.Th
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			s.set |= gone
		case "type":
			if n.DataAtom == atom.Input && strings.EqualFold(strings.TrimSpace(a.Val), "hidden") {
				s.set |= gone
			}
		case "width", "height", "bgcolor", "color":
			if n.DataAtom == atom.Img || strings.HasSuffix(a.Key, "color") {
				s.declare(a.Key, strings.ToLower(a.Val), cell)
			}
		case "style":
			s.read(a.Val, cell)
		}
	}
	if s.flat && s.clips || s.flat && s.thin && n.DataAtom == atom.Img {
		s.set |= gone
	}
	if s.color != "" && (s.color == s.background || s.color == "transparent") {
		s.set |= inkless
	}
	return s.set, s.reset &^ s.set
}

// unseenByItself reports whether an element is not seen, whatever is around it.
func unseenByItself(n *html.Node) bool {
	set, _ := looks(n)
	return set != 0
}

// styles is what the declarations of an element say.
type styles struct {
	set, reset        look
	none              bool // display:none
	flat, thin, clips bool // no height, no width, and overflow is cut off
	color, background string
}

var (
	cssComment = lazyregexp.New(`(?s)/\*.*?\*/`)
	cssEscape  = lazyregexp.New(`\\([0-9a-fA-F]{1,6}\s?|.)`)
)

// read takes the declarations of a style attribute into account. It divides them at every semicolon, also at those in strings,
// and reads what may be a comment both ways, so that nothing that hides is missed.
func (s *styles) read(style string, cell bool) {
	for again := false; ; again = true {
		for declaration := range strings.SplitSeq(strings.ToLower(style), ";") {
			property, value, _ := strings.Cut(declaration, ":")
			value, _, _ = strings.Cut(value, "!")
			s.declare(strings.TrimSpace(property), strings.TrimSpace(value), cell)
		}
		if again || !strings.Contains(style, "/*") && !strings.Contains(style, `\`) {
			return
		}
		style = cssEscape().ReplaceAllStringFunc(cssComment().ReplaceAllString(style, ""), func(e string) string {
			if r, err := strconv.ParseUint(strings.TrimSpace(e[1:]), 16, 21); err == nil {
				return string(rune(r))
			}
			return e[1:]
		})
	}
}

func (s *styles) declare(property, value string, cell bool) {
	switch property {
	case "display":
		s.none = s.none || value == "none"
		s.mark(gone, s.none, false)
	case "visibility":
		s.mark(veiled, value == "hidden" || value == "collapse", value == "visible")
	case "opacity":
		n, _, ok := length(value)
		s.mark(gone, ok && n <= 0.05, false)
	case "font-size":
		s.size(value)
	case "font":
		for word := range strings.FieldsSeq(value) {
			word, _, _ = strings.Cut(word, "/")
			if n, unit, ok := length(word); ok && (unit != "" || n == 0) { // a number alone is a weight
				s.size(word)
				break
			}
		}
	case "height", "max-height", "width", "max-width":
		n, unit, ok := length(value)
		small := ok && (n == 0 || n <= 1 && (unit == "px" || unit == "pt" || unit == ""))
		if strings.HasSuffix(property, "height") {
			s.flat = s.flat || small
		} else { // a cell is as wide as its column
			s.thin = s.thin || small
			s.flat = s.flat || small && !cell && property == "width" && n == 0
		}
	case "overflow":
		s.clips = s.clips || value == "hidden" || value == "clip"
	case "text-indent", "left", "top", "right", "bottom", "margin", "margin-left", "margin-top":
		for word := range strings.FieldsSeq(value) {
			n, _, ok := length(word)
			s.mark(gone, ok && n <= offScreen, false)
		}
	case "clip":
		s.mark(gone, strings.HasPrefix(value, "rect(0") || strings.HasPrefix(value, "rect(1px"), false)
	case "clip-path":
		s.mark(gone, strings.HasPrefix(value, "inset(50%") || strings.HasPrefix(value, "inset(100%") || strings.HasPrefix(value, "circle(0"), false)
	case "transform":
		s.mark(gone, strings.HasPrefix(value, "scale(0)"), false)
	case "color":
		s.color = color(value)
		s.mark(inkless, false, s.color != "")
	case "background", "background-color", "bgcolor":
		s.background = cmp.Or(color(value), s.background)
	}
}

// mark notes that a declaration hides, or that it shows.
func (s *styles) mark(l look, hides, shows bool) {
	if hides {
		s.set |= l
	} else if shows {
		s.reset |= l
	}
}

// size is a declaration of the size of text. A size relative to none is none.
func (s *styles) size(value string) {
	n, unit, ok := length(value)
	relative := unit == "em" || unit == "ex" || unit == "ch" || unit == "%"
	limit := 1.5
	if relative || unit == "rem" {
		limit = 0.1
	}
	if unit == "%" {
		limit = 10
	}
	named := strings.HasSuffix(value, "small") || strings.HasSuffix(value, "large") || value == "medium"
	s.mark(tiny, ok && n <= limit, ok && !relative || named)
}

// length reads a number and its unit.
func length(value string) (n float64, unit string, ok bool) {
	end := strings.LastIndexAny(value, "0123456789.") + 1
	n, err := strconv.ParseFloat(value[:end], 64)
	return n, value[end:], err == nil
}

// color returns a colour in the one of its spellings that others can be compared with, or "" if the value is none of its own.
func color(value string) string {
	if inside, ok := strings.CutPrefix(value, "rgb("); ok {
		inside, _, _ = strings.Cut(inside, ")")
		hex := "#"
		for part := range strings.FieldsFuncSeq(inside, func(r rune) bool { return r == ',' || r == ' ' || r == '/' }) {
			n, _ := strconv.Atoi(part)
			hex += strconv.FormatInt(int64(0x100+min(max(n, 0), 255)), 16)[1:]
		}
		return hex
	}
	value, _, _ = strings.Cut(value, " ")
	switch {
	case value == "inherit" || value == "initial" || value == "unset" || value == "none" || value == "currentcolor":
		return ""
	case value == "white":
		return "#ffffff"
	case value == "black":
		return "#000000"
	case len(value) == 4 && value[0] == '#':
		return string([]byte{'#', value[1], value[1], value[2], value[2], value[3], value[3]})
	}
	return value
}

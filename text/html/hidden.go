package html

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

const (
	// textSize is the usual size of text in pixels, and tiny that of text that is not seen.
	textSize, tiny = 16, 1.6
	// offScreen is from where on, in pixels, an element is moved out of sight.
	offScreen = -500
)

// sight is how an element is seen, as far as what is in it depends on it.
type sight struct {
	ink, back     paint
	unknown       bool // what is behind it: an image, or another element
	glows         bool // text is more than its ink
	size, opacity float64
	veiled        bool // visibility:hidden
	clipped       bool // by an element without size
	indented      bool // lines begin out of sight
	boxes         bool // what is in it are boxes, as in a grid
}

// unseen reports whether text is not seen.
func (s *sight) unseen() bool {
	return s.size <= tiny || s.veiled || s.clipped || s.indented || !s.glows && (s.ink.alpha <= 0.05 || !s.unknown && s.ink.on(s.back).like(s.back))
}

// viewer removes what is not seen from a document.
type viewer struct {
	sheets *sheets
	page   bool // of the web: what runs in it stays
	moving bool // scripts may show what is transparent
	hidden int  // characters removed

	standard bool // it has a doctype
	body     sight
}

// Source returns the HTML of a document without what runs or is not seen: scripts, handlers of events, comments, elements with the
// attribute hidden, and those that a style attribute or a style sheet in the document hides, makes transparent, gives no size, moves
// off the screen or writes in the colour of what is behind them; input type=hidden, iframe, noembed, noframes and images of one
// pixel; and all that follows a comment that is never closed. It takes a few times as long as [Text], as the document is parsed.
func Source(src string) string {
	doc, err := parseStrictly(src)
	if err != nil {
		doc = plainTree(src, true)
	}
	new(viewer).prune(doc)
	var out strings.Builder
	// The error is that of a void element with content, which neither parser makes.
	_ = html.Render(&out, doc)
	return out.String()
}

// Shown returns a web page without the text that styles in it hide, if it has a style sheet, and how many characters that is.
// Scripts may show elements that are transparent or invisible, and style sheets from elsewhere may colour what is behind text, so that
// such text stays in pages that have them.
func Shown(src string) (shown string, hidden int) {
	if endTag(src, 0, "style") < 0 {
		return src, 0
	}
	v := viewer{page: true, moving: endTag(src, 0, "script") >= 0}
	doc, err := parseStrictly(src)
	if err == nil {
		v.prune(doc)
	}
	var out strings.Builder
	if v.hidden == 0 || html.Render(&out, doc) != nil {
		return src, 0
	}
	return out.String(), v.hidden
}

// prune removes what is not seen.
func (v *viewer) prune(doc *html.Node) {
	for c := range doc.ChildNodes() {
		v.standard = v.standard || c.Type == html.DoctypeNode
	}
	if v.sheets = readSheets(doc); !v.page || len(v.sheets.rules) > 0 {
		v.children(doc, sight{ink: black, back: white, unknown: v.page && v.sheets.linked, size: textSize, opacity: 1})
	}
}

// children removes what is not seen from an element that itself looks as given.
func (v *viewer) children(n *html.Node, around sight) {
	unseen := around.unseen() && roleOf(n.Data) != dropped
	for c, next := n.FirstChild, (*html.Node)(nil); c != nil; c = next {
		next = c.NextSibling
		s, gone := around, c.Type == html.CommentNode && !v.page || c.Type == html.TextNode && unseen
		if c.Type == html.ElementNode {
			if s, gone = v.look(c, around); c.DataAtom == atom.Img {
				gone = gone || s.veiled || s.clipped
			}
			if c.DataAtom == atom.Body {
				v.body = s
			}
			if !v.page {
				c.Attr = slices.DeleteFunc(c.Attr, runs)
			}
			if c.DataAtom == atom.Noscript { // the text in one is written as it is, not escaped
				c.Data, c.DataAtom = "div", atom.Div
			}
		}
		if !gone {
			v.children(c, s)
			continue
		}
		n.RemoveChild(c)
		v.count(c)
	}
}

// count counts what is removed.
func (v *viewer) count(n *html.Node) {
	if n.Type == html.TextNode {
		v.hidden += utf8.RuneCountInString(strings.TrimSpace(n.Data))
	}
	for c := n.FirstChild; c != nil && roleOf(n.Data) != dropped; c = c.NextSibling {
		v.count(c)
	}
}

// runs reports whether an attribute runs scripts.
func runs(a html.Attribute) bool {
	s := scheme(cleanAddress(a.Val))
	return strings.HasPrefix(a.Key, "on") || s == "javascript" || s == "vbscript"
}

// unseenByItself reports whether an element is not seen, whatever is around it.
func unseenByItself(n *html.Node) bool {
	v := viewer{sheets: new(sheets)}
	s, gone := v.look(n, sight{ink: black, unknown: true, size: textSize, opacity: 1})
	return gone || s.unseen()
}

// style returns what is declared for an element: by browsers, its attributes, style sheets and its style.
func (v *viewer) style(n *html.Node) map[string]string {
	declared := v.sheets.declarations(n)
	if n.DataAtom == atom.Mark {
		declared = append(declared, declaration{property: "background-color", value: "yellow"}, declaration{property: "color", value: "black"})
	}
	for _, a := range n.Attr {
		property, value := a.Key, strings.ToLower(a.Val)
		switch {
		case a.Key == "style":
			for _, d := range readStyle(a.Val) {
				declared = append(declared, declaration{d.property, d.value, d.weight | inTag})
			}
			continue
		case a.Key == "href" && n.DataAtom == atom.A:
			property, value = "color", "#0000ee"
		case a.Key == "hidden", a.Key == "type" && n.DataAtom == atom.Input && strings.TrimSpace(value) == "hidden":
			property, value = "display", "none"
		case a.Key == "bgcolor":
			property, value = "background-color", attributeColor(value)
		case a.Key == "background":
			property, value = "background-image", "url()"
		case a.Key == "color", a.Key == "text" && n.DataAtom == atom.Body:
			property, value = "color", attributeColor(value)
		case n.DataAtom != atom.Img || a.Key != "width" && a.Key != "height":
			continue
		}
		if valid(property, value) {
			declared = append(declared, declaration{property: property, value: value})
		}
	}
	if len(declared) == 0 {
		return nil
	}
	slices.SortStableFunc(declared, func(a, b declaration) int { return cmp.Compare(a.weight, b.weight) })
	style := make(map[string]string, len(declared))
	for _, d := range declared {
		style[d.property] = d.value
	}
	return style
}

var (
	displays   = lazyregexp.New(`^(?:none|block|contents|flow-root|list-item|ruby|(?:inline|table|flex|grid|-webkit)[a-z-]*)$`)
	everywhere = lazyregexp.New(`^(?:inherit|initial|unset|revert|revert-layer)$|var\(`)
)

// valid reports whether browsers do not pass over a declaration.
func valid(property, value string) bool {
	switch property {
	case "display":
		return displays().MatchString(value) || everywhere().MatchString(value)
	case "visibility":
		return value == "visible" || value == "hidden" || value == "collapse" || everywhere().MatchString(value)
	case "font-size":
		return isFontSize(value) || everywhere().MatchString(value)
	case "color", "background-color", "-webkit-text-fill-color":
		_, ok := parseColor(value, black)
		return ok || strings.Contains(value, "(")
	}
	return true
}

var (
	noShape = lazyregexp.New(`^(?:inset\((?:50|[6-9]\d|100)%|(?:circle|ellipse)\(0|polygon\((?:0[a-z%]* 0[a-z%]*[, ]*)+\))`)
	noArea  = lazyregexp.New(`^rect\((?:[01](?:px)?[, ]*){4}\)$`)
	noScale = lazyregexp.New(`scale(?:x|y|3d)?\(\s*0?\.?0*\s*[,)]|rotate[xy]\(90deg|matrix\(0,|translate(?:x|y|3d)?\((?:[^,)]*, *)?-(?:\d{4,}|[5-9]\d\d)`)
	noAlpha = lazyregexp.New(`opacity\(\s*0?\.?0*%?\s*\)`)
)

// look returns how an element is seen, and whether neither it nor anything in it is.
func (v *viewer) look(n *html.Node, around sight) (s sight, gone bool) {
	s = around
	s.boxes = false
	d := v.style(n)
	root := v.page && (n.DataAtom == atom.Html || n.DataAtom == atom.Body) // scripts show it
	switch n.Data {
	case "script", "template", "iframe", "noembed", "noframes":
		gone = !v.page
	case "table":
		if !v.standard && v.body.size > 0 { // tables do not inherit these
			s.ink, s.size = v.body.ink, v.body.size
		}
	}
	if gone || d == nil {
		return s, gone
	}
	position := d["position"]
	lifted := position == "absolute" || position == "fixed"
	s.clipped = s.clipped && !lifted
	v.paint(&s, d, lifted)
	s.size = fontSize(d["font-size"], s.size)
	switch {
	case d["visibility"] == "visible" || d["visibility"] == "initial":
		s.veiled = false
	case d["visibility"] == "hidden" || d["visibility"] == "collapse":
		s.veiled = !root && !v.moving
	}
	if opacity, ok := length(d["opacity"], 1, 1); ok && !root && !v.moving {
		s.opacity *= min(max(opacity, 0), 1)
	}
	s.boxes = strings.Contains(d["display"], "flex") || strings.Contains(d["display"], "grid")
	inText := d["display"] == "inline" || d["display"] == "" && inlineByItself(n) && !lifted && !around.boxes && cmp.Or(d["float"], "none") == "none"
	if !inText {
		s.box(n, d)
	}
	gone = s.opacity <= 0.05 || d["display"] == "none" || d["content-visibility"] == "hidden" || noAlpha().MatchString(d["filter"]) ||
		noShape().MatchString(cmp.Or(d["clip-path"], d["-webkit-clip-path"])) || lifted && noArea().MatchString(d["clip"]) ||
		!inText && noScale().MatchString(cmp.Or(d["transform"], d["-webkit-transform"])) || away(d, position)
	return s, gone && !root
}

// inlineByItself reports whether an element is part of a line, and has no box, unless it is declared to.
func inlineByItself(n *html.Node) bool {
	switch roleOf(n.Data) {
	case inline, anchor, emphasis, superscript, quote, formulas, symbol, annotated:
		return n.DataAtom == atom.Tt || !strings.HasPrefix(n.Data, "t") // parts of tables
	}
	return n.DataAtom == atom.Cite
}

// paint finds out the colours of text and of what is behind it. Margins and positions may put it on another element.
func (v *viewer) paint(s *sight, d map[string]string, lifted bool) {
	set := func(property string) bool { value := d[property]; return value != "" && value != "none" }
	ink, known := parseColor(cmp.Or(d["-webkit-text-fill-color"], d["color"], "inherit"), s.ink)
	s.ink, s.glows = ink, s.glows && d["text-shadow"] != "none" || !known || set("text-shadow") || set("-webkit-text-stroke") ||
		cmp.Or(d["background-clip"], d["-webkit-background-clip"]) == "text"
	s.unknown = s.unknown || lifted || strings.HasPrefix(d["margin-top"], "-")
	back, known := parseColor(cmp.Or(strings.TrimSuffix(d["background-color"], "initial"), "transparent"), paint{})
	s.back, s.unknown = back.on(s.back), s.unknown && back.alpha < 1 || !known || images().MatchString(d["background-image"])
}

// box finds out whether the box of an element has no size, or lines that begin elsewhere. The parts of a table, but not what stands
// in one, are as large as what they hold.
func (s *sight) box(n *html.Node, d map[string]string) {
	clips := cmp.Or(d["overflow"], d["overflow-x"], d["overflow-y"], "visible") != "visible"
	if indent, ok := length(d["text-indent"], s.size, 1000); ok {
		s.indented = indent <= offScreen || indent >= 1000 && clips
	}
	small := func(properties ...string) bool {
		return slices.ContainsFunc(properties, func(p string) bool { n, ok := length(d[p], textSize, 1000); return ok && n >= 0 && n < 1.5 })
	}
	room := func(properties ...string) bool {
		return slices.ContainsFunc(properties, func(p string) bool {
			return slices.ContainsFunc(strings.Fields(d[p]), func(word string) bool { n, ok := length(word, textSize, 1000); return ok && n >= 4 })
		})
	}
	if strings.Contains(d["display"], "table") || d["display"] == "" && len(n.Data) < 6 && strings.HasPrefix(n.Data, "t") {
		return
	}
	flat := small("height", "max-height") && !room("min-height", "padding", "padding-top", "padding-bottom")
	thin := small("width", "max-width") && !room("min-width", "padding", "padding-left", "padding-right")
	s.clipped = s.clipped || clips && (flat || thin) || flat && thin && n.DataAtom == atom.Img
}

// away reports whether an element is moved out of sight. To the left, a share of an unknown width is taken for a small one.
func away(d map[string]string, position string) bool {
	at := func(property string) float64 {
		whole := 1000.0
		if strings.HasPrefix(d[property], "-") {
			whole = 100
		}
		n, _ := length(d[property], textSize, whole)
		if (position == "" || position == "static") && !strings.HasPrefix(property, "margin") {
			return 0
		}
		return n
	}
	return min(at("left")+at("margin-left"), at("top")+at("margin-top"), at("right"), at("bottom")) <= offScreen ||
		max(at("left"), at("right"), at("bottom")) >= -10*offScreen
}

package html

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/lucasb-eyer/go-colorful"
	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/css"
	"golang.org/x/image/colornames"
	"golang.org/x/net/html"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

const (
	// maxTests is how many times selectors are tested against elements of a document, and declarations applied. Those after them count
	// for nothing.
	maxTests = 1_000_000
	// maxBlocks is how deep the blocks of a style sheet are nested.
	maxBlocks = 16
	// maxValue is how long the value of a property is that is looked at.
	maxValue = 1000
)

// declaration sets a property. Of several, those that weigh more win.
type declaration struct {
	property, value string
	weight          uint64
}

const (
	important = 1 << 63
	inTag     = 1 << 62 // in a style attribute
)

// styleRule is what a style sheet declares for the elements that a selector matches.
type styleRule struct {
	path
	declarations []declaration
}

// sheets are the style sheets of a document.
type sheets struct {
	rules  map[string][]*styleRule // by what their selectors end in: an "#id", a ".class", a "tag" or neither
	order  uint64
	linked bool // there are others, which are not read
	matcher
}

// readSheets reads the style sheets in a document.
func readSheets(doc *html.Node) *sheets {
	s := &sheets{rules: make(map[string][]*styleRule), matcher: matcher{most: maxTests}}
	for n := range doc.Descendants() {
		switch {
		case n.Data == "link" && strings.Contains(strings.ToLower(attr(n, "rel")), "stylesheet"):
			s.linked = true
		case n.Data == "style" && n.FirstChild != nil && mediaApplies(attr(n, "media")) && cmp.Or(strings.ToLower(attr(n, "type")), "text/css") == "text/css":
			s.block(css.NewLexer(parse.NewInputString(n.FirstChild.Data)), nil, 0)
		}
	}
	return s
}

func attr(n *html.Node, key string) string {
	i := slices.IndexFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key })
	if i < 0 {
		return ""
	}
	return n.Attr[i].Val
}

// upTo reads up to a block, a semicolon or the end of the block around, or all of the block that is within. As in browsers, nothing
// in brackets ends it (CSS Syntax, section 5).
func upTo(l *css.Lexer, top bool, within ...css.TokenType) (text []byte, end css.TokenType) {
	skip := len(within) > 0
	for {
		kind, data := l.Next()
		switch n := len(within); {
		case kind == css.ErrorToken, n == 0 && (kind == css.LeftBraceToken || kind == css.RightBraceToken && !top ||
			kind == css.SemicolonToken && (!top || bytes.HasPrefix(bytes.TrimSpace(text), []byte{'@'}))):
			return bytes.TrimSpace(text), kind
		case n > 0 && kind == within[n-1]:
			if within = within[:n-1]; skip && n == 1 {
				return nil, kind
			}
		case kind == css.FunctionToken || kind == css.LeftParenthesisToken:
			within = append(within, css.RightParenthesisToken)
		case kind == css.LeftBracketToken:
			within = append(within, css.RightBracketToken)
		case kind == css.LeftBraceToken:
			within = append(within, css.RightBraceToken)
		case kind == css.CommentToken || (kind == css.CDOToken || kind == css.CDCToken) && top:
			data = []byte{' '}
		}
		if !skip {
			text = append(text, data...)
		}
	}
}

var atKeyword = lazyregexp.New(`(?i)^@[a-z-]+`)

// block reads a style sheet or a block, and returns what it declares itself. Rules within rules are passed over.
func (s *sheets) block(l *css.Lexer, own []declaration, depth int) []declaration {
	for end := css.WhitespaceToken; end != css.ErrorToken && end != css.RightBraceToken; {
		var text []byte
		text, end = upTo(l, depth == 0)
		name := strings.ToLower(string(atKeyword().Find(text)))
		switch condition := strings.ToLower(string(text[len(name):])); {
		case end != css.LeftBraceToken:
			if s.linked = s.linked || name == "@import"; own != nil {
				own = declare(own, string(text), 0)
			}
		case depth < maxBlocks && (name == "@media" && mediaApplies(condition) || name == "@layer" ||
			name == "@supports" && !strings.Contains(condition, "not") && !strings.Contains(condition, "-moz-")):
			s.block(l, nil, depth+1)
		case name != "" || depth == maxBlocks || own != nil:
			upTo(l, false, css.RightBraceToken)
		default:
			s.add(splitSelector(string(text), ","), s.block(l, []declaration{}, depth+1))
		}
	}
	return own
}

var (
	// Selectors of what is no element, or of one that somebody touches.
	neverSo = lazyregexp.New(`(?i)::|:(?:before|after|first-l|focus|hover|active|visited|target|host|-webkit-|placeholder|autofill)`)
	// Selectors that are none of CSS, or that take long.
	notStyle = lazyregexp.New(`(?i):(?:has|contains|matches|input)|#=`)
	lastKey  = lazyregexp.New(`^\*?((?:[\w-]|[^\x00-\x7f]|\\.)+)?([#.](?:[\w-]|[^\x00-\x7f]|\\.)+)?`)
)

// add adds a rule. If one of its selectors is invalid, it is as a whole.
func (s *sheets) add(selectors []string, declared []declaration) {
	s.order++
	added := make(map[*styleRule]string)
	for _, selector := range selectors {
		if selector = strings.TrimSpace(selector); len(declared) == 0 || neverSo().MatchString(selector) {
			continue
		}
		paths, err := parseSelector(selector)
		if err != nil || notStyle().MatchString(selector) {
			return
		}
		weight := min(s.order, 1<<30-1)
		for _, step := range paths[0] {
			for i, n := range step.compound.Specificity() {
				weight += uint64(min(n, 31)) << (50 - 10*i)
			}
		}
		r := &styleRule{paths[0], slices.Clone(declared)}
		for i := range r.declarations {
			r.declarations[i].weight |= weight
		}
		steps := splitSelector(selector, " \t\r\n\f>+~")
		m := lastKey().FindStringSubmatch(steps[len(steps)-1])
		added[r] = cmp.Or(unescape(m[2]), strings.ToLower(unescape(m[1])))
	}
	for r, key := range added {
		s.rules[key] = append(s.rules[key], r)
	}
}

// declarations returns what the style sheets declare for an element.
func (s *sheets) declarations(n *html.Node) (found []declaration) {
	if len(s.rules) == 0 {
		return nil
	}
	keys := []string{"", n.Data, "#" + attr(n, "id")}
	for class := range strings.FieldsSeq(attr(n, "class")) {
		keys = append(keys, "."+class)
	}
	for _, key := range keys {
		for _, r := range s.rules[key] {
			if s.matches(r.path, n) {
				s.tests += len(r.declarations)
				found = append(found, r.declarations...)
			}
		}
	}
	return found
}

var (
	mediaParts = lazyregexp.New(`\([^()]*\)|[a-z]+`)
	mediaSize  = lazyregexp.New(`^\(\s*(?:(min|max)-)?(?:device-)?width\s*(:|[<>]=?)\s*([\d.]+)(px|r?em)\s*\)$`)
	mediaMet   = lazyregexp.New(`^\(\s*(?:prefers-color-scheme\s*:\s*light|prefers-reduced-motion\s*:\s*no-preference|hover(?:\s*:\s*hover)?|` +
		`orientation\s*:\s*landscape|color|-webkit-min-device-pixel-ratio\s*:\s*[01])\s*\)$`)
)

// mediaWidth is how wide the window is that a document is seen in.
const mediaWidth = 1280

// mediaApplies reports whether one of several media queries is met by a screen with light colours. What it does not know is not.
func mediaApplies(queries string) bool {
	return slices.ContainsFunc(strings.Split(strings.ToLower(queries), ","), func(query string) bool {
		met, negated := true, false
		for _, part := range mediaParts().FindAllString(query, -1) {
			if part == "not" {
				negated = true
			} else if m := mediaSize().FindStringSubmatch(part); m != nil {
				n, _ := strconv.ParseFloat(m[3], 64)
				if m[4] != "px" {
					n *= textSize
				}
				met = met && ((m[1] == "min" || m[2][0] == '>') && n <= mediaWidth || (m[1] == "max" || m[2][0] == '<') && n >= mediaWidth)
			} else if part != "all" && part != "screen" && part != "only" && part != "and" {
				met = met && mediaMet().MatchString(part)
			}
		}
		return met != negated
	})
}

var (
	cssEscape = lazyregexp.New(`\\([0-9a-fA-F]{1,6}\s?|.)`)
	cssString = lazyregexp.New(`url\([^)]*\)|"[^"]*"|'[^']*'`)
)

// unescape decodes the escapes of CSS.
func unescape(text string) string {
	return cssEscape().ReplaceAllStringFunc(text, func(e string) string {
		if r, err := strconv.ParseUint(strings.TrimSpace(e[1:]), 16, 21); err == nil {
			return string(rune(r))
		}
		return e[1:]
	})
}

// readStyle reads a style attribute.
func readStyle(style string) []declaration {
	declared, l := []declaration{}, css.NewLexer(parse.NewInputString(style))
	for l.Err() == nil {
		declared = new(sheets).block(l, declared, 1)
	}
	return declared
}

// declare appends a declaration: a shorthand for some properties as those.
func declare(to []declaration, text string, weight uint64) []declaration {
	property, value, _ := strings.Cut(strings.ToLower(text), ":")
	if strings.Contains(text, `\`) {
		property, value = unescape(property), unescape(value)
	}
	value, urgent, _ := strings.Cut(value, "!")
	value = strings.TrimSpace(cssString().ReplaceAllString(value, "url()"))
	if len(value) > maxValue {
		value = "var()" // something
	}
	if strings.TrimSpace(urgent) == "important" {
		weight |= important
	}
	set := func(property, value string) {
		if !strings.Contains(properties, " "+property+" ") || !valid(property, value) {
			return
		}
		for i := range to { // what is repeated does not make rules long
			if to[i].property == property && to[i].weight == weight {
				to[i].value = value
				return
			}
		}
		to = append(to, declaration{property, value, weight})
	}
	words := strings.Fields(value)
	switch property = strings.TrimSpace(property); {
	case property == "background":
		set("background-image", value)
		set("background-color", backgroundColor(value))
	case property == "margin" && len(words) > 0:
		set("margin-top", words[0])
		set("margin-left", words[[4]int{0, 1, 1, 3}[min(len(words), 4)-1]])
	case property == "font":
		for _, word := range words {
			word, _, _ = strings.Cut(word, "/")
			if _, err := strconv.Atoi(word); err != nil && isFontSize(word) || word == "0" { // another number is a weight
				set("font-size", word)
				break
			}
		}
	default:
		set(property, value)
	}
	return to
}

// properties are those that may hide or show.
const properties = " display visibility opacity position float overflow overflow-x overflow-y left top right bottom margin-left margin-top text-indent " +
	"width height min-width min-height max-width max-height padding padding-left padding-right padding-top padding-bottom content-visibility filter " +
	"color -webkit-text-fill-color -webkit-text-stroke text-shadow background-color background-image background-clip -webkit-background-clip " +
	"font-size clip clip-path -webkit-clip-path transform -webkit-transform "

// paint is a colour.
type paint struct {
	colorful.Color
	alpha float64
}

var white, black = paint{colorful.Color{R: 1, G: 1, B: 1}, 1}, paint{alpha: 1}

// leastContrast is that of text which is seen.
const leastContrast = 1.1

// like reports whether two opaque colours look the same, by their contrast (WCAG 2).
func (p paint) like(o paint) bool {
	luminance := func(p paint) float64 {
		r, g, b := p.LinearRgb()
		return 0.2126*r + 0.7152*g + 0.0722*b + 0.05
	}
	a, b := luminance(p), luminance(o)
	return max(a, b)/min(a, b) < leastContrast
}

// on returns what is seen of a colour on an opaque one.
func (p paint) on(o paint) paint { return paint{o.BlendRgb(p.Color, p.alpha), 1} }

var (
	colorFunction = lazyregexp.New(`^(rgb|hsl)a?\(([^()]*)\)$`)
	colorParts    = lazyregexp.New(`[^\s(]*\((?:[^()]|\([^()]*\))*\)|\S+`)
	images        = lazyregexp.New(`url\(|gradient\(|image|var\(`)
)

// parseColor reads a colour of an element in one of another colour.
func parseColor(value string, around paint) (p paint, ok bool) {
	if name, ok := colornames.Map[value]; ok {
		p.Color, _ = colorful.MakeColor(name)
		p.alpha = 1
		return p, true
	}
	switch {
	case value == "inherit" || value == "unset" || value == "revert" || value == "revert-layer" || value == "currentcolor":
		return around, true
	case value == "transparent":
		return paint{}, true
	case value == "initial":
		return black, true
	case strings.HasPrefix(value, "#"):
		alpha, digits := uint64(255), (len(value)-1)/3
		if n := len(value) - 1; n == 4 || n == 8 {
			digits = n / 4
			alpha, _ = strconv.ParseUint(strings.Repeat(value[1+3*digits:], 3-digits), 16, 8)
			value = value[:1+3*digits]
		}
		c, err := colorful.Hex(value)
		return paint{c, float64(alpha) / 255}, err == nil && digits > 0
	}
	m := colorFunction().FindStringSubmatch(value)
	if m == nil {
		return around, false
	}
	c, arguments := [4]float64{3: 1}, strings.FieldsFunc(m[2], func(r rune) bool { return strings.ContainsRune(", /\t\n", r) })
	if len(arguments) != 3 && len(arguments) != 4 {
		return around, false
	}
	for i, a := range arguments {
		whole := 1.0
		if m[1] == "rgb" && i < 3 {
			whole = 255
		}
		if c[i], ok = length(a, 1, whole); !ok {
			return around, false
		}
		c[i] /= whole
		if m[1] == "hsl" && (i == 1 || i == 2) && !strings.HasSuffix(a, "%") {
			c[i] /= 100
		}
	}
	if m[1] == "hsl" {
		return paint{colorful.Hsl(c[0], c[1], c[2]).Clamped(), c[3]}, true
	}
	return paint{colorful.Color{R: c[0], G: c[1], B: c[2]}.Clamped(), c[3]}, true
}

// attributeColor returns a colour as attributes have it.
func attributeColor(value string) string {
	if _, ok := parseColor("#"+value, black); ok {
		return "#" + value
	}
	return value
}

// backgroundColor returns the colour in a background.
func backgroundColor(value string) string {
	for _, part := range colorParts().FindAllString(value, -1) {
		if _, ok := parseColor(part, black); ok {
			return part
		}
	}
	return "transparent"
}

// length reads a length in pixels, of text of that size, or a share of a whole.
func length(value string, em, whole float64) (n float64, ok bool) {
	value = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(value, "calc("), ")"))
	end := strings.LastIndexAny(value, "0123456789.") + 1
	n, err := strconv.ParseFloat(value[:end], 64)
	switch value[end:] {
	case "em", "ex", "ch":
		n *= em
	case "rem":
		n *= textSize
	case "%":
		n *= whole / 100
	case "pt":
		n *= 4.0 / 3
	case "cm", "in":
		n *= 38
	case "vw", "vh":
		n *= 10
	}
	return n, err == nil
}

// fontSizes are the sizes that have names.
var fontSizes = map[string]float64{
	"xx-small": 9, "x-small": 10, "small": 13, "medium": textSize, "large": 18, "x-large": 24, "xx-large": 32, "initial": textSize,
}

// fontSize returns the size of text in text of another, or the usual one if that cannot be told.
func fontSize(value string, around float64) float64 {
	n, ok := length(value, around, around)
	switch size := fontSizes[value]; {
	case size > 0:
		return size
	case value == "", value == "inherit", value == "unset", value == "smaller", value == "larger":
		return around
	case !ok:
		return textSize
	}
	return n
}

// isFontSize reports whether a value is one.
func isFontSize(value string) bool {
	n, ok := length(value, 1, 1)
	return ok && (n == 0 || n > 0 && strings.TrimRight(value, "%abcdefghijklmnopqrstuvwxyz") != value) || fontSizes[value] > 0 ||
		value == "smaller" || value == "larger" || strings.Contains(value, "(")
}

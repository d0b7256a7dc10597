package html

import (
	"strconv"
	"strings"

	"github.com/lucasb-eyer/go-colorful"
	"golang.org/x/image/colornames"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

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

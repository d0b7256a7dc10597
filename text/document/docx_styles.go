package document

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

// style is what of a paragraph style bears on the text.
type style struct {
	name, basedOn        string
	outline, list, level string // w:outlineLvl, w:numId and w:ilvl
}

// set takes the value of e, should that be one of the properties.
func (s *style) set(e element) {
	switch e.name {
	case "outlineLvl":
		s.outline = e.attr("val")
	case "numId":
		s.list = e.attr("val")
	case "ilvl":
		s.level = e.attr("val")
	}
}

// readStyles returns the styles of a document by id.
func readStyles(a *archive, part string) (map[string]*style, error) {
	all := map[string]*style{}
	s := &style{}
	err := a.elements(part, func(e element) {
		switch e.name {
		case "style":
			s = &style{}
			all[e.attr("styleId")] = s
		case "name":
			s.name = strings.ToLower(e.attr("val"))
		case "basedOn":
			s.basedOn = e.attr("val")
		}
		s.set(e)
	})
	return all, err
}

// maxBase bounds how far a style is followed to what it is based on, which a
// bad document can make a circle.
const maxBase = 20

// chain returns the style and those it is based on, the nearest first.
func (s style) chain(all map[string]*style) iter.Seq[style] {
	return func(yield func(style) bool) {
		for i := 0; i <= maxBase && yield(s) && s.basedOn != ""; i++ {
			if base := all[s.basedOn]; base != nil {
				s = *base
			} else {
				s = style{name: strings.ToLower(s.basedOn)} // without styles.xml the id has to do
			}
		}
	}
}

// heading returns the level of a heading, 1 to 9, or 0.
func (s style) heading(all map[string]*style) int {
	for s := range s.chain(all) {
		name := strings.ReplaceAll(s.name, " ", "")
		if n, ok := strings.CutPrefix(name, "heading"); ok && len(n) == 1 && n[0] >= '1' && n[0] <= '9' {
			return int(n[0] - '0')
		}
		if name == "title" {
			return 1
		}
		if len(s.outline) == 1 && s.outline[0] >= '0' && s.outline[0] <= '9' {
			return (int(s.outline[0]-'0') + 1) % 10 // 9 is body text
		}
	}
	return 0
}

// inList returns the list of a paragraph, "" if it is in none, and its level.
func (s style) inList(all map[string]*style) (list string, at int) {
	level := ""
	for s := range s.chain(all) {
		if level == "" {
			level = s.level
		}
		if list = s.list; list != "" {
			break
		}
	}
	if list == "0" {
		return "", 0
	}
	return list, min(max(atoi(level), 0), maxLevel)
}

// maxLevel is the deepest level of a list; they count from 0.
const maxLevel = 8

// level is how items of one level of a list are numbered.
type level struct {
	format string // such as "decimal" or "bullet"
	text   string // such as "%1.%2."
	start  int
}

// numbering is the lists of a document by id. A list, w:num, is a use of a
// definition, w:abstractNum; the lists of one definition count on together.
type numbering map[string]*list

type list struct {
	*definition
	restart map[int]int // level to number, from the first item on
}

type definition struct {
	levels [maxLevel + 1]level
	count  [maxLevel + 1]int
	begun  [maxLevel + 1]bool
}

func readNumbering(a *archive, part string) (numbering, error) {
	lists, definitions := numbering{}, map[string]*definition{}
	def, item, lvl, at := &definition{}, &list{}, &level{}, 0 // being read
	err := a.elements(part, func(e element) {
		val := e.attr("val")
		switch e.name {
		case "abstractNum":
			def = &definition{}
			definitions[e.attr("abstractNumId")] = def
		case "lvl":
			lvl = &def.levels[min(max(atoi(e.attr("ilvl")), 0), maxLevel)]
			*lvl = level{format: "decimal"}
		case "numFmt":
			lvl.format = val
		case "lvlText":
			lvl.text = val[:min(len(val), maxLabel)]
		case "start":
			lvl.start = atoi(val)
		case "num":
			item = &list{restart: map[int]int{}}
			lists[e.attr("numId")] = item
			def = &definition{} // levels in w:lvlOverride are not read
		case "abstractNumId":
			item.definition = definitions[val]
		case "lvlOverride":
			at = min(max(atoi(e.attr("ilvl")), 0), maxLevel)
		case "startOverride":
			item.restart[at] = atoi(val)
		}
	})
	return lists, err
}

// maxLabel bounds the text of a label, which would otherwise make a little
// definition much text.
const maxLabel = 80

// placeholder is the number of a level in the text of a label.
var placeholder = lazyregexp.New(`%[1-9]`)

// label returns what stands before the next item of a list with a space after
// it: a dash for a bullet or a list that is not defined.
func (n numbering) label(id string, at int) string {
	l := n[id]
	if l == nil || l.definition == nil {
		return "- "
	}
	for level, start := range l.restart {
		l.count[level], l.begun[level] = start-1, true
	}
	l.restart = nil
	for i := range l.begun { // the level goes on, and deeper ones begin again
		switch {
		case i > at:
			l.begun[i] = false
		case !l.begun[i]:
			l.begun[i], l.count[i] = true, l.levels[i].start
		case i == at:
			l.count[i]++
		}
	}
	switch l.levels[at].format {
	case "bullet", "":
		return "- "
	case "none":
		return ""
	}
	text := placeholder().ReplaceAllStringFunc(l.levels[at].text, func(p string) string {
		of := p[1] - '1'
		return ordinal(l.count[of], l.levels[of].format)
	})
	if text != "" {
		text += " "
	}
	return text
}

// ordinal writes a number in a format of ST_NumberFormat. Those of scripts
// other than Latin come out decimal.
func ordinal(n int, format string) string {
	text := ""
	switch {
	case format == "decimalZero" && n >= 0:
		return fmt.Sprintf("%02d", n)
	case strings.HasSuffix(format, "Letter") && n > 0 && n <= 26*4:
		text = strings.Repeat(string(rune('A'+(n-1)%26)), (n-1)/26+1)
	case strings.HasSuffix(format, "Roman") && n > 0 && n < 4000:
		text = roman(n)
	default:
		return strconv.Itoa(n)
	}
	if strings.HasPrefix(format, "lower") {
		return strings.ToLower(text)
	}
	return text
}

func roman(n int) (text string) {
	values := [...]int{1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1}
	letters := [...]string{"M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"}
	for i, value := range values {
		text += strings.Repeat(letters[i], n/value)
		n %= value
	}
	return text
}

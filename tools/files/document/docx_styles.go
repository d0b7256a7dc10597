package document

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
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

// numbering is the lists of a document. A list, w:num, is a use of a
// definition, w:abstractNum; the lists of one definition count on together.
type numbering struct {
	abstract map[string]*abstractList
	lists    map[string]*list
}

type abstractList struct {
	levels [maxLevel + 1]level
	count  [maxLevel + 1]int
	begun  [maxLevel + 1]bool
}

type list struct {
	abstract string
	restart  map[int]int // level to number, from the first item on
}

func readNumbering(a *archive, part string) (*numbering, error) {
	n := &numbering{map[string]*abstractList{}, map[string]*list{}}
	abstract, item, lvl, at := &abstractList{}, &list{}, &level{}, 0 // being read
	err := a.elements(part, func(e element) {
		val := e.attr("val")
		switch e.name {
		case "abstractNum":
			abstract = &abstractList{}
			n.abstract[e.attr("abstractNumId")] = abstract
		case "lvl":
			lvl = &abstract.levels[min(max(atoi(e.attr("ilvl")), 0), maxLevel)]
			*lvl = level{format: "decimal"}
		case "numFmt":
			lvl.format = val
		case "lvlText":
			lvl.text = val
		case "start":
			lvl.start = atoi(val)
		case "num":
			item = &list{restart: map[int]int{}}
			n.lists[e.attr("numId")] = item
			abstract = &abstractList{} // levels in w:lvlOverride are not read
		case "abstractNumId":
			item.abstract = val
		case "lvlOverride":
			at = min(max(atoi(e.attr("ilvl")), 0), maxLevel)
		case "startOverride":
			item.restart[at] = atoi(val)
		}
	})
	return n, err
}

// label returns what stands before the next item of a list with a space after
// it: a dash for a bullet or a list that is not defined.
func (n *numbering) label(id string, at int) string {
	l := n.lists[id]
	if l == nil || n.abstract[l.abstract] == nil {
		return "- "
	}
	abs := n.abstract[l.abstract]
	for level, start := range l.restart {
		abs.count[level], abs.begun[level] = start-1, true
	}
	l.restart = nil
	abs.advance(at)
	switch abs.levels[at].format {
	case "bullet", "":
		return "- "
	case "none":
		return ""
	}
	return abs.render(at)
}

// advance counts an item: its level goes on, and deeper ones begin again.
func (a *abstractList) advance(at int) {
	for i := 0; i <= at; i++ {
		if !a.begun[i] {
			a.begun[i] = true
			a.count[i] = a.levels[i].start
			if i == at {
				a.count[i]--
			}
		}
	}
	a.count[at]++
	for i := at + 1; i <= maxLevel; i++ {
		a.begun[i] = false
	}
}

// maxLabel bounds the text of a label, which would otherwise make a little
// definition much text.
const maxLabel = 80

func (a *abstractList) render(at int) string {
	text := a.levels[at].text
	text = text[:min(len(text), maxLabel)]
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+1 < len(text) && text[i+1] >= '1' && text[i+1] <= '9' {
			i++
			of := text[i] - '1'
			b.WriteString(ordinal(a.count[of], a.levels[of].format))
			continue
		}
		b.WriteByte(text[i])
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	return b.String()
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

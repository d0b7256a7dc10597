package document

import (
	"strconv"
	"strings"
)

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
	used     bool
}

func readNumbering(a *archive, part string) (*numbering, error) {
	n := &numbering{abstract: map[string]*abstractList{}, lists: map[string]*list{}}
	err := a.each(part, func(t *tokens, e element) error {
		switch e.name {
		case "abstractNum":
			abs := &abstractList{}
			n.abstract[e.attr("abstractNumId")] = abs
			return t.children(func(t *tokens, e element) error {
				if e.name == "lvl" {
					return readLevel(t, e, abs)
				}
				return nil
			})
		case "num":
			l := &list{}
			n.lists[e.attr("numId")] = l
			return readList(t, l)
		}
		return nil
	})
	return n, err
}

func readLevel(t *tokens, e element, abs *abstractList) error {
	lvl := &abs.levels[min(max(atoi(e.attr("ilvl")), 0), maxLevel)]
	*lvl = level{format: "decimal"}
	return t.children(func(_ *tokens, e element) error {
		switch e.name {
		case "numFmt":
			lvl.format = e.attr("val")
		case "lvlText":
			lvl.text = e.attr("val")
		case "start":
			lvl.start = atoi(e.attr("val"))
		}
		return nil
	})
}

func readList(t *tokens, l *list) error {
	return t.children(func(t *tokens, e element) error {
		switch e.name {
		case "abstractNumId":
			l.abstract = e.attr("val")
		case "lvlOverride":
			at := atoi(e.attr("ilvl"))
			return t.children(func(_ *tokens, e element) error {
				if e.name == "startOverride" && at >= 0 && at <= maxLevel {
					if l.restart == nil {
						l.restart = map[int]int{}
					}
					l.restart[at] = atoi(e.attr("val"))
				}
				return nil
			})
		}
		return nil
	})
}

// label returns what stands before the next item of a list with a space after
// it: a dash for a bullet or a list that is not defined.
func (n *numbering) label(id string, at int) string {
	l := n.lists[id]
	if l == nil || n.abstract[l.abstract] == nil {
		return "- "
	}
	abs := n.abstract[l.abstract]
	if !l.used {
		l.used = true
		for level, start := range l.restart {
			abs.count[level], abs.begun[level] = start-1, true
		}
	}
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
	if len(text) > maxLabel {
		text = text[:maxLabel]
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+1 < len(text) && text[i+1] >= '1' && text[i+1] <= '9' {
			i++
			of := int(text[i] - '1')
			b.WriteString(ordinal(a.count[of], a.levels[of].format))
			continue
		}
		b.WriteByte(text[i])
	}
	if b.Len() == 0 {
		return ""
	}
	return b.String() + " "
}

// ordinal writes a number in a format of ST_NumberFormat. Those of scripts
// other than Latin come out decimal.
func ordinal(n int, format string) string {
	switch {
	case format == "decimalZero" && n >= 0 && n < 10:
		return "0" + strconv.Itoa(n)
	case format == "lowerLetter" && n > 0 && n <= 26*4:
		return strings.Repeat(string(rune('a'+(n-1)%26)), (n-1)/26+1)
	case format == "upperLetter" && n > 0 && n <= 26*4:
		return strings.Repeat(string(rune('A'+(n-1)%26)), (n-1)/26+1)
	case format == "lowerRoman" && n > 0 && n < 4000:
		return strings.ToLower(roman(n))
	case format == "upperRoman" && n > 0 && n < 4000:
		return roman(n)
	}
	return strconv.Itoa(n)
}

func roman(n int) string {
	var b strings.Builder
	for _, r := range []struct {
		value  int
		letter string
	}{
		{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"},
		{50, "L"}, {40, "XL"}, {10, "X"}, {9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"},
	} {
		for n >= r.value {
			n -= r.value
			b.WriteString(r.letter)
		}
	}
	return b.String()
}

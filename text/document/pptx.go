package document

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// pptxText returns the text of a PowerPoint presentation: for each slide, in the order
// they are shown in, a line "## Slide N", then a line for each paragraph, indented by its
// level, and for each row of a table, with a TAB between cells. A link is "text (url)", a
// picture with a description "[image: ...]". The speaker's notes follow a line
// "### Notes". Hidden slides are marked as such; numbers of slides, dates and footers are
// left out.
func pptxText(a *archive) ([]byte, error) {
	p := &pptx{archive: a}
	err := p.read()
	return p.out, err
}

// pptx is a presentation being read.
type pptx struct {
	*archive
	out  []byte
	rels map[string]relation // of the part being read
}

func (p *pptx) read() error {
	main, rels, err := p.mainPart("ppt/presentation.xml")
	if err != nil {
		return err
	}
	var slides []string
	err = p.elements(main, func(e element) {
		if rel := rels[e.relation()]; e.name == "sldId" && rel.kind == "slide" && !rel.external {
			slides = append(slides, rel.target)
		}
	})
	if err != nil {
		return err
	}
	for i, slide := range slides {
		if err := p.slide(i+1, slide); err != nil {
			return err
		}
	}
	return nil
}

// slide reads a slide with what belongs to it.
func (p *pptx) slide(n int, part string) error {
	p.miss(part)
	err := p.part(part, func(t *tokens, root element) error {
		p.addSlide(&p.out, n, root.attr("show") == "0")
		return p.shapes(t, part, false)
	})
	if err != nil {
		return err
	}
	rels := p.rels
	for _, id := range slices.Sorted(maps.Keys(rels)) {
		if rels[id].kind != "diagramData" || rels[id].external {
			continue
		}
		if err := p.part(rels[id].target, func(t *tokens, _ element) error { return p.shapes(t, rels[id].target, false) }); err != nil {
			return err
		}
	}
	notes := related(rels, "notesSlide")
	return p.part(notes, func(t *tokens, _ element) error {
		return p.addNotes(&p.out, func() error { return p.shapes(t, notes, true) })
	})
}

// shapes reads the text inside the root of a part; of notes, only the text that a person
// wrote there.
func (p *pptx) shapes(t *tokens, part string, notes bool) (err error) {
	if p.rels, err = p.relations(part); err != nil {
		return err
	}
	return t.children(func(e element) error { return p.shape(t, e, notes) })
}

// shape reads what is in one element. One it does not know is taken for what only groups
// others.
func (p *pptx) shape(t *tokens, e element, notes bool) error {
	switch e.name {
	case "AlternateContent":
		return alternatives(t, func() error {
			return t.children(func(e element) error { return p.shape(t, e, notes) })
		})
	case "sp":
		return p.box(t, notes)
	case "cNvPr":
		if alt := imageText([]byte(e.attr("descr"))); alt != "" && !notes {
			p.add(&p.out, alt+"\n")
		}
		return p.full
	case "p":
		line, err := p.paragraph(t)
		if err == nil && len(line) > 0 {
			p.add(&p.out, string(line)+"\n")
		}
		return cmp.Or(err, p.full)
	case "tr":
		return p.row(t)
	}
	return t.children(func(e element) error { return p.shape(t, e, notes) })
}

// box reads a shape with its text, unless that is a placeholder for what is the same on
// all slides.
func (p *pptx) box(t *tokens, notes bool) error {
	kind, placeholder := "", false
	return t.children(func(e element) error {
		switch e.name {
		case "nvSpPr":
			return t.descend(func(e element) {
				if e.name == "ph" {
					kind, placeholder = e.attr("type"), true
				}
			})
		case "txBody":
			if placeholder && slices.Contains([]string{"sldNum", "dt", "ftr", "hdr"}, kind) || notes && kind != "body" {
				return nil
			}
			return t.children(func(e element) error { return p.shape(t, e, notes) })
		}
		return nil
	})
}

// paragraph returns the text of a:p, indented by its level.
func (p *pptx) paragraph(t *tokens) ([]byte, error) {
	var line []byte
	level := 0
	err := t.children(func(e element) error {
		if e.name == "pPr" {
			level = min(max(atoi(e.attr("lvl")), 0), 8) // ECMA-376 part 1, 21.1.2.2.7
		}
		return p.inline(t, e, &line)
	})
	if err == nil && level > 0 && len(line) > 0 {
		line = append([]byte(strings.Repeat("  ", level)), line...)
	}
	return line, err
}

// inline reads an element of a paragraph.
func (p *pptx) inline(t *tokens, e element, line *[]byte) (err error) {
	switch e.name {
	case "t":
		*line, err = t.text(*line)
	case "br":
		*line = append(*line, '\n')
	case "tab":
		*line = append(*line, '\t')
	case "pPr", "endParaRPr", "Fallback":
	case "r":
		url, from := "", len(*line)
		err = t.children(func(e element) error {
			if e.name == "rPr" {
				return t.descend(func(e element) {
					if rel := p.rels[e.relation()]; e.name == "hlinkClick" && rel.external {
						url = rel.target
					}
				})
			}
			return p.inline(t, e, line)
		})
		*line = append(*line, linkSuffix(string((*line)[from:]), url)...)
	default:
		err = t.children(func(e element) error { return p.inline(t, e, line) })
	}
	return err
}

// row reads a row of a table.
func (p *pptx) row(t *tokens) error {
	var row tableRow
	err := t.children(func(e element) error {
		if e.name != "tc" {
			return nil
		}
		p.begin(&row, 1)
		var text []byte
		err := t.descendInto("p", func() error {
			paragraph, err := p.paragraph(t)
			text = append(append(text, paragraph...), '\n')
			return err
		})
		row.line = appendFlat(row.line, text)
		return err
	})
	p.add(&p.out, string(row.line)+"\n")
	return cmp.Or(err, p.full)
}

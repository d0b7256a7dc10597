package document

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// skipped are elements whose text is not part of the document's: deleted and
// moved-away text, former properties, placeholders' settings, and the reading
// aid printed above a character.
func skipped(name string) bool {
	switch name {
	case "del", "moveFrom", "delText", "delInstrText", "rt", "sdtPr", "sdtEndPr", "tblPr", "tblGrid", "tblPrEx",
		"pPrChange", "rPrChange", "sectPrChange", "trPrChange", "tcPrChange", "tblPrChange", "numberingChange":
		return true
	}
	return false
}

// blocks reads the paragraphs and tables inside the element just begun.
func (d *docx) blocks(t *tokens, to *[]byte) error {
	return t.children(func(e element) error { return d.block(t, e, to) })
}

// block reads one of them. An element it does not know is taken for what only
// groups others, as content controls and insertions do.
func (d *docx) block(t *tokens, e element, to *[]byte) error {
	switch {
	case skipped(e.name):
		return nil
	case e.name == "p":
		return d.paragraph(t, to)
	case e.name == "tbl":
		var r tableRow
		return d.table(t, &r, to)
	case e.name == "sectPr":
		return t.descend(d.addMarginal)
	case e.name == "AlternateContent":
		return alternatives(t, func() error { return d.blocks(t, to) })
	}
	return d.blocks(t, to)
}

// alternatives reads one branch of mc:AlternateContent (ECMA-376 part 3), the
// first choice or else the fallback, since they say the same in other words.
func alternatives(t *tokens, read func() error) error {
	taken := false
	return t.children(func(e element) error {
		if taken || e.name != "Choice" && e.name != "Fallback" {
			return nil
		}
		taken = true
		return read()
	})
}

// paragraph is a paragraph being read.
type paragraph struct {
	style  // its own properties, and basedOn the style it names
	text   []byte
	boxes  []byte // of the text boxes anchored in it
	hidden bool   // in a run that is
	open   bool   // its end was deleted: the next one goes on with it
}

func (d *docx) paragraph(t *tokens, to *[]byte) error {
	p := paragraph{text: d.pending}
	d.pending = nil
	err := d.inlines(t, &p)
	for i := range d.fields {
		// A field whose result has not begun within its paragraph is broken;
		// it must not hide the rest of the document.
		d.fields[i].result = true
	}
	if p.open {
		d.pending = p.text
		return cmp.Or(err, d.full)
	}
	if err == nil {
		*to = append(*to, d.prefix(&p)...)
	}
	*to = append(append(*to, p.text...), '\n')
	*to = append(*to, p.boxes...)
	return cmp.Or(err, d.full)
}

// prefix returns the marks of a heading or list item. An empty paragraph gets
// none, unless it counts in a list.
func (d *docx) prefix(p *paragraph) string {
	label := ""
	list, level := p.inList(d.styles)
	if list != "" && len(bytes.TrimSpace(p.text)) > 0 {
		label = d.numbering.label(list, level)
	}
	heading := p.heading(d.styles)
	if heading > 0 && d.cells == 0 && len(p.text) > 0 {
		label = strings.Repeat("#", heading) + " " + label
	} else if label != "" && d.cells == 0 {
		label = strings.Repeat("  ", level) + label
	}
	if !d.take(len(label) + 1) {
		return ""
	}
	return label
}

// table reads a table, one line for each row, or what is in a row r of one.
// An element it does not know only groups rows or cells.
func (d *docx) table(t *tokens, r *tableRow, to *[]byte) error {
	return t.children(func(e element) error {
		switch {
		case e.name == "trPr":
			return t.descend(func(e element) {
				switch e.name {
				case "del":
					r.deleted = true
				case "gridBefore":
					d.begin(r, atoi(e.attr("val")))
				}
			})
		case skipped(e.name):
			return nil
		case e.name == "tc":
			return d.cell(t, r)
		case e.name == "tr":
			var row tableRow
			err := d.table(t, &row, to)
			if !row.deleted {
				*to = append(append(*to, row.line...), '\n')
			}
			return cmp.Or(err, d.full)
		}
		return d.table(t, r, to)
	})
}

// cell reads a cell and appends it to its row. A cell that spans columns is
// followed by empty ones, so that columns stay in line.
func (d *docx) cell(t *tokens, r *tableRow) error {
	var text []byte
	span := 1
	d.cells++
	err := t.children(func(e element) error {
		if e.name != "tcPr" {
			return d.block(t, e, &text)
		}
		return t.descend(func(e element) {
			if e.name == "gridSpan" {
				span = atoi(e.attr("val"))
			}
		})
	})
	d.cells--
	d.begin(r, 1)
	r.line = appendFlat(r.line, text)
	d.begin(r, min(span, maxSpan)-1)
	return err
}

// inlines reads what is inside a paragraph, or inside an element of one.
func (d *docx) inlines(t *tokens, p *paragraph) error {
	return t.children(func(e element) error { return cmp.Or(d.inline(t, e, p), d.full) })
}

// inline reads one element of a paragraph. One it does not know is taken for
// what only groups others, as insertions, content controls and drawings do.
func (d *docx) inline(t *tokens, e element, p *paragraph) error {
	if skipped(e.name) {
		return nil
	}
	from := len(p.text)
	switch e.name {
	case "pPr":
		return t.descend(func(e element) {
			switch e.name {
			case "pStyle":
				p.basedOn = e.attr("val")
			case "del", "moveFrom":
				p.open = true
			}
			p.set(e)
			d.addMarginal(e)
		})
	case "r":
		hidden := p.hidden
		err := d.inlines(t, p)
		p.hidden = hidden
		return err
	case "rPr":
		return t.descend(func(e element) {
			if e.name == "vanish" {
				p.hidden = e.on()
			}
		})
	case "t":
		text, err := t.text(nil)
		d.write(p, string(text))
		return err
	case "hyperlink":
		err := d.inlines(t, p)
		if rel := d.rels[e.attr("id")]; err == nil && rel.external {
			d.linkEnd(p, from, rel.target)
		}
		return err
	case "fldSimple":
		err := d.inlines(t, p)
		if err == nil {
			d.linkEnd(p, from, linkTarget(e.attr("instr")))
		}
		return err
	case "fldChar":
		d.fieldMark(e.attr("fldCharType"), p)
	case "instrText":
		text, err := t.text(nil)
		if last := len(d.fields) - 1; last >= 0 && len(d.fields[last].instruction)+len(text) <= maxInstruction {
			d.fields[last].instruction = append(d.fields[last].instruction, text...)
		}
		return err
	case "txbxContent":
		// Fields begun around the box go on after it.
		outer := d.fields
		d.fields = nil
		err := d.blocks(t, &p.boxes)
		d.fields = outer
		return err
	case "AlternateContent":
		return alternatives(t, func() error { return d.inlines(t, p) })
	case "docPr":
		d.write(p, imageText([]byte(e.attr("descr"))))
	case "footnoteReference", "endnoteReference", "commentReference":
		d.write(p, d.mark(e))
	case "tab", "ptab":
		d.write(p, "\t")
	case "br", "cr":
		d.write(p, "\n")
	case "noBreakHyphen":
		d.write(p, "\u2011")
	case "sym":
		d.write(p, symbol(e.attr("font"), e.attr("char")))
	default:
		return d.inlines(t, p)
	}
	return nil
}

// symbol returns the character of w:sym, given by its font and hexadecimal
// code. Symbol fonts have codes of their own, F000 to F0FF: of those the arrows,
// check marks and bullets of Wingdings are known. Another one is U+FFFD.
func symbol(font, char string) string {
	const codes, meaning = "\x6C\x6E\x6F\xA7\xA8\xDF\xE0\xE8\xFB\xFC\xFD\xFE", "●■☐■☐←→→✗✓✗☑"
	code, err := strconv.ParseUint(char, 16, 21)
	switch private := code >= 0xE000 && code <= 0xF8FF; {
	case err != nil:
	case !private:
		return string(rune(code))
	case strings.EqualFold(font, "Wingdings"):
		if i := strings.IndexByte(codes, byte(code)); i >= 0 {
			return string([]rune(meaning)[i])
		}
	}
	return "\uFFFD"
}

// write appends text to the paragraph where text shows.
func (d *docx) write(p *paragraph, s string) {
	if !p.hidden && !d.inInstruction() {
		d.add(&p.text, s)
	}
}

// linkEnd appends the address of a link whose text begins at from, unless the
// text says it.
func (d *docx) linkEnd(p *paragraph, from int, url string) {
	d.write(p, linkSuffix(string(p.text[min(from, len(p.text)):]), url))
}

const (
	maxFields      = 64      // how deep fields nest
	maxInstruction = 4 << 10 // how much of a field's instruction is kept
)

// field is a complex field (ECMA-376 part 1, 17.16.18): an instruction, which
// is not text, and its result, which is.
type field struct {
	instruction []byte
	result      bool       // the instruction is over
	in          *paragraph // where the result began
	from        int
}

// inInstruction tells whether text read now belongs to an instruction.
func (d *docx) inInstruction() bool {
	return slices.ContainsFunc(d.fields, func(f field) bool { return !f.result })
}

func (d *docx) fieldMark(kind string, p *paragraph) {
	last := len(d.fields) - 1
	switch {
	case kind == "begin" && len(d.fields) < maxFields:
		d.fields = append(d.fields, field{})
	case kind == "separate" && last >= 0:
		f := &d.fields[last]
		f.result, f.in, f.from = true, p, len(p.text)
	case kind == "end" && last >= 0:
		f := d.fields[last]
		d.fields = d.fields[:last]
		if f.in != p {
			f.from = 0
		}
		d.linkEnd(p, f.from, linkTarget(string(f.instruction)))
	}
}

// linkTarget returns the address in an instruction such as
// HYPERLINK "https://example.org" \o "tip", or "".
func linkTarget(instruction string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(instruction), "HYPERLINK")
	quoted, url := strings.CutPrefix(strings.TrimSpace(rest), `"`)
	if !ok || !url {
		return ""
	}
	target, _, _ := strings.Cut(quoted, `"`)
	return target
}

// atoi returns the number s says, or 0.
func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

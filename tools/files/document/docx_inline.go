package document

import "strconv"

// inlines reads what is inside a paragraph, or inside an element of one.
func (d *docx) inlines(t *tokens, p *paragraph) error {
	return t.children(func(t *tokens, e element) error { return d.inline(t, e, p) })
}

// inline reads one element of a paragraph. One it does not know is taken for
// what only groups others, as insertions, content controls and drawings do.
func (d *docx) inline(t *tokens, e element, p *paragraph) error {
	if skipped(e.name) {
		return nil
	}
	switch e.name {
	case "pPr":
		return d.properties(t, p)
	case "r":
		hidden := p.hidden
		err := d.inlines(t, p)
		p.hidden = hidden
		return err
	case "rPr":
		return runProperties(t, p)
	case "t":
		return d.runText(t, p)
	case "hyperlink":
		return d.hyperlink(t, e, p)
	case "fldSimple":
		return d.simpleField(t, e, p)
	case "fldChar":
		d.fieldMark(e.attr("fldCharType"), p)
	case "instrText":
		return d.instruction(t)
	case "txbxContent":
		return d.textBox(t, p)
	case "AlternateContent":
		return alternatives(t, func(t *tokens) error { return d.inlines(t, p) })
	case "docPr":
		if alt := appendFlat(nil, []byte(e.attr("descr"))); len(alt) > 0 {
			d.write(p, "[image: "+string(alt)+"]")
		}
	case "footnoteReference", "endnoteReference", "commentReference":
		d.write(p, d.refs.mark(e.name, e.attr("id")))
	default:
		if s := characterOf(e); s != "" {
			d.write(p, s)
			return nil
		}
		return d.inlines(t, p)
	}
	return d.out.err
}

// characterOf returns the text of an element that stands for a character.
func characterOf(e element) string {
	switch e.name {
	case "tab", "ptab":
		return "\t"
	case "br", "cr":
		return "\n"
	case "noBreakHyphen":
		return "\u2011"
	case "sym":
		return symbol(e.attr("font"), e.attr("char"))
	}
	return ""
}

// write appends text to the paragraph where text shows.
func (d *docx) write(p *paragraph, s string) {
	if p.hidden || d.inInstruction() || !d.out.take(len(s)) {
		return
	}
	p.text = append(p.text, s...)
}

func (d *docx) runText(t *tokens, p *paragraph) error {
	have := len(p.text)
	text, err := t.text(p.text)
	if n := len(text) - have; n > 0 && !p.hidden && !d.inInstruction() && d.out.take(n) {
		p.text = text
	}
	if err == nil {
		err = d.out.err
	}
	return err
}

// runProperties finds out whether a run is hidden.
func runProperties(t *tokens, p *paragraph) error {
	return t.children(func(_ *tokens, e element) error {
		if e.name == "vanish" {
			p.hidden = e.on()
		}
		return nil
	})
}

// properties reads w:pPr.
func (d *docx) properties(t *tokens, p *paragraph) error {
	return t.children(func(t *tokens, e element) error {
		switch e.name {
		case "pStyle":
			p.style = e.attr("val")
		case "outlineLvl":
			p.outline = e.attr("val")
		case "numPr":
			return t.children(func(_ *tokens, e element) error {
				switch e.name {
				case "numId":
					p.list = e.attr("val")
				case "ilvl":
					p.level = e.attr("val")
				}
				return nil
			})
		case "rPr":
			return t.children(func(_ *tokens, e element) error {
				if e.name == "del" || e.name == "moveFrom" {
					p.endDeleted = true
				}
				return nil
			})
		case "sectPr":
			return d.section(t)
		}
		return nil
	})
}

// hyperlink reads w:hyperlink and puts its address after its text.
func (d *docx) hyperlink(t *tokens, e element, p *paragraph) error {
	from := len(p.text)
	if err := d.inlines(t, p); err != nil {
		return err
	}
	if rel := d.rels[e.attr("id")]; rel.external {
		d.linkEnd(p, from, rel.target)
	}
	return d.out.err
}

// linkEnd appends the address of a link whose text begins at from, unless the
// text says it.
func (d *docx) linkEnd(p *paragraph, from int, url string) {
	text := string(p.text[min(from, len(p.text)):])
	if url == "" || text == url || "mailto:"+text == url || text+"/" == url {
		return
	}
	if text == "" {
		d.write(p, url)
		return
	}
	d.write(p, " ("+url+")")
}

// textBox reads the paragraphs of a text box.
func (d *docx) textBox(t *tokens, p *paragraph) error {
	// Fields begun around the box go on after it.
	outer := d.fields
	d.fields = nil
	err := d.blocks(t, &p.boxes)
	d.fields = outer
	return err
}

// atoi returns the number s says, or 0.
func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

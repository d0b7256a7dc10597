package document

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// docxText returns the text of a Word document, a paragraph a line:
//
//   - headings begin with one # for each level, list items with a dash or
//     their number and two spaces for each level;
//   - a row of a table is a line with a TAB between cells; what is inside a
//     cell, such as line breaks and other tables, is on that line;
//   - a link is "text (url)", a picture with a description "[image: ...]";
//   - footnotes, endnotes and comments are marked [^1], [^e1] and [^c1] and
//     follow at the end; headers come first and footers after the body, as
//     "[header] ..." and "[footer] ...";
//   - text boxes follow the paragraph they are anchored in;
//   - deleted and hidden text is left out, inserted text is in.
func docxText(a *archive) ([]byte, error) {
	d := &docx{archive: a, marks: map[note]string{}, count: map[string]int{}, notes: map[note][]byte{}}
	err := d.read()
	return d.assemble(), err
}

// docx is a Word document being read.
type docx struct {
	*archive
	styles    map[string]*style
	numbering numbering
	rels      map[string]relation // of the part being read

	body       []byte
	margins    margins
	marginalia []marginal
	order      []note // the notes referred to
	marks      map[note]string
	count      map[string]int // of notes by kind
	notes      map[note][]byte
	fields     []field
	pending    []byte // text of a paragraph whose end was deleted
	cells      int    // how many table cells deep
}

// read reads the whole document.
func (d *docx) read() error {
	main, rels, err := d.mainPart("word/document.xml")
	if err != nil {
		return err
	}
	if d.styles, err = readStyles(d.archive, related(rels, "styles")); err != nil {
		return err
	}
	if d.numbering, err = readNumbering(d.archive, related(rels, "numbering")); err != nil {
		return err
	}
	if d.body, err = d.story(main); err != nil {
		return err
	}
	for _, m := range d.marginalia {
		text, err := d.story(m.part)
		if err != nil {
			return err
		}
		d.margins.add(&d.budget, m.footer, text)
	}
	for _, kind := range []string{"footnote", "endnote", "comment"} {
		if err := d.readNotes(kind, related(rels, kind+"s")); err != nil {
			return err
		}
	}
	return nil
}

// story reads a part that is one piece of text.
func (d *docx) story(part string) (text []byte, err error) {
	if d.rels, err = d.relations(part); err != nil {
		return nil, err
	}
	d.fields = nil
	err = d.each(part, func(t *tokens, e element) error { return d.block(t, e, &text) })
	text, d.pending = append(text, d.pending...), nil
	return text, err
}

// marginal is a header or a footer.
type marginal struct {
	part   string
	footer bool
}

// maxMarginalia bounds how many headers and footers are read.
const maxMarginalia = 200

// addMarginal notes the header or footer that e, of a section, refers to, if it does.
func (d *docx) addMarginal(e element) {
	if e.name != "headerReference" && e.name != "footerReference" {
		return
	}
	rel := d.rels[e.attr("id")]
	m := marginal{rel.target, e.name == "footerReference"}
	if m.part != "" && !rel.external && len(d.marginalia) < maxMarginalia && !slices.Contains(d.marginalia, m) {
		d.marginalia = append(d.marginalia, m)
	}
}

// note is a note: the element it is in, such as "footnote", and its w:id.
type note struct{ kind, id string }

// mark returns the mark of the note that an element refers to, numbering it if it is new.
func (d *docx) mark(e element) string {
	n := note{strings.TrimSuffix(e.name, "Reference"), e.attr("id")}
	if _, known := d.marks[n]; !known {
		prefix := ""
		if n.kind != "footnote" {
			prefix = n.kind[:1]
		}
		d.count[n.kind]++
		d.order = append(d.order, n)
		d.marks[n] = fmt.Sprintf("[^%s%d]", prefix, d.count[n.kind])
	}
	return d.marks[n]
}

// readNotes reads the notes of a kind that were referred to. A note may refer to one of a later kind.
func (d *docx) readNotes(kind, part string) (err error) {
	if d.count[kind] == 0 {
		return nil
	}
	d.miss(cmp.Or(part, kind+"s"))
	if d.rels, err = d.relations(part); err != nil {
		return err
	}
	return d.each(part, func(t *tokens, e element) error {
		n := note{e.name, e.attr("id")}
		if d.marks[n] == "" || d.notes[n] != nil {
			return nil
		}
		d.fields = nil
		var text []byte
		err := d.blocks(t, &text)
		d.notes[n] = d.note(d.marks[n], e.attr("author"), text)
		return cmp.Or(err, d.full)
	})
}

// assemble puts the parts of the text together.
func (d *docx) assemble() []byte {
	slices.SortStableFunc(d.order, func(a, b note) int { return -cmp.Compare(a.kind, b.kind) }) // footnotes first, comments last
	var notes [][]byte
	for _, n := range d.order {
		if text := d.notes[n]; text != nil {
			notes = append(notes, text)
		}
	}
	return joined(d.margins.headers, d.body, d.margins.footers, bytes.Join(notes, []byte("\n")))
}

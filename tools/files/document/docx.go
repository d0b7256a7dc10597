package document

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// DocxText returns the text of a Word document, a paragraph a line:
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
//
// The error is a [*FormatError] if r is not such a document, or a
// [*LimitError], which comes with the text up to there.
func DocxText(r io.ReaderAt, size int64, limits Limits) (string, error) {
	a, err := openArchive(r, size, limits)
	if err != nil {
		return "", readError("docx", err)
	}
	d := &docx{archive: a, out: newBudget(a.limits)}
	err = readError("docx", d.read())
	return d.assemble(), err
}

// docx is a Word document being read.
type docx struct {
	*archive
	out       *budget
	styles    map[string]*style
	numbering *numbering
	rels      map[string]relation // of the part being read

	body, headers, footers, notes block
	marginalia                    []marginal
	refs                          noteRefs
	fields                        []field
	cells                         int // how many table cells deep
}

// read reads the whole document.
func (d *docx) read() error {
	main, err := d.mainPart("word/document.xml")
	if err != nil {
		return err
	}
	rels, err := d.relations(main)
	if err != nil {
		return err
	}
	if d.styles, err = readStyles(d.archive, related(rels, "styles")); err != nil {
		return err
	}
	if d.numbering, err = readNumbering(d.archive, related(rels, "numbering")); err != nil {
		return err
	}
	if err := d.story(main, &d.body); err != nil {
		return err
	}
	if err := d.readMarginalia(); err != nil {
		return err
	}
	for _, kind := range []string{"footnote", "endnote", "comment"} {
		if err := d.readNotes(kind, related(rels, kind+"s")); err != nil {
			return err
		}
	}
	return nil
}

// story reads a part that is one piece of text.
func (d *docx) story(part string, to *block) (err error) {
	if d.rels, err = d.relations(part); err != nil {
		return err
	}
	t, err := d.open(part)
	if err != nil {
		return err
	}
	defer t.close()
	d.fields = nil
	if err := t.root(); err != nil {
		return err
	}
	err = d.blocks(t, to)
	to.flush()
	return err
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

// readMarginalia reads headers and footers, each distinct text once.
func (d *docx) readMarginalia() error {
	seen := map[string]bool{}
	for _, m := range d.marginalia {
		if !d.has(m.part) {
			continue
		}
		var b block
		if err := d.story(m.part, &b); err != nil {
			return err
		}
		text := string(bytes.TrimSpace(b.text))
		if text == "" || seen[text] {
			continue
		}
		seen[text] = true
		to, label := &d.headers, "[header] "
		if m.footer {
			to, label = &d.footers, "[footer] "
		}
		to.text = append(append(append(to.text, label...), text...), '\n')
	}
	return nil
}

// noteRef is a note: the element it is in, such as "footnote", and its w:id.
type noteRef struct{ kind, id string }

// noteRefs is the notes referred to so far, in order.
type noteRefs struct {
	order []noteRef
	marks map[noteRef]string
	count map[string]int // by kind
}

// mark returns the mark of the note that an element refers to, numbering it if it is new.
func (n *noteRefs) mark(e element) string {
	ref := noteRef{strings.TrimSuffix(e.name, "Reference"), e.attr("id")}
	if mark, ok := n.marks[ref]; ok {
		return mark
	}
	if n.marks == nil {
		n.marks, n.count = map[noteRef]string{}, map[string]int{}
	}
	prefix := ""
	if ref.kind != "footnote" {
		prefix = ref.kind[:1]
	}
	n.count[ref.kind]++
	n.order = append(n.order, ref)
	n.marks[ref] = fmt.Sprintf("[^%s%d]", prefix, n.count[ref.kind])
	return n.marks[ref]
}

// readNotes reads the notes of a kind that were referred to and puts them in the order
// of their marks. A note may refer to one of a later kind.
func (d *docx) readNotes(kind, part string) error {
	if part == "" || d.refs.count[kind] == 0 {
		return nil
	}
	texts, err := d.noteTexts(kind, part)
	for _, ref := range d.refs.order {
		if text := texts[ref.id]; ref.kind == kind && len(text) > 0 {
			mark := d.refs.marks[ref]
			if !d.out.take(len(mark) + 3) {
				break
			}
			d.notes.line([]byte(mark+": "), text)
		}
	}
	return cmp.Or(err, d.out.err)
}

// noteTexts returns the texts of the notes in a part by id.
func (d *docx) noteTexts(kind, part string) (map[string][]byte, error) {
	texts := map[string][]byte{}
	var err error
	if d.rels, err = d.relations(part); err != nil {
		return texts, err
	}
	err = d.each(part, func(t *tokens, e element) error {
		id := e.attr("id")
		if _, wanted := d.refs.marks[noteRef{kind, id}]; !wanted || e.name != kind || texts[id] != nil {
			return nil
		}
		var b block
		d.fields = nil
		err := d.blocks(t, &b)
		b.flush()
		text := bytes.Clone(bytes.TrimSpace(b.text))
		if author := e.attr("author"); author != "" && d.out.take(len(author)+2) {
			text = append([]byte(author+": "), text...)
		}
		texts[id] = text
		return err
	})
	return texts, err
}

// assemble puts the parts of the text together.
func (d *docx) assemble() string {
	var all []byte
	for _, b := range []*block{&d.headers, &d.body, &d.footers, &d.notes} {
		b.flush()
		text := bytes.Trim(b.text, "\n")
		if len(text) == 0 {
			continue
		}
		if len(all) > 0 {
			all = append(all, "\n\n"...)
		}
		all = append(all, text...)
	}
	return trimmed(all)
}

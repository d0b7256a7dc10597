package document

import (
	"bytes"
	"io"
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
func DocxText(r io.ReaderAt, size int64) (string, error) {
	return DocxTextLimits(r, size, DefaultLimits())
}

// DocxTextLimits is [DocxText] with bounds of the caller's.
func DocxTextLimits(r io.ReaderAt, size int64, limits Limits) (string, error) {
	limits = limits.orDefault()
	a, err := openArchive(r, size, limits)
	if err != nil {
		return "", readError("docx", err)
	}
	d := &docx{a: a, out: &budget{left: limits.Text, max: limits.Text}}
	err = readError("docx", d.read())
	return d.assemble(), err
}

// docx is a Word document being read.
type docx struct {
	a         *archive
	out       *budget
	styles    styles
	numbering *numbering
	main      string
	rels      map[string]relation // of the part being read
	mainRels  map[string]relation

	body, headers, footers block
	notes                  block
	marginalia             []marginal
	refs                   noteRefs
	fields                 []field
	cells                  int // how many table cells deep
}

// read reads the whole document.
func (d *docx) read() error {
	var err error
	if d.main, err = d.a.mainPart("word/document.xml"); err != nil {
		return err
	}
	if d.mainRels, err = d.a.relations(d.main); err != nil {
		return err
	}
	if d.styles, err = readStyles(d.a, related(d.mainRels, "styles")); err != nil {
		return err
	}
	if d.numbering, err = readNumbering(d.a, related(d.mainRels, "numbering")); err != nil {
		return err
	}
	if err := d.story(d.main, d.mainRels, &d.body); err != nil {
		return err
	}
	if err := d.readMarginalia(); err != nil {
		return err
	}
	return d.readNotes()
}

// story reads a part that is one piece of text.
func (d *docx) story(part string, rels map[string]relation, to *block) error {
	t, err := d.a.open(part)
	if err != nil {
		return err
	}
	defer t.close()
	d.rels, d.fields = rels, nil
	if _, err := t.root(); err != nil {
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

// addMarginal notes a header or footer that a section refers to.
func (d *docx) addMarginal(e element) {
	rel := d.rels[e.attr("id")]
	m := marginal{part: rel.target, footer: e.name == "footerReference"}
	for _, known := range d.marginalia {
		if known == m {
			return
		}
	}
	if m.part != "" && !rel.external && len(d.marginalia) < maxMarginalia {
		d.marginalia = append(d.marginalia, m)
	}
}

// maxMarginalia bounds how many headers and footers are read.
const maxMarginalia = 200

// readMarginalia reads headers and footers, each distinct text once.
func (d *docx) readMarginalia() error {
	seen := map[string]bool{}
	for _, m := range d.marginalia {
		if !d.a.has(m.part) {
			continue
		}
		rels, err := d.a.relations(m.part)
		if err != nil {
			return err
		}
		var b block
		if err := d.story(m.part, rels, &b); err != nil {
			return err
		}
		text := bytes.TrimSpace(b.text)
		if len(text) == 0 || seen[string(text)] {
			continue
		}
		seen[string(text)] = true
		to, label := &d.headers, "[header] "
		if m.footer {
			to, label = &d.footers, "[footer] "
		}
		to.text = append(append(append(to.text, label...), text...), '\n')
	}
	return nil
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

// trimmed makes a string of text, without the line feeds at its end.
func trimmed(text []byte) string {
	return string(bytes.ToValidUTF8(bytes.TrimRight(text, "\n"), []byte("\uFFFD")))
}

package document

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"
)

var errEncrypted = errors.New("it is protected by a password")

// openDocumentText returns the text of an OpenDocument text (.odt), spreadsheet (.ods) or
// presentation (.odp):
//
//   - of a text and a presentation as [docxText] and [pptxText] do;
//   - of a spreadsheet as [xlsxRows] does, except that a formula is its last result.
//
// Text that was deleted while changes were tracked is left out.
func openDocumentText(a *archive) ([]byte, error) {
	o := &openDocument{archive: a, sheets: grid{budget: &a.budget}, hidden: map[string]bool{}, numbered: map[string]int{}}
	err := o.read()
	return o.assemble(), err
}

// openDocument is an OpenDocument file being read.
type openDocument struct {
	*archive
	sheets   grid
	hidden   map[string]bool // styles of sheets and slides that are not shown
	numbered map[string]int  // levels of list styles that are numbers, as bits

	body                []byte
	margins             margins
	notes               [][]byte
	footnotes, comments int
	slides              int
	lists               []openList // that the text being read is in
	cells               int        // how many table cells deep
}

// openList is a list, and how many items of it were begun.
type openList struct {
	style string
	items int
	label bool // the next paragraph begins an item
}

func (o *openDocument) read() error {
	const content = "content.xml"
	if !o.has(content) {
		return lacking(content)
	}
	encrypted := false
	err := o.elements("META-INF/manifest.xml", func(e element) { encrypted = encrypted || e.name == "encryption-data" })
	if err != nil || encrypted {
		return cmp.Or(err, errEncrypted)
	}
	if err := o.each("styles.xml", o.style); err != nil {
		return err
	}
	return o.each(content, func(t *tokens, e element) error {
		if e.name != "body" {
			return o.style(t, e)
		}
		return t.children(func(e element) error {
			if e.name == "spreadsheet" {
				o.allowRows()
				return t.children(func(e element) error {
					if e.name != "table" {
						return nil
					}
					return o.sheet(t, e)
				})
			}
			return o.blocks(t, &o.body)
		})
	})
}

// style reads what of styles bears on the text: which sheets and slides are hidden, which
// lists are numbered, headers and footers.
func (o *openDocument) style(t *tokens, e element) error {
	name, level := "", 0
	var see func(e element) error
	see = func(e element) error {
		switch e.name {
		case "style", "list-style":
			name = e.attr("name")
		case "table-properties":
			o.hidden[name] = o.hidden[name] || e.attr("display") == "false"
		case "drawing-page-properties":
			o.hidden[name] = o.hidden[name] || e.attr("visibility") == "hidden"
		case "list-level-style-number":
			if level = atoi(e.attr("level")); level > 0 && level <= maxLevel+1 && e.attr("num-format") != "" {
				o.numbered[name] |= 1 << level
			}
		case "header", "footer":
			var text []byte
			err := o.blocks(t, &text)
			o.margins.add(&o.budget, e.name == "footer", text)
			return cmp.Or(err, o.full)
		}
		return t.children(see)
	}
	return see(e)
}

// blocks reads the paragraphs, lists, tables and slides inside the element just begun.
func (o *openDocument) blocks(t *tokens, to *[]byte) error {
	return t.children(func(e element) error { return cmp.Or(o.block(t, e, to), o.full) })
}

// block reads one of them. One it does not know is taken for what only groups others.
func (o *openDocument) block(t *tokens, e element, to *[]byte) error {
	switch e.name {
	case "tracked-changes", "sequence-decls", "variable-decls", "user-field-decls", "forms", "settings", "index-title-template",
		"table-of-content-source", "object", "object-ole", "title":
		return nil
	case "p", "h":
		return o.paragraph(t, e, to)
	case "list":
		return o.list(t, e, to)
	case "table":
		return o.table(t, to)
	case "page":
		o.slides++
		o.addSlide(to, o.slides, o.hidden[e.attr("style-name")])
		return o.blocks(t, to)
	case "notes":
		return o.addNotes(to, func() error { return o.blocks(t, to) })
	case "frame", "custom-shape":
		switch e.attr("class") { // of a placeholder in a presentation
		case "page-number", "date-time", "footer", "header":
			return nil
		}
	case "desc":
		text, err := t.text(nil)
		if alt := imageText(text); alt != "" {
			o.add(to, alt+"\n")
		}
		return err
	}
	return o.blocks(t, to)
}

// list reads a list. One without a style has that of the list it is in.
func (o *openDocument) list(t *tokens, e element, to *[]byte) error {
	l := openList{style: e.attr("style-name")}
	if n := len(o.lists); l.style == "" && n > 0 {
		l.style = o.lists[n-1].style
	}
	o.lists = append(o.lists, l)
	at := len(o.lists) - 1
	defer func() { o.lists = o.lists[:at] }()
	return t.children(func(e element) error {
		if e.name == "list-item" {
			if o.lists[at].label = true; e.attr("start-value") != "" {
				o.lists[at].items = atoi(e.attr("start-value")) - 1
			}
			o.lists[at].items++
		}
		return cmp.Or(o.blocks(t, to), o.full)
	})
}

// prefix returns the marks of a heading or of an item of a list.
func (o *openDocument) prefix(e element) string {
	if o.cells > 0 {
		return ""
	}
	label := ""
	if at := len(o.lists) - 1; at >= 0 {
		label = strings.Repeat("  ", min(at, maxLevel))
		l := &o.lists[at]
		switch {
		case !l.label:
		case o.numbered[l.style]&(1<<min(at+1, maxLevel+1)) != 0:
			label += fmt.Sprintf("%d. ", l.items)
		default:
			label += "- "
		}
		l.label = false
	}
	if e.name == "h" {
		label = strings.Repeat("#", min(max(atoi(e.attr("outline-level")), 1), 9)) + " " + label
	}
	return label
}

// openParagraph is a paragraph being read.
type openParagraph struct {
	text  []byte
	boxes []byte // of frames anchored in it
}

func (o *openDocument) paragraph(t *tokens, e element, to *[]byte) error {
	var p openParagraph
	err := o.inlines(t, &p)
	if len(p.text) > 0 {
		if prefix := o.prefix(e); o.take(len(prefix)) {
			*to = append(*to, prefix...)
		}
	}
	if (len(p.text) > 0 || o.slides == 0) && o.take(1) {
		*to = append(append(*to, p.text...), '\n')
	}
	*to = append(*to, p.boxes...)
	return err
}

// inlines reads the text and the elements inside a paragraph, or inside one of these.
func (o *openDocument) inlines(t *tokens, p *openParagraph) error {
	return t.content(func(s []byte) { o.write(p, s) }, func(e element) error { return cmp.Or(o.inline(t, e, p), o.full) })
}

// write appends text, whose white space is a single space.
func (o *openDocument) write(p *openParagraph, s []byte) {
	if !o.take(len(s)) {
		return
	}
	for _, c := range s {
		if c == '\t' || c == '\n' || c == '\r' {
			c = ' '
		}
		if n := len(p.text); c != ' ' || n > 0 && p.text[n-1] != ' ' {
			p.text = append(p.text, c)
		}
	}
}

const maxSpaces = 1000 // of one element

func (o *openDocument) inline(t *tokens, e element, p *openParagraph) error {
	from := len(p.text)
	switch e.name {
	case "s":
		o.add(&p.text, strings.Repeat(" ", min(max(atoi(e.attr("c")), 1), maxSpaces)))
	case "tab":
		o.add(&p.text, "\t")
	case "line-break":
		o.add(&p.text, "\n")
	case "a":
		err := o.inlines(t, p)
		if url := e.attr("href"); strings.Contains(url, ":") {
			o.add(&p.text, linkSuffix(string(p.text[min(from, len(p.text)):]), url))
		}
		return err
	case "note":
		o.footnotes++
		return o.note(t, p, fmt.Sprintf("[^%d]", o.footnotes))
	case "annotation":
		o.comments++
		return o.note(t, p, fmt.Sprintf("[^c%d]", o.comments))
	case "ruby-text", "deletion":
	case "frame", "custom-shape", "rect", "ellipse", "line", "g", "text-box":
		lists := o.lists
		o.lists = nil
		err := o.block(t, e, &p.boxes)
		o.lists = lists
		return err
	default:
		return o.inlines(t, p)
	}
	return nil
}

// note reads a note or comment, and marks its place.
func (o *openDocument) note(t *tokens, p *openParagraph, mark string) error {
	o.add(&p.text, mark)
	var text []byte
	author, lists, cells := "", o.lists, o.cells
	o.lists, o.cells = nil, 0
	defer func() { o.lists, o.cells = lists, cells }()
	err := t.children(func(e element) error {
		switch e.name {
		case "note-citation", "date", "date-string", "creator-initials", "sender-initials":
			return nil
		case "creator":
			name, err := t.text(nil)
			author = string(appendFlat(nil, name))
			return err
		case "note-body":
			return o.blocks(t, &text)
		}
		return o.block(t, e, &text)
	})
	if note := o.archive.note(mark, author, text); note != nil {
		o.notes = append(o.notes, note)
	}
	return cmp.Or(err, o.full)
}

// table reads a table of a text or a slide, a line for each row.
func (o *openDocument) table(t *tokens, to *[]byte) error {
	return t.children(func(e element) error {
		switch e.name {
		case "table-row":
			var row tableRow
			err := o.cellsOf(t, func(e element, text []byte) error {
				o.begin(&row, max(atoi(e.attr("number-columns-repeated")), 1))
				row.line = appendFlat(row.line, text)
				return o.full
			})
			*to = append(append(*to, row.line...), '\n')
			return cmp.Or(err, o.full)
		case "title", "desc", "shapes":
			return nil
		}
		return o.table(t, to)
	})
}

// cellsOf calls fn with the cells of a row, those that others cover among them.
func (o *openDocument) cellsOf(t *tokens, fn func(e element, text []byte) error) error {
	return t.children(func(e element) error {
		if e.name != "table-cell" && e.name != "covered-table-cell" {
			return nil
		}
		var text []byte
		o.cells++
		err := o.blocks(t, &text)
		o.cells--
		return cmp.Or(err, fn(e, text))
	})
}

// sheet reads a sheet of a spreadsheet.
func (o *openDocument) sheet(t *tokens, e element) error {
	if err := o.sheets.begin(e.attr("name"), o.hidden[e.attr("style-name")]); err != nil {
		return err
	}
	var rows func(e element) error
	rows = func(e element) error {
		switch e.name {
		case "table-row":
			return o.sheetRow(t, e)
		case "table-header-rows", "table-row-group", "table-rows":
			return t.children(rows)
		}
		return nil
	}
	return t.children(rows)
}

// sheetRow reads a row, which may stand for several.
func (o *openDocument) sheetRow(t *tokens, e element) error {
	g := &o.sheets
	repeated := max(atoi(e.attr("number-rows-repeated")), 1)
	g.row = min(g.row+1, maxRow)
	at := 0
	err := o.cellsOf(t, func(e element, text []byte) error {
		o.text += len(text) // which put draws again
		times := max(atoi(e.attr("number-columns-repeated")), 1)
		value := cellValue(e, text)
		if len(value) == 0 {
			at = min(at+times, maxColumn)
			return nil
		}
		for range min(times, maxColumn-at) {
			at++
			if _, err := g.put(at, value); err != nil {
				return err
			}
		}
		return nil
	})
	if g.column == 0 {
		g.row = min(g.row+repeated-1, maxRow)
		return err
	}
	line, column := bytes.Clone(g.line), g.column
	for {
		if err := cmp.Or(err, g.endRow()); err != nil {
			return err
		}
		if repeated--; repeated == 0 || g.row == maxRow || !o.take(len(line)) {
			return o.full
		}
		g.row++
		g.line, g.column = append(g.line, line...), column
	}
}

// cellValue returns what is in a cell of a sheet, numbers and dates as they are stored.
func cellValue(e element, text []byte) []byte {
	switch e.attr("value-type") {
	case "float", "percentage", "currency":
		return []byte(tidy(e.attr("value")))
	case "date":
		return []byte(strings.Replace(e.attr("date-value"), "T", " ", 1))
	case "time":
		return []byte(strings.ToLower(strings.NewReplacer("PT", "", "H", ":", "M", ":", "S", "").Replace(e.attr("time-value"))))
	case "boolean":
		return []byte(strings.ToUpper(e.attr("boolean-value")))
	}
	return bytes.TrimRight(text, "\n")
}

// assemble puts the parts of the text together.
func (o *openDocument) assemble() []byte {
	if len(o.sheets.rows) > 0 {
		o.margins = margins{} // of printed sheets
	}
	return joined(o.margins.headers, o.body, o.sheets.rows, o.margins.footers, bytes.Join(o.notes, []byte("\n")))
}

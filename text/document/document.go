// Package document turns files that are not plain text into text: Word documents,
// Excel workbooks and PowerPoint presentations (the Office Open XML formats of ECMA-376),
// OpenDocument files and EPUB books. It tells images and other binary files by their
// first bytes.
//
// Nothing here opens a file or a network address: a caller hands over an
// [io.ReaderAt] with its size, and links are text. A document comes from
// strangers and is a zip archive, so everything it can make grow has a bound
// (see [Limits]). A caller may stop a long conversion by letting the reader
// return an error.
package document

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Limits bounds what a document may cost. A field that is 0 means the default.
type Limits struct {
	File     int64 // size of the file itself, in bytes
	Entries  int   // files in its archive
	Unpacked int64 // bytes unpacked from the archive in all
	Depth    int   // nesting of XML elements
	Text     int   // bytes of text made of it
}

// orDefault returns bounds that ordinary documents stay far below, and that
// keep a hostile one to a few seconds and some 200 MiB, except those that are set.
func (l Limits) orDefault() Limits {
	return Limits{
		File: cmp.Or(l.File, 256<<20), Entries: cmp.Or(l.Entries, 10_000), Unpacked: cmp.Or(l.Unpacked, 64<<20),
		Depth: cmp.Or(l.Depth, 256), Text: cmp.Or(l.Text, 16<<20),
	}
}

// LimitError says which of the [Limits] a document went over.
type LimitError struct {
	What string // what there is too much of, such as "bytes unpacked"
	Max  int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("it goes over the limit of %d %s", e.Max, e.What)
}

// FormatError says that a file is not the document it was taken for.
type FormatError struct {
	Format string // such as "docx"
	Err    error  // what was wrong
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("not a readable .%s file: %v", e.Format, e.Err)
}

// Unwrap returns what was wrong.
func (e *FormatError) Unwrap() error { return e.Err }

// Text returns the text of a document whose kind is Docx, Xlsx, Pptx, OpenDocument or Epub. The error is a
// [*FormatError] if r is not such a document or is damaged, or a [*LimitError]; it comes with the text up to there.
func Text(k Kind, r io.ReaderAt, size int64, limits Limits) (string, error) {
	var text []byte
	a, err := openArchive(r, size, limits)
	format, read := reader(k)
	if err == nil {
		text, err = read(a)
		err = cmp.Or(err, a.missed)
	}
	return trimmed(text), readError(format, err)
}

// reader returns what reads documents of a kind, and the extension of those.
func reader(k Kind) (format string, read func(a *archive) ([]byte, error)) {
	switch k {
	case Docx:
		return "docx", docxText
	case Xlsx:
		return "xlsx", xlsxRows
	case Pptx:
		return "pptx", pptxText
	case Epub:
		return "epub", epubText
	}
	return "odt, .ods or .odp", openDocumentText
}

// readError makes what went wrong a FormatError, unless it is a limit.
func readError(format string, err error) error {
	if _, limit := errors.AsType[*LimitError](err); limit || err == nil {
		return err
	}
	return &FormatError{Format: format, Err: err}
}

// appendFlat appends text on one line: each run of white space in it becomes
// one space, and none is left at its ends.
func appendFlat(dst, text []byte) []byte {
	words := bytes.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' })
	return append(dst, bytes.Join(words, []byte{' '})...)
}

// joined returns the parts of a text, with an empty line between those that are not empty.
func joined(parts ...[]byte) []byte {
	for i, part := range parts {
		parts[i] = bytes.Trim(part, "\n")
	}
	return bytes.Join(slices.DeleteFunc(parts, func(part []byte) bool { return len(part) == 0 }), []byte("\n\n"))
}

// trimmed makes a string of text, without the line feeds at its end.
func trimmed(text []byte) string {
	return string(bytes.ToValidUTF8(bytes.TrimRight(text, "\n"), []byte("\uFFFD")))
}

// What texts and presentations have in common, whatever their format.

// add appends text, if there may be so much.
func (b *budget) add(to *[]byte, s string) {
	if b.take(len(s)) {
		*to = append(*to, s...)
	}
}

// addSlide appends the title of a slide.
func (b *budget) addSlide(to *[]byte, number int, hidden bool) {
	title := fmt.Sprintf("## Slide %d\n", number)
	if hidden {
		title = fmt.Sprintf("## Slide %d (hidden)\n", number)
	}
	if number > 1 {
		title = "\n" + title
	}
	b.add(to, title)
}

// addNotes appends the speaker's notes that read appends, below a line of their own, if there are any.
func (b *budget) addNotes(to *[]byte, read func() error) error {
	from := len(*to)
	b.add(to, "### Notes\n")
	below := len(*to)
	err := read()
	if len(*to) == below {
		*to = (*to)[:from]
	}
	return err
}

// imageText returns what stands for an image with a description, or "" for one without.
func imageText(description []byte) string {
	if description = appendFlat(nil, description); len(description) == 0 {
		return ""
	}
	return "[image: " + string(description) + "]"
}

// linkSuffix returns what follows the text of a link: its address, unless the text says it.
func linkSuffix(text, url string) string {
	switch {
	case url == "" || text == url || "mailto:"+text == url || text+"/" == url:
		return ""
	case text == "":
		return url
	}
	return " (" + url + ")"
}

// note returns what a note or comment says, behind its mark and its author; nil if that is nothing or too much.
func (b *budget) note(mark, author string, text []byte) []byte {
	label := mark + ": "
	if author != "" {
		label += author + ": "
	}
	if text = bytes.TrimSpace(text); len(text) == 0 || !b.take(len(label)+1) {
		return nil
	}
	return append([]byte(label), text...)
}

// margins are the headers and footers of a document, each distinct text once.
type margins struct {
	headers, footers []byte
	seen             map[string]bool
}

func (m *margins) add(b *budget, footer bool, text []byte) {
	label, to := "[header] ", &m.headers
	if footer {
		label, to = "[footer] ", &m.footers
	}
	line := label + string(bytes.TrimSpace(text)) + "\n"
	if m.seen[line] || len(line) == len(label)+1 || !b.take(len(label)+1) {
		return
	}
	if m.seen == nil {
		m.seen = map[string]bool{}
	}
	m.seen[line] = true
	*to = append(*to, line...)
}

// maxSpan is the most columns a table of Word can have.
const maxSpan = 63

// tableRow is a row of a table being read.
type tableRow struct {
	line    []byte
	cells   int
	deleted bool
}

// begin begins so many cells of a row.
func (b *budget) begin(r *tableRow, cells int) {
	for range min(cells, maxSpan) {
		if r.cells > 0 && b.take(1) {
			r.line = append(r.line, '\t')
		}
		r.cells++
	}
}

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

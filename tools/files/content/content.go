// Package content makes text or an image of what is in a file, whatever kind of file it is:
// for tools that open files, and for those that have them from elsewhere.
package content

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/text/document"
	"github.com/toolserver/toolserver/text/html"
	"github.com/toolserver/toolserver/text/mail"
	"github.com/toolserver/toolserver/text/picture"
	"github.com/toolserver/toolserver/text/textfile"
)

// Reader reads files.
type Reader struct {
	filters  *sandbox.Filters
	decoding chan struct{} // for one image at a time, because they are large
}

// NewReader returns a reader that has PDFs read by filters, whose owner declares [Programs].
func NewReader(filters *sandbox.Filters) *Reader {
	return &Reader{filters: filters, decoding: make(chan struct{}, 1)}
}

// Source is a file.
type Source struct {
	Name    string // as messages have it
	Type    document.Type
	R       io.ReaderAt
	Size    int64
	File    *os.File         // the same for programs; nil if it has to be made of R
	Charset textfile.Charset // of text
	// Runs reports whether a command of bash with the file can be suggested; nil where there is no such file.
	Runs func(command string) bool
}

// FromBytes returns the source that has data: of the kind that the name, the media type and the first bytes
// tell. It is document.Other for text, and document.Binary for what is not read.
func FromBytes(name, mime string, data []byte) Source {
	return Source{Name: name, Type: document.Detect(name, mime, data), R: bytes.NewReader(data), Size: int64(len(data))}
}

// unshown is the failure of a file that cannot be shown.
func (s Source) unshown(errorType, why string) *Failure {
	if s.Runs == nil {
		s.Runs = func(string) bool { return false }
	}
	return &Failure{errorType, s.Name + " " + why + ": " + s.Type.Advice(s.Name, s.Runs), "Do what the message says, or read another file."}
}

// Content is what people see of a file.
type Content struct {
	Text    string
	Note    string // the clause that says why Text is not all of it; "" if it is
	Images  []document.NotebookImage
	Picture *picture.Picture // of an image
}

// Failure says why there is nothing to show of a file, with an error type and what to do.
type Failure struct{ Type, Message, Hint string }

func (f *Failure) Error() string { return f.Message }

// Read returns what is in a file. When the file is damaged or too large from some place on, or the
// time of the call ends, that is what was read up to there, with a note. The error is a [*Failure],
// of textfile or that of the source or ctx.
func (r *Reader) Read(ctx context.Context, s Source) (Content, error) {
	switch s.Type.Kind {
	case document.PDF:
		return r.wholePDF(ctx, s)
	case document.Image:
		p, err := r.Picture(ctx, s)
		return Content{Picture: &p}, err
	}
	text, images, err := convert(ctx, s)
	c := Content{Text: text, Images: images}
	limit, tooMuch := errors.AsType[*document.LimitError](err)
	format, damaged := errors.AsType[*document.FormatError](err)
	switch {
	case err == nil:
	case text != "" && ctx.Err() != nil:
		c.Note = "it was read up to there when the time of the call ended"
	case ctx.Err() != nil:
		return Content{}, ctx.Err()
	case text != "" && tooMuch:
		c.Note = limit.Error()
	case text != "" && damaged:
		c.Note = "the rest of it cannot be read: " + format.Err.Error()
	case tooMuch:
		return Content{}, &Failure{"too_large", s.Name + " cannot be read: " + limit.Error(), "Make the document smaller, or have it converted to text."}
	case damaged:
		return Content{}, &Failure{"is_binary", s.Name + " is " + format.Error(), "If it is another kind of file, give it the extension of that."}
	default:
		return Content{}, err
	}
	return c, nil
}

// Bounds of what is read of a file of text to make other text of it. Mail has attachments.
const (
	maxSource = 16 << 20
	maxMail   = 64 << 20
)

// convert returns the text of a document, as much as there is when there is an error.
func convert(ctx context.Context, s Source) (text string, images []document.NotebookImage, err error) {
	r := Until{ctx, s.R}
	switch s.Type.Kind {
	case document.Notebook:
		return document.NotebookText(r, s.Size, document.Limits{})
	case document.Mail, document.HTML, document.CSV:
		text, err = rendered(ctx, s, r)
	default:
		text, err = document.Text(s.Type.Kind, r, s.Size, document.Limits{})
	}
	return text, nil, err
}

// rendered returns what the source in a file says: a message, HTML or the rows of a table.
func rendered(ctx context.Context, s Source, r io.ReaderAt) (string, error) {
	most := maxSource
	if s.Type.Kind == document.Mail {
		most = maxMail
	}
	raw, err := io.ReadAll(io.NewSectionReader(r, 0, int64(most)+1))
	if err != nil {
		return "", err
	}
	var cut error
	if len(raw) > most {
		raw = raw[:bytes.LastIndexByte(raw[:most], '\n')+1]
		cut = &document.LimitError{What: "bytes in a file that is made text", Max: int64(most)}
	}
	if s.Type.Kind == document.Mail {
		text, err := mail.Text(ctx, raw)
		return text, cmp.Or(err, cut)
	}
	src, _, err := textfile.Decode(raw, s.Charset)
	if err != nil {
		return "", err
	}
	if s.Type.Kind == document.CSV {
		text, err := document.CSVRows(string(src), document.Limits{})
		return text, cmp.Or(err, cut)
	}
	return html.Text(string(src), html.Options{SkipMarked: true}), cut
}

// Until is a file whose reading ends with a context.
type Until struct {
	context.Context
	R io.ReaderAt
}

// ReadAt implements [io.ReaderAt].
func (u Until) ReadAt(p []byte, off int64) (int, error) {
	if err := u.Err(); err != nil {
		return 0, err
	}
	return u.R.ReadAt(p, off)
}

// Picture returns an image, fit for models.
func (r *Reader) Picture(ctx context.Context, s Source) (picture.Picture, error) {
	select {
	case r.decoding <- struct{}{}:
		defer func() { <-r.decoding }()
	case <-ctx.Done():
		return picture.Picture{}, ctx.Err()
	}
	p, err := picture.Fit(ctx, Until{ctx, s.R}, s.Size, s.Type.MIME)
	if ctx.Err() != nil {
		return p, ctx.Err()
	}
	if format, ok := errors.AsType[*picture.FormatError](err); ok {
		return p, s.unshown("invalid_image", format.Error())
	}
	if limit, ok := errors.AsType[*picture.LimitError](err); ok {
		return p, s.unshown("too_large", fmt.Sprintf("is an image (%s) that cannot be shown: %v", s.Type.MIME, limit))
	}
	return p, err
}

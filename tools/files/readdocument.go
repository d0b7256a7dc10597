package files

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"toolserver/domain"
	"toolserver/tools/files/document"
	"toolserver/tools/files/picture"
	"toolserver/tools/files/textfile"
	"toolserver/tools/html"
	"toolserver/tools/mail"
)

// converter returns what makes text of a kind of document, or nil.
func converter(k document.Kind) func(r io.ReaderAt, size int64, limits document.Limits) (string, error) {
	switch k {
	case document.Docx:
		return document.DocxText
	case document.Xlsx:
		return document.XlsxRows
	case document.Pptx:
		return document.PptxText
	case document.OpenDocument:
		return document.OpenDocumentText
	case document.Epub:
		return document.EpubText
	}
	return nil
}

// document returns the text of a document.
func (c *reading) document(ctx context.Context, t document.Type) (domain.ToolResult, error) {
	text, err := converter(t.Kind)(ctxReaderAt{ctx, c.file}, c.file.Info.Size, document.Limits{})
	return c.converted(ctx, t, text, err)
}

// converted returns a window of what was made of a document. err is that of its converter.
func (c *reading) converted(ctx context.Context, t document.Type, text string, err error) (domain.ToolResult, error) {
	note := ""
	switch limit, tooMuch := errors.AsType[*document.LimitError](err); {
	case ctx.Err() != nil:
		return domain.ToolResult{}, ctx.Err()
	case tooMuch && text == "":
		return domain.Failure("too_large", c.path+" cannot be read: "+limit.Error(), "Make the document smaller, or have it converted to text."), nil
	case tooMuch:
		note = "The text ends here because " + limit.Error() + "."
	case err != nil:
		return domain.Failure("is_binary", c.path+" is "+err.Error(), "If it is another kind of file, give it the extension of that."), nil
	}
	src := source{
		r: strings.NewReader(text), size: int64(len(text)),
		fileSize: c.file.Info.Size, format: t.Format, note: note,
	}
	return c.window(ctx, src)
}

// Bounds of what is read of a file of text to make other text of it. Mail has attachments.
const (
	maxSource = 16 << 20
	maxMail   = 64 << 20
)

// rendered returns what the source in a file says: a message, HTML or the rows of a table.
func (c *reading) rendered(ctx context.Context, t document.Type) (domain.ToolResult, error) {
	most := maxSource
	if t.Kind == document.Mail {
		most = maxMail
	}
	raw, err := io.ReadAll(io.NewSectionReader(ctxReaderAt{ctx, c.file}, 0, int64(most)+1))
	if err != nil {
		return c.unreadable(ctx, err)
	}
	var cut error
	if len(raw) > most {
		raw = raw[:bytes.LastIndexByte(raw[:most], '\n')+1]
		cut = &document.LimitError{What: "bytes in a file that is made text", Max: int64(most)}
	}
	if t.Kind == document.Mail {
		text, err := mail.Text(ctx, raw)
		return c.converted(ctx, t, text, cmp.Or(err, cut))
	}
	src, _, err := textfile.Decode(raw, c.cs)
	if err != nil {
		return c.unreadable(ctx, err)
	}
	var text string
	if t.Kind == document.CSV {
		text, err = document.CSVRows(string(src), document.Limits{})
	} else {
		text = html.Text(string(src), html.Options{SkipMarked: true})
	}
	return c.converted(ctx, t, text, cmp.Or(err, cut))
}

// Bounds of the images of a notebook in one answer.
const (
	maxShown      = 8
	maxShownBytes = 8 << 20
)

// notebook returns a window of a notebook, with the images in it.
func (c *reading) notebook(ctx context.Context, t document.Type) (domain.ToolResult, error) {
	text, images, err := document.NotebookText(ctxReaderAt{ctx, c.file}, c.file.Info.Size, document.Limits{})
	res, err := c.converted(ctx, t, text, err)
	meta, ok := res.Meta.(*readMeta)
	if err != nil || !ok {
		return res, err
	}
	if err := c.beginDecoding(ctx); err != nil {
		return domain.ToolResult{}, err
	}
	defer c.endDecoding()
	left, size := 0, 0
	for i, image := range images {
		if image.Data == nil || image.Line < meta.StartLine || image.Line > meta.EndLine {
			continue
		}
		if len(res.Content) > maxShown || size > maxShownBytes {
			left++
			continue
		}
		p, err := picture.Fit(ctx, bytes.NewReader(image.Data), int64(len(image.Data)), image.MIME)
		if ctx.Err() != nil {
			return domain.ToolResult{}, ctx.Err()
		}
		if err != nil {
			res.Content = append(res.Content, domain.Content{Type: domain.TextContent, Text: fmt.Sprintf("[image %d cannot be shown: it %v]", i+1, err)})
			continue
		}
		size += len(p.Data)
		res.Content = append(res.Content, domain.Content{Type: domain.ImageContent, Data: p.Data, MIMEType: p.MIME})
	}
	if left > 0 {
		res.Content = append(res.Content, domain.Content{Type: domain.TextContent, Text: fmt.Sprintf("[%d more images: read fewer lines to see them]", left)})
	}
	return res, nil
}

// beginDecoding waits for a turn to decode an image, which is large, so there is one at a time.
func (c *reading) beginDecoding(ctx context.Context) error {
	select {
	case c.decoding <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *reading) endDecoding() { <-c.decoding }

// imageMeta is the _meta of an image.
type imageMeta struct {
	Path      string `json:"path"`
	SizeBytes int64  `json:"size_bytes"`
	MIMEType  string `json:"mime_type"` // of the file
	Width     int    `json:"width"`     // in pixels, as Height
	Height    int    `json:"height"`
	Scaled    bool   `json:"scaled"` // the image is a copy that models can be shown
}

func (c *reading) image(ctx context.Context, t document.Type) (domain.ToolResult, error) {
	if err := c.beginDecoding(ctx); err != nil {
		return domain.ToolResult{}, err
	}
	defer c.endDecoding()
	size := c.file.Info.Size
	p, err := picture.Fit(ctx, ctxReaderAt{ctx, c.file}, size, t.MIME)
	if format, ok := errors.AsType[*picture.FormatError](err); ok && ctx.Err() == nil {
		return domain.Failure("invalid_image", c.path+" "+format.Error(), "Read another file, or find out what it is with a command such as file."), nil
	}
	if limit, ok := errors.AsType[*picture.LimitError](err); ok {
		return domain.Failure("too_large", fmt.Sprintf("%s is an image (%s) that cannot be shown: %v", c.path, t.MIME, limit), "Make a smaller copy of it, and read that."), nil
	}
	if ctx.Err() != nil {
		return domain.ToolResult{}, ctx.Err()
	}
	if err != nil {
		return ioFailure(c.path, err), nil
	}
	text := fmt.Sprintf("%s: %s, %d x %d pixels, %d bytes", c.path, t.MIME, p.Width, p.Height, size)
	if p.Scaled(t.MIME) {
		text += fmt.Sprintf("; shown as %s with %d x %d pixels, because that is what models take", p.MIME, p.Shown[0], p.Shown[1])
	}
	return domain.ToolResult{
		Content: []domain.Content{
			{Type: domain.TextContent, Text: text},
			{Type: domain.ImageContent, Data: p.Data, MIMEType: p.MIME},
		},
		Meta: imageMeta{c.path, size, t.MIME, p.Width, p.Height, p.Scaled(t.MIME)},
	}, nil
}

package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"toolserver/domain"
	"toolserver/tools/files/document"
	"toolserver/tools/files/picture"
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
	select { // a decoded image is large, so there is one at a time
	case c.decoding <- struct{}{}:
		defer func() { <-c.decoding }()
	case <-ctx.Done():
		return domain.ToolResult{}, ctx.Err()
	}
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

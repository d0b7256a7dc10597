package files

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"toolserver/domain"
	"toolserver/tools/files/document"
)

// maxImage bounds an image block, in bytes.
const maxImage = 8 << 20

// document returns the text of a Word document or Excel workbook.
func (c *reading) document(ctx context.Context, t document.Type) (domain.ToolResult, error) {
	read, format := document.DocxText, "docx"
	if t.Kind == document.Xlsx {
		read, format = document.XlsxRows, "xlsx"
	}
	text, err := read(ctxReaderAt{ctx, c.file}, c.file.Info.Size, document.Limits{})
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
		fileSize: c.file.Info.Size, format: format, note: note,
	}
	return c.window(ctx, src)
}

// imageMeta is the _meta of an image.
type imageMeta struct {
	Path      string `json:"path"`
	SizeBytes int64  `json:"size_bytes"`
	MIMEType  string `json:"mime_type"`
}

func (c *reading) image(ctx context.Context, t document.Type) (domain.ToolResult, error) {
	size := c.file.Info.Size
	if size > maxImage {
		return domain.Failure("too_large",
			fmt.Sprintf("%s is an image (%s) of %d bytes; at most %d can be shown", c.path, t.MIME, size, maxImage),
			"Make a smaller copy of it, and read that."), nil
	}
	data := make([]byte, size)
	n, err := ctxReaderAt{ctx, c.file}.ReadAt(data, 0)
	if ctx.Err() != nil {
		return domain.ToolResult{}, ctx.Err()
	}
	if n < len(data) {
		return ioFailure(c.path, err), nil
	}
	return domain.ToolResult{
		Content: []domain.Content{
			{Type: domain.TextContent, Text: fmt.Sprintf("%s: %s, %d bytes", c.path, t.MIME, size)},
			{Type: domain.ImageContent, Data: data, MIMEType: t.MIME},
		},
		Meta: imageMeta{c.path, size, t.MIME},
	}, nil
}

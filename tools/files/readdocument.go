package files

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/text/document"
	"github.com/toolserver/toolserver/tools/files/content"
)

// document returns a window of what is made of a document, with the images in it.
func (c *reading) document(ctx context.Context, src content.Source) (domain.ToolResult, error) {
	made, err := c.read(ctx, src)
	if err != nil {
		return c.unreadable(ctx, err)
	}
	res, err := c.window(ctx, source{
		r: strings.NewReader(made.Text), size: int64(len(made.Text)),
		fileSize: c.file.Info.Size, format: src.Type.Format, note: made.Note,
	})
	if meta, ok := res.Meta.(*readMeta); ok && err == nil {
		return c.withImages(ctx, res, made.Images, meta)
	}
	return res, err
}

// unsettled is how young a file may be that changes again without another time of change.
const unsettled = 2 * time.Second

// read returns what is in a document, which is kept for the calls that read on.
func (c *reading) read(ctx context.Context, src content.Source) (content.Content, error) {
	owner, info := call.SessionOf(ctx).Principal.ID, c.file.Info
	of := fmt.Sprint(info.Real, info.ID, info.Size, info.ModTime.UnixNano(), src.Type.Kind, c.in.Encoding)
	if made, ok := c.made.Get(owner, of); ok {
		return made, nil
	}
	made, err := c.contents.Read(ctx, src)
	if err == nil && ctx.Err() == nil && len(made.Text) > c.options.MaxChars && time.Since(info.ModTime) > unsettled {
		size := len(made.Text)
		for _, image := range made.Images {
			size += len(image.Data)
		}
		c.made.Put(owner, of, made, int64(size))
	}
	return made, err
}

// Bounds of the images of a notebook in one answer.
const (
	maxShown      = 8
	maxShownBytes = 8 << 20
)

// withImages adds the images among the lines that were read.
func (c *reading) withImages(ctx context.Context, res domain.ToolResult, images []document.NotebookImage, meta *readMeta) (domain.ToolResult, error) {
	left, size := 0, 0
	for i, image := range images {
		if image.Data == nil || image.Line < meta.StartLine || image.Line > meta.EndLine {
			continue
		}
		if len(res.Content) > maxShown || size > maxShownBytes || ctx.Err() != nil {
			left++
			continue
		}
		p, err := c.contents.Picture(ctx, content.Source{
			Name: fmt.Sprintf("image %d", i+1), Type: document.Type{MIME: image.MIME}, R: bytes.NewReader(image.Data), Size: int64(len(image.Data)),
		})
		if err != nil {
			res.Content = append(res.Content, domain.Content{Type: domain.TextContent, Text: fmt.Sprintf("[%v]", err)})
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

// imageMeta is the _meta of an image.
type imageMeta struct {
	Path      string `json:"path"`
	SizeBytes int64  `json:"size_bytes"`
	MIMEType  string `json:"mime_type"` // of the file
	Width     int    `json:"width"`     // in pixels, as Height
	Height    int    `json:"height"`
	Scaled    bool   `json:"scaled"` // the image is a copy that models can be shown
}

func (c *reading) image(ctx context.Context, src content.Source) (domain.ToolResult, error) {
	p, err := c.contents.Picture(ctx, src)
	if err != nil {
		return c.unreadable(ctx, err)
	}
	size, t := src.Size, src.Type
	text := fmt.Sprintf("%s: %s, %d x %d pixels, %d bytes", c.path, t.MIME, p.Width, p.Height, size)
	if p.Scaled(t.MIME) {
		text += fmt.Sprintf("; shown as %s with %d x %d pixels, because that is what models take", p.MIME, p.Shown[0], p.Shown[1])
	}
	if p.More {
		text += "; the first of several images in the file"
	}
	return domain.ToolResult{
		Content: []domain.Content{
			{Type: domain.TextContent, Text: text},
			{Type: domain.ImageContent, Data: p.Data, MIMEType: p.MIME},
		},
		Meta: imageMeta{c.path, size, t.MIME, p.Width, p.Height, p.Scaled(t.MIME)},
	}, nil
}

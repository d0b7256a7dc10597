package web

import (
	"bytes"
	"context"
	"errors"
	"path"
	"strings"

	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/text/document"
	"github.com/toolserver/toolserver/tools/files/content"
)

// maxDocument is how many bytes a document or an image has.
const maxDocument = 32 << 20

// inside is what tells apart the documents that are zip archives, when neither their media type nor their name does.
var inside = []struct{ entry, extension string }{
	{"word/document.xml", ".docx"}, {"xl/workbook.xml", ".xlsx"}, {"ppt/presentation.xml", ".pptx"}, {"mimetypeapplication/epub+zip", ".epub"},
	{"opendocument.text", ".odt"}, {"opendocument.spreadsheet", ".ods"}, {"opendocument.presentation", ".odp"},
}

// document returns the body as a file that read_file would read, whatever its media type is. The kind of text is document.Other.
func (p *page) document(body []byte) content.Source {
	name := path.Base(p.url.Path)
	s := content.FromBytes(name, p.media, body)
	for i := 0; i < len(inside) && s.Type.MIME == "application/zip"; i++ {
		if bytes.Contains(body, []byte(inside[i].entry)) {
			s = content.FromBytes(name+inside[i].extension, "", body)
		}
	}
	if s.Type.Kind == document.Other && !isHTML(p.media) {
		if p.media == "message/rfc822" {
			name += ".eml"
		}
		if t := document.DetectText(name, body); t.Kind == document.Notebook || t.Kind == document.Mail {
			s.Type = t
		}
	}
	return s
}

// open reads a document. What the site calls text may be one.
func (p *page) open(ctx context.Context, contents *content.Reader, s content.Source) error {
	p.media = s.Type.MIME
	if s.Type.Kind == document.Binary {
		message := "Unsupported content type " + p.media + " (" + brief.Thousands(p.size) + " bytes)"
		return unsupported(message, "It is a "+s.Type.Name+". Look for another form of it, or ask the user to save the file.")
	}
	made, err := contents.Read(ctx, s)
	if told, ok := errors.AsType[*content.Failure](err); ok {
		return &httpcall.Failure{Type: told.Type, Message: told.Message, Hint: told.Hint}
	}
	if err != nil {
		return err
	}
	if len(made.Images) > 0 {
		made.Note = strings.TrimPrefix(made.Note+"; it has images, which are not shown", "; ")
	}
	p.opened = &made
	return nil
}

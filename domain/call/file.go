package call

import (
	"context"
	"io"
	"os"

	"github.com/toolserver/toolserver/domain"
)

// FilesExtension is the extension by which clients send and get files by address.
const FilesExtension = "io.modelcontextprotocol/files"

// A File is an argument that stands for a file of the client: its schema has the keyword x-mcp-file
// of the extension. The client describes the file there and sends the bytes to an address, so that they are in
// no message; see [Upload].
type File struct {
	ID       string  `json:"id" min:"1" max:"256"`
	Name     string  `json:"name,omitempty" max:"1024"`
	MIMEType string  `json:"mimeType" max:"256"`
	Size     int64   `json:"size" min:"0" max:"5368709120"`
	Digest   *Digest `json:"digest"`
}

// Digest is what the bytes of a [File] must add up to.
type Digest struct {
	Algorithm string `json:"algorithm" enum:"sha-256"`
	Value     string `json:"value" pattern:"^[A-Za-z0-9_-]{43}$"` // in base64url
}

// MaxSize returns how many bytes a File may have, for the schema.
func (File) MaxSize() int64 { return 5 << 30 }

// Transfers is a [Client] that may send and get files by address. See [Upload] and [Offer].
type Transfers interface {
	Transfers(part string) bool // upload or download
	Upload(File) (io.ReadCloser, error)
	Offer(content *os.File, about File) (meta map[string]any)
	Link(content *os.File, about File) (address string)
}

// Upload returns the content of the file of the client that an argument of the call that ctx belongs
// to stands for: as long as announced, and with the digest if there is one. It is to be closed. An error is to be returned as
// it is: it may be an [*InputRequired] that has the client send the file, after which the handler runs again
// from its start. Content comes once, and of one file of a call.
func Upload(ctx context.Context, f File) (io.ReadCloser, error) {
	t, err := transfers(ctx, "upload")
	if err != nil {
		return nil, err
	}
	return t.Upload(f)
}

// Offer has the client of the call that ctx belongs to get a file by address, if the result has the returned meta, or returns an address at
// which a person gets it, once. It takes over the file.
func Offer(ctx context.Context, content *os.File, about File) (meta map[string]any, address string, err error) {
	t, err := transfers(ctx, "download")
	if err == nil {
		return t.Offer(content, about), "", nil
	}
	if l, ok := callOf(ctx).client.(Transfers); ok {
		if address = l.Link(content, about); address != "" {
			return nil, address, nil
		}
	}
	content.Close()
	return nil, "", err
}

// UploadLink returns an address at which a person can put a file, once: then the call that ctx belongs to is made again, with that file as
// argument. It is for clients that send no files themselves.
func UploadLink(ctx context.Context) (address string, err error) {
	_, err = transfers(ctx, "upload")
	if err == nil {
		return "", &domain.Error{Code: domain.CodeInvalidParams, Message: "the argument file is missing", Hint: "Describe the file."}
	}
	if l, ok := callOf(ctx).client.(Transfers); ok {
		if address = l.Link(nil, File{}); address != "" {
			return address, nil
		}
	}
	return "", err
}

func transfers(ctx context.Context, part string) (Transfers, error) {
	if t, ok := callOf(ctx).client.(Transfers); ok && t.Transfers(part) {
		return t, nil
	}
	lacks := map[string]any{"extensions": map[string]any{FilesExtension: map[string]any{part: map[string]any{}}}}
	return nil, &domain.Error{
		Code:    domain.CodeMissingCapability,
		Message: "the client does not declare that it can " + part + " files by address: " + FilesExtension + " in protocol version 2026-07-28, over HTTP",
		Hint:    "Use tools that read and write content.", Data: map[string]any{"requiredCapabilities": lacks},
	}
}

package call

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/toolserver/toolserver/domain"
)

// A File is an argument that stands for a file of the client: its schema has the keyword x-mcp-file
// of the extension io.modelcontextprotocol/files. The client describes the file there and sends
// the bytes to an address, so that they are in no message; see [Upload].
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

// MaxFileSize is how many bytes a [File] may have.
const MaxFileSize = 5 << 30

// MaxSize returns [MaxFileSize], for the schema.
func (File) MaxSize() int64 { return MaxFileSize }

// A Download is an open file that the client is to get.
type Download struct {
	File           *os.File
	Path           string // for the log
	Name, MIMEType string
	Size           int64
	Modified       time.Time
}

// Offered says how the client gets a [Download].
type Offered struct {
	Meta any    // of the result, for a client that gets it by itself; nil for another one
	Link string // an address that is good for whoever knows it; "" with Meta
	Sent bool   // the client gets it now, through an address that an earlier call has offered
}

// Transfers is a [Client] that sends and gets files by address.
type Transfers interface {
	Upload(files []File) ([]io.ReadCloser, error)
	Download(d Download) (Offered, error)
}

// Upload returns the content of all files of the client that the arguments of the call that ctx belongs
// to stand for, in their order: as long as announced, and with the digest if there is one. Each is to be closed. An
// error is to be returned as it is: it may be an [*InputRequired] that has the client send them, after which the
// handler runs again from its start. Content comes once.
func Upload(ctx context.Context, files ...File) ([]io.ReadCloser, error) {
	if t, ok := callOf(ctx).client.(Transfers); ok {
		return t.Upload(files)
	}
	return nil, errNoTransfers()
}

// Offer has the client of the call that ctx belongs to get a file, which it takes over, by address. With
// the address, the call runs once more.
func Offer(ctx context.Context, d Download) (Offered, error) {
	if t, ok := callOf(ctx).client.(Transfers); ok {
		return t.Download(d)
	}
	d.File.Close()
	return Offered{}, errNoTransfers()
}

func errNoTransfers() error {
	return domain.Errorf(domain.CodeExecutionFailed, "files are sent by address over HTTP only, and this client is not connected so")
}

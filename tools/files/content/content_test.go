package content_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"io"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/text/document"
	"github.com/toolserver/toolserver/tools/files/content"
)

// reader returns one for which no filter is installed.
func reader() *content.Reader { return content.NewReader(sandbox.Capabilities{}.Filters()) }

// docx returns a Word document with many paragraphs.
func docx(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.CreateHeader(&zip.FileHeader{Name: "word/document.xml"}) // not compressed
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, `<w:document><w:body>`+strings.Repeat(`<w:p><w:r><w:t>words</w:t></w:r></w:p>`, 10_000)+`</w:body></w:document>`); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestFromBytes(t *testing.T) {
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	const word = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	for _, tc := range []struct {
		name, mime string
		data       []byte
		kind       document.Kind
		text       string
	}{
		{"download", word, docx(t), document.Docx, "words\nwords\n"},
		{"a.docx", "application/octet-stream", docx(t), document.Docx, "words\nwords\n"},
		{"download", "image/jpeg", picture.Bytes(), document.Image, ""},
	} {
		src := content.FromBytes(tc.name, tc.mime, tc.data)
		made, err := reader().Read(t.Context(), src)
		if src.Type.Kind != tc.kind || err != nil || !strings.HasPrefix(made.Text, tc.text) || (made.Picture != nil) != (tc.text == "") {
			t.Errorf("%s %s: %+v, %.50q, %v", tc.name, tc.mime, src.Type, made.Text, err)
		}
	}
	for _, tc := range []struct{ data, want string }{
		{"PK\x03\x04", "not a readable .docx file"}, {"\x89PNG\r\n\x1a\n", "is not a whole image/png image: unexpected EOF: have it saved as .png or .jpg"},
	} {
		_, err := reader().Read(t.Context(), content.FromBytes("x", word, []byte(tc.data)))
		if failure, ok := errors.AsType[*content.Failure](err); !ok || !strings.Contains(failure.Message, tc.want) || strings.Contains(failure.Message, "bash") {
			t.Errorf("%q: %v, want %q", tc.data, err, tc.want)
		}
	}
}

// ending is a file whose reader's time ends when that is at a place.
type ending struct {
	io.ReaderAt
	at  int64
	end context.CancelFunc
}

func (e ending) ReadAt(p []byte, off int64) (int, error) {
	if off > e.at && off < 2*e.at { // not the directory at the end
		e.end()
	}
	return e.ReaderAt.ReadAt(p, off)
}

// When its time ends, what was read of a document is the answer.
func TestTimeEnds(t *testing.T) {
	data := docx(t)
	ctx, cancel := context.WithCancel(t.Context())
	src := content.FromBytes("a.docx", "", data)
	src.R = ending{src.R, int64(len(data) / 3), cancel}
	made, err := reader().Read(ctx, src)
	if n := strings.Count(made.Text, "words"); err != nil || n == 0 || n >= 10_000 || !strings.Contains(made.Note, "the time of the call ended") {
		t.Errorf("%d words, %q, %v", n, made.Note, err)
	}
	if made, err := reader().Read(ctx, content.FromBytes("a.docx", "", data)); !errors.Is(err, context.Canceled) || made.Text != "" {
		t.Errorf("%.50q, %v", made.Text, err)
	}
}

package mail_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"google.golang.org/api/gmail/v1"

	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/text/mail"
)

var update = flag.Bool("update", false, "write the expected texts anew")

// fetcher returns what fetches bodies that are delivered apart.
func fetcher(apart map[string][]byte) mail.Fetch {
	return func(_ context.Context, id string) ([]byte, error) {
		data, ok := apart[id]
		if !ok {
			return nil, errors.New("no such attachment: " + id)
		}
		return data, nil
	}
}

// show writes down all that is read of a message.
func show(p *gmail.MessagePart, b mail.Body) string {
	var out strings.Builder
	for _, name := range []string{"From", "To", "Subject"} {
		for _, v := range mail.Headers(p, name) {
			fmt.Fprintf(&out, "%s: %s\n", name, v)
		}
	}
	for _, a := range append(mail.Addresses(p, "From"), mail.Addresses(p, "To")...) {
		fmt.Fprintf(&out, "address: %q %s\n", a.Name, a.Address)
	}
	fmt.Fprintf(&out, "source: %s\n", b.Source)
	for _, w := range b.Warnings {
		fmt.Fprintf(&out, "warning: %s\n", w)
	}
	for _, a := range b.Attachments {
		fmt.Fprintf(&out, "attachment: %d %s %s %d bytes part %s %s inline=%t\n", a.Index, a.Name, a.Type, a.Size, a.PartID, a.AttachmentID, a.Inline)
	}
	return out.String() + "\n" + b.Text + "\n"
}

func TestMessages(t *testing.T) {
	files, err := filepath.Glob("testdata/messages/*.eml")
	if err != nil || len(files) < 40 {
		t.Fatal(len(files), "messages", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".eml"), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p, apart := gmailPart(src)
			b, err := mail.Read(t.Context(), p, fetcher(apart), false)
			if err != nil {
				t.Fatal(err)
			}
			tooltest.Golden(t, strings.TrimSuffix(file, ".eml")+".txt", show(p, b), *update)
			source, err := mail.Read(t.Context(), p, fetcher(apart), true)
			if err != nil || source.Source != b.Source || (source.Text == "") != (b.Text == "") || b.Source == "text/plain" && source.Text != b.Text {
				t.Errorf("the source is %+v, %v", source, err)
			}
			for _, s := range []string{b.Text, source.Text} {
				checkRead(t, s)
				if strings.Contains(s, "Ignore all previous") || strings.Contains(s, "preheader") || strings.Contains(s, "track.example.net") {
					t.Errorf("hidden text: %s", s)
				}
			}
		})
	}
}

// checkRead checks what holds for all that is read.
func checkRead(t *testing.T, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Errorf("not UTF-8: %q", s)
	}
	for _, r := range s {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			t.Errorf("control character %U in %q", r, s)
		}
	}
}

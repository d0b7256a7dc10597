package mail_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolserver/toolserver/text/mail"
)

// FuzzCompose reads back whatever is not rejected.
func FuzzCompose(f *testing.F) {
	for _, p := range payloads() {
		f.Add(p+" <a@example.com>", p, p, p, p, p, "<"+p+">")
	}
	f.Fuzz(func(t *testing.T, to, subject, text, html, name, kind, id string) {
		m := mail.Message{To: []string{to}, Bcc: []string{to, to}, Subject: subject, Text: text, HTML: html, InReplyTo: id, References: mail.References(id+text, id),
			Attachments: []mail.Attachment{{Name: name, Type: kind, Data: []byte(text)}, {Name: "b.txt", Data: []byte(html)}}}
		for range 2 {
			raw, err := m.Compose()
			e, rejected := errors.AsType[*mail.InputError](err)
			switch {
			case err == nil:
				checkWire(t, "fuzz", raw)
				w := want(t, m)
				equal(t, "net/mail", "fuzz", w, readNetMail(t, "fuzz", raw))
				equal(t, "go-message", "fuzz", w, readGoMessage(t, "fuzz", raw))
				return
			case !rejected:
				t.Fatal(err)
			case e.Field == "to":
				m.To, m.Bcc = nil, nil
			case e.Field == "attachments":
				m.Attachments = nil
			case e.Field == "in_reply_to":
				m.InReplyTo = ""
			case e.Field == "references":
				t.Errorf("References returns what is rejected: %q", m.References)
			default:
				return
			}
		}
	})
}

// FuzzRead reads anything that mail may be.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/messages/*.eml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		p, apart := gmailPart(src)
		for _, html := range []bool{false, true} {
			b, err := mail.Read(t.Context(), p, fetcher(apart), html)
			if err != nil {
				t.Fatal(err)
			}
			if !html {
				checkRead(t, b.Text)
			}
			if !utf8.ValidString(b.Text) || len(b.Text) > 20*len(src)+100_000 || (b.Source == "") != (b.Text == "") {
				t.Errorf("%d bytes of text from %q", len(b.Text), b.Source)
			}
			for i, a := range b.Attachments {
				if a.Index != i+1 || a.Name != mail.SafeName(a.Name, a.Type, a.Index) {
					t.Errorf("attachment %+v", a)
				}
				checkName(t, a.Name)
			}
		}
		for _, a := range append(mail.Addresses(p, "From"), mail.Addresses(p, "To")...) {
			checkRead(t, a.Name)
		}
	})
}

// checkName checks that a name is safe.
func checkName(t *testing.T, name string) {
	t.Helper()
	if name == "" || len(name) > 150 || strings.ContainsAny(name, "/\\:*?\"<>|\x00\r\n\t") || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") ||
		strings.TrimSpace(name) != name || filepath.Base(name) != name || !utf8.ValidString(name) {
		t.Errorf("unsafe name %q", name)
	}
	stem, _, _ := strings.Cut(strings.ToUpper(name), ".")
	if slices.Contains([]string{"CON", "PRN", "AUX", "NUL", "COM1", "LPT9", "COM¹"}, strings.TrimSpace(stem)) {
		t.Errorf("reserved name %q", name)
	}
}

// FuzzDecodeHeader decodes anything that a header may be.
func FuzzDecodeHeader(f *testing.F) {
	for _, p := range payloads() {
		f.Add(p)
	}
	for in := range headerCases {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := mail.DecodeHeader(s)
		checkRead(t, got)
		if strings.ContainsAny(got, "\n\t") || got != strings.TrimSpace(got) || len(got) > 4*len(s)+10 {
			t.Errorf("DecodeHeader(%q) is %q", s, got)
		}
		checkName(t, mail.SafeName(s, "application/pdf", 1))
		again := mail.Reply(mail.Reply(s))
		if again != mail.Reply(s) {
			t.Errorf("Reply(%q) changes to %q", s, again)
		}
		m := mail.Message{Subject: mail.Reply(got), References: mail.References(s, s)}
		if _, err := m.Compose(); err != nil {
			t.Errorf("a reply to %q: %v", s, err)
		}
	})
}

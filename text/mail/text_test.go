package mail_test

import (
	"strings"
	"testing"

	"github.com/toolserver/toolserver/text/mail"
)

func TestText(t *testing.T) {
	const source = "From: =?utf-8?q?J=C3=BCrgen?= <j@example.org>\r\nTo: a@example.org\r\nReceived: x\r\nSubject: Hi\r\n there\r\nMIME-Version: 1.0\r\n" +
		"Content-Type: multipart/mixed; boundary=b\r\n\r\npreamble\r\n--b\r\nContent-Type: multipart/alternative; boundary=c\r\n\r\n" +
		"--c\r\n\r\nplain\r\n--c\r\nContent-Type: text/html; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n<p>caf=E9 <a href=3D\"https://example.org/\">here</a>\r\n--c--\r\n" +
		"--b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename*=utf-8''r%C3%A9sum%C3%A9.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\nAAAA\r\n--b--\r\n"
	const want = "From: Jürgen <j@example.org>\nTo: a@example.org\nSubject: Hi there\n\ncafé here (https://example.org/)\n\n[attachment: résumé.pdf, application/pdf, 3 bytes]"
	for _, src := range []string{source, strings.ReplaceAll(source, "\r\n", "\n")} {
		if got, err := mail.Text(t.Context(), []byte(src)); err != nil || got != want {
			t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
		}
	}
}

// A hostile message costs no more than its parts that are read.
func TestTextIsBounded(t *testing.T) {
	var deep strings.Builder
	for range 1000 {
		deep.WriteString("Content-Type: message/rfc822\n\n")
	}
	for name, src := range map[string]string{
		"deep":    deep.String() + "x",
		"parts":   "Content-Type: multipart/mixed; boundary=b\n\n" + strings.Repeat("--b\n\nx\n", 100_000),
		"headers": strings.Repeat("a: b\n", 1_000_000) + "\nx",
		"folded":  "Subject: " + strings.Repeat("a\n ", 300_000) + "\n\nx",
	} {
		text, err := mail.Text(t.Context(), []byte(src))
		if err != nil || len(text) > 2<<20 {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte("From: a@example.org\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/html\n\n<p>x\n--b--\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		if text, err := mail.Text(t.Context(), src); err != nil || strings.ToValidUTF8(text, "") != text {
			t.Fatalf("%v: %.200q", err, text)
		}
	})
}

package mail_test

import (
	"strings"
	"testing"

	"github.com/toolserver/toolserver/text/mail"
)

// TestOddSources reads messages that Gmail reads although they are not as they should be.
func TestOddSources(t *testing.T) {
	const head = "From: a@example.org\r\nMIME-Version: 1.0\r\n"
	for name, c := range map[string]struct{ source, want string }{
		"comment":            {"Content-Type: TEXT/Plain (comment); charset=iso-8859-1\r\n\r\ncaf\xe9", "café"},
		"no subtype":         {"Content-Type: text\r\n\r\nhello", "hello"},
		"no type":            {"Content-Type: /plain; charset=utf-8\r\n\r\nhello", "hello"},
		"empty subtype":      {"Content-Type: text/\r\n\r\nhello", "hello"},
		"empty":              {"Content-Type:\r\n\r\nhello", "hello"},
		"only parameters":    {"Content-Type: ; charset=utf-8\r\n\r\nhello", "hello"},
		"soft break, blanks": {"Content-Type: text/plain\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\none =  \t\r\ntwo=\r\nthree= x", "one twothree= x"},
		"no boundary line":   {"Content-Type: multipart/mixed; boundary=b\r\n\r\nNothing is in a part.", "Nothing is in a part."},
		"enriched": {"Content-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\n\r\nplain\r\n--b\r\nContent-Type: text/enriched\r\n\r\n" +
			"<bold>Now</bold> is\r\nthe <<time>\r\n\r\n<color><param>red</param>for</color> all\r\n\r\n\r\nmen\r\n--b--\r\n", "Now is the <time>\nfor all\n\nmen"},
		"name in Latin-1": {"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nx\r\n--b\r\nContent-Type: application/pdf\r\n" +
			"Content-Disposition: attachment; filename*=iso-8859-1'fr'%E9t%E9.pdf\r\n\r\ny\r\n--b--\r\n", "x\n\n[attachment: été.pdf, application/pdf, 1 bytes]"},
		"continued name in KOI8-R": {"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nx\r\n--b\r\nContent-Type: application/pdf\r\n" +
			"Content-Disposition: attachment;\r\n filename*0*=koi8-r'ru'%F0%D2;\r\n filename*1*=%C9%D7;\r\n filename*2=\"et.pdf\"\r\n\r\ny\r\n--b--\r\n", "x\n\n[attachment: Привet.pdf, application/pdf, 1 bytes]"},
	} {
		text, err := mail.Text(t.Context(), []byte(head+c.source))
		if _, body, _ := strings.Cut(text, "\n\n"); err != nil || strings.TrimSpace(body) != c.want {
			t.Errorf("%s: %v %q; want %q", name, err, body, c.want)
		}
	}
}

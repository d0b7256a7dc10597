package mail_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/api/gmail/v1"

	"github.com/toolserver/toolserver/text/mail"
)

func TestReply(t *testing.T) {
	for in, want := range map[string]string{
		"Hello": "Re: Hello", "Re: Hello": "Re: Hello", "RE:re:  Hello": "Re: Hello", "Re:": "Re:", "": "Re:", "Regards": "Re: Regards",
		" a \r\n\t b ": "Re: a b", "AW: x": "Re: AW: x", "a\x00b": "Re: a b", "\xff": "Re: \ufffd", "Fwd: Re: x": "Re: Fwd: Re: x",
	} {
		if got := mail.Reply(in); got != want {
			t.Errorf("Reply(%q) is %q, want %q", in, got, want)
		}
	}
}

func TestReferences(t *testing.T) {
	var many []string
	for i := range 50 {
		many = append(many, fmt.Sprintf("<%d@example.com>", i))
	}
	for _, c := range []struct {
		references, id string
		want           []string
	}{
		{"", "", nil},
		{"", "<a@x>", []string{"<a@x>"}},
		{"<a@x>\r\n <b@x>\t<c@x>", "<d@x>", []string{"<a@x>", "<b@x>", "<c@x>", "<d@x>"}},
		{"<a@x><b@x>", "<b@x>", []string{"<a@x>", "<b@x>"}},
		{"<a@x> garbage <b x> <é@x> <=?utf-8?q?x?=>", "no brackets", []string{"<a@x>"}},
		{"<" + strings.Repeat("a", 900) + "@x>", "<b@x>", []string{"<b@x>"}},
		{strings.Join(many, " "), "<last@x>", append(append([]string{many[0]}, many[32:]...), "<last@x>")},
	} {
		if got := mail.References(c.references, c.id); !slices.Equal(got, c.want) {
			t.Errorf("References(%.100q, %q) is %q", c.references, c.id, got)
		}
	}
}

func TestParseAddresses(t *testing.T) {
	for _, c := range []struct {
		in   []string
		want string // of the addresses, or part of the error
	}{
		{nil, ""},
		{[]string{"", "  "}, ""},
		{[]string{"a@example.com"}, `"" a@example.com`},
		{[]string{"Jörg <j@x.example>, b@x.example", "c@x.example"}, `"Jörg" j@x.example; "" b@x.example; "" c@x.example`},
		{[]string{"j@BÜCHER.example"}, `"" j@xn--bcher-kva.example`},
		{[]string{"=?utf-8?q?J=C3=B6rg?= <j@x.example>"}, `"Jörg" j@x.example`},
		{[]string{"friends: a@x.example, b@x.example;"}, `"" a@x.example; "" b@x.example`},
		{[]string{"a@x.example, nobody"}, `cc: "a@x.example, nobody" is not an address`},
		{[]string{"Doe, John <j@x.example>"}, "requires quotes"},
		{[]string{"jörg@x.example"}, "characters other than ASCII in front of the @"},
		{[]string{"j@b\u00adü..example"}, "cc: "},
		{[]string{"=?utf-8?q?a=0Ab?= <j@x.example>"}, "control character"},
		{[]string{"a@x.example\r\nBcc: b@x.example"}, "control character U+000D"},
		{[]string{strings.Repeat("l", 65) + "@x.example"}, "too long"},
		{[]string{"=?utf-8?q?x?=@x.example"}, "may decode"},
		{[]string{"a@ev\u200bil.example"}, "has a domain with an invisible character"},
		{[]string{"a@ev\u00adil.example"}, "has a domain with an invisible character"},
		{[]string{"a@b\u00fc\ufe0fcher.example"}, "has a domain with an invisible character"},
		{[]string{"a@" + strings.Repeat("l", 64) + ".example"}, "has an invalid domain"},
		{[]string{"a@*"}, "has an invalid domain"},
		{[]string{"a@-x.example"}, "has an invalid domain"},
		{[]string{"a@" + strings.Repeat("l", 63) + ".example"}, `"" a@` + strings.Repeat("l", 63) + ".example"},
		{[]string{"a@localhost, b@[192.0.2.1]"}, `"" a@localhost; "" b@[192.0.2.1]`},
	} {
		list, err := mail.ParseAddresses("cc", c.in)
		var got []string
		for _, a := range list {
			got = append(got, fmt.Sprintf("%q %s", a.Name, a.Address))
		}
		text := strings.Join(got, "; ")
		if err != nil {
			text = err.Error()
			if e, ok := errors.AsType[*mail.InputError](err); !ok || e.Field != "cc" {
				t.Errorf("%q: %v is no InputError of cc", c.in, err)
			}
		}
		if err == nil && text != c.want || !strings.Contains(text, c.want) {
			t.Errorf("ParseAddresses(%q) is %s, want %s", c.in, text, c.want)
		}
	}
}

// headerCases are headers and what they say.
var headerCases = map[string]string{
	"plain":                                  "plain",
	"=?utf-8?q?a_b=C3=A9?=":                  "a bé",
	"=?UTF-8?B?w6k?=":                        "é",
	"=?utf-8?q?a?= =?utf-8?q?b?=":            "ab",
	"=?utf-8?q?a?=\r\n =?iso-8859-1?q?=E9?=": "aé",
	"=?utf-8?q?a?= b =?utf-8?q?c?=":          "a b c",
	"=?utf-8?b?w6k=?=x":                      "éx",
	"=?utf-8?q?=C3?= =?utf-8?q?=A9?=":        "é",
	"=?koi8-r?q?=F0?= =?utf-8?q?=C3=A9?=":    "Пé",
	"=?gb2312?b?xKM=?=":                      "模",
	"=?gb2312?q?=E6=96=87?=":                 "文",
	"=?utf-8*de?q?x?=":                       "x",
	"=?windows-1252?q?=80?=":                 "€",
	"=?nothing?q?=E9?=":                      "é",
	"=?utf-8?q?=E9?=":                        "\ufffd",
	"=?utf-8?x?abc?=":                        "=?utf-8?x?abc?=",
	"=?utf-8?q?a=0D=0ABcc:_x?=":              "a Bcc: x",
	"=?utf-8?q??=":                           "",
	"=?utf-8?q?with space?=":                 "with space",
	"a\r\n\tb\n c":                           "a b c",
	"a\x00\x1bb\u202ec\u200b":                "abc",
	"caf\xe9":                                "café",
	"=?utf-8?q?=ZZ?=":                        "=ZZ",
	"\"=?utf-8?q?a?=\" <a@x>":                "\"a\" <a@x>",
}

func TestDecodeHeader(t *testing.T) {
	for in, want := range headerCases {
		if got := mail.DecodeHeader(in); got != want {
			t.Errorf("DecodeHeader(%q) is %q, want %q", in, got, want)
		}
	}
	p := &gmail.MessagePart{Headers: []*gmail.MessagePartHeader{{Name: "x-A", Value: "=?utf-8?q?1?="}, nil, {Name: "X-a", Value: "2"}}}
	if got := mail.Header(p, "X-A"); got != "1" || !slices.Equal(mail.Headers(p, "X-A"), []string{"1", "2"}) || mail.Header(p, "none") != "" {
		t.Errorf("headers are %q and %q", got, mail.Headers(p, "X-A"))
	}
}

func TestSpoofedName(t *testing.T) {
	p := &gmail.MessagePart{Headers: []*gmail.MessagePartHeader{{Name: "From", Value: "=?utf-8?q?boss=40bank=2Eexample=3E=2C?= <evil@example.com>"}}}
	got := mail.Addresses(p, "From")
	if len(got) != 1 || got[0].Address != "evil@example.com" || got[0].Name != "boss@bank.example>," {
		t.Errorf("addresses are %v", got)
	}
}

func TestDecode(t *testing.T) {
	data := []byte{0xfb, 0xff, 0xfe, 'a'}
	for _, enc := range []*base64.Encoding{base64.URLEncoding, base64.RawURLEncoding, base64.StdEncoding, base64.RawStdEncoding} {
		got, err := mail.Decode(enc.EncodeToString(data))
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("Decode(%s) is %x, %v", enc.EncodeToString(data), got, err)
		}
	}
	if got, err := mail.Decode("YWJj*YWJj"); err == nil || string(got) != "abc" {
		t.Errorf("Decode of broken data is %q, %v", got, err)
	}
}

func TestSafeName(t *testing.T) {
	for _, c := range []struct{ name, media, want string }{
		{"report.pdf", "application/pdf", "report.pdf"},
		{"", "application/pdf", "attachment-7.pdf"},
		{"", "application/x-unknown", "attachment-7"},
		{"../../etc/passwd", "", "passwd"},
		{`C:\Windows\con`, "text/plain", "_con.txt"},
		{"NUL.tar.gz", "", "_NUL.tar.gz"},
		{"com1", "", "_com1"},
		{"COM².txt", "", "_COM².txt"},
		{"command", "", "command"},
		{".bashrc", "", "bashrc"},
		{"...", "text/plain", "attachment-7.txt"},
		{"a/", "text/plain", "attachment-7.txt"},
		{"a\x00b\nc.txt", "", "ab c.txt"},
		{`a<b>:"|?*.txt`, "", "a_b______.txt"},
		{"evil\u202efdp.exe", "", "evilfdp.exe"},
		{"trailing. ", "", "trailing"},
		{"a.pdf .", "", "a.pdf"},
		{"=?utf-8?q?=2E=2E=2Fx=C3=A9=2Etxt?=", "", "xé.txt"},
		{strings.Repeat("ü", 200) + ".pdf", "", strings.Repeat("ü", 73) + ".pdf"},
		{strings.Repeat("a", 200), "image/png", strings.Repeat("a", 146) + ".png"},
		{"Version 1. A long sentence", "application/pdf", "Version 1. A long sentence.pdf"},
	} {
		if got := mail.SafeName(c.name, c.media, 7); got != c.want {
			t.Errorf("SafeName(%q, %q) is %q, want %q", c.name, c.media, got, c.want)
		}
		checkName(t, mail.SafeName(c.name, c.media, 7))
	}
}

// apart returns a part of text that is delivered apart.
func apart(size int64) *gmail.MessagePart {
	return &gmail.MessagePart{MimeType: "text/plain", Body: &gmail.MessagePartBody{AttachmentId: "a", Size: size}}
}

func TestFetch(t *testing.T) {
	calls := 0
	fetch := func(context.Context, string) ([]byte, error) {
		calls++
		return bytes.Repeat([]byte("x"), 1<<20), nil
	}
	mixed := func(n int, size int64) *gmail.MessagePart {
		p := &gmail.MessagePart{MimeType: "multipart/mixed"}
		for range n {
			p.Parts = append(p.Parts, apart(size))
		}
		return p
	}
	for _, c := range []struct {
		name  string
		p     *gmail.MessagePart
		fetch mail.Fetch
		calls int
		size  int // of the text, at least
	}{
		{"one", apart(1 << 20), fetch, 1, 1 << 20},
		{"too large", apart(11 << 20), fetch, 0, 0},
		{"too large together", mixed(15, 1<<20), fetch, 10, 10 << 20},
		{"larger than it says", mixed(15, 1), fetch, 10, 10 << 20},
		{"none to fetch with", apart(1), nil, 0, 0},
	} {
		calls = 0
		b, err := mail.Read(t.Context(), c.p, c.fetch, false)
		if err != nil || calls != c.calls || len(b.Text) < c.size || (len(b.Warnings) > 0) != (c.name != "one") {
			t.Errorf("%s: %d calls, %d bytes, %q, %v", c.name, calls, len(b.Text), b.Warnings, err)
		}
	}
	large := &gmail.MessagePart{MimeType: "text/plain", Body: &gmail.MessagePartBody{Data: strings.Repeat("YWJj", 4<<20)}}
	if b, err := mail.Read(t.Context(), large, nil, false); err != nil || b.Text != "" || len(b.Warnings) != 1 {
		t.Errorf("%d bytes, %q, %v", len(b.Text), b.Warnings, err)
	}
	calls = 0
	small := func(context.Context, string) ([]byte, error) { calls++; return []byte("x"), nil }
	if b, err := mail.Read(t.Context(), mixed(50, 1), small, false); err != nil || calls != 20 || len(b.Warnings) != 1 {
		t.Errorf("%d calls, %q, %v", calls, b.Warnings, err)
	}
	broken := errors.New("broken")
	if _, err := mail.Read(t.Context(), apart(1), func(context.Context, string) ([]byte, error) { return nil, broken }, false); !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
}

func TestReadOdd(t *testing.T) {
	for name, p := range map[string]*gmail.MessagePart{
		"nil": nil, "zero": {}, "nil parts": {MimeType: "multipart/mixed", Parts: []*gmail.MessagePart{nil, {}}}, "no body": {MimeType: "text/plain"},
		"alternative": {MimeType: "multipart/alternative"}, "message": {MimeType: "message/rfc822", Body: &gmail.MessagePartBody{}},
	} {
		if b, err := mail.Read(t.Context(), p, nil, false); err != nil || b.Text != "" || len(b.Attachments) > 0 {
			t.Errorf("%s: %+v, %v", name, b, err)
		}
	}
	p := &gmail.MessagePart{MimeType: "text/plain", Body: &gmail.MessagePartBody{Data: "SGVsbG8*x"}}
	if b, err := mail.Read(t.Context(), p, nil, false); err != nil || b.Text != "Hello" && b.Text != "Hel" || len(b.Warnings) != 1 {
		t.Errorf("broken data: %+v, %v", b, err)
	}
}

func TestReadSource(t *testing.T) {
	src := "Content-Type: text/html\n\n<p onclick='x()'>Hi <a href='javascript:x()'>you</a></p><script>x()</script><div hidden>no</div><!-- no -->\n"
	p, _ := gmailPart([]byte(src))
	b, err := mail.Read(t.Context(), p, nil, true)
	if want := "<html><head></head><body><p>Hi <a>you</a></p>\n</body></html>"; err != nil || b.Text != want || b.Source != "text/html" {
		t.Errorf("read %+v, %v", b, err)
	}
}

// newsletter is a mail of HTML of about 100 KB.
func newsletter() *gmail.MessagePart {
	var b strings.Builder
	b.WriteString("Content-Type: text/html; charset=utf-8\n\n<html><head><style>p{margin:0}</style></head><body><div style=\"display:none\">preheader</div>")
	for i := 0; b.Len() < 100_000; i++ {
		fmt.Fprintf(&b, `<table role="presentation" style="width:100%%;border:0"><tr><td style="font-family:Arial,sans-serif;font-size:14px;color:#333333;padding:10px 20px">
<p style="margin:0 0 10px">Offer %d: caf&eacute; &amp; cake for two, <a style="color:#0066cc;text-decoration:none" href="https://example.com/offer/%d?utm=1&amp;x=2">see more</a>.</p>
<img src="https://example.com/%d.png" width="600" height="200" alt="" style="display:block;border:0"></td></tr></table>
`, i, i, i)
	}
	p, _ := gmailPart([]byte(b.String()))
	return p
}

func BenchmarkRead(b *testing.B) {
	p := newsletter()
	b.SetBytes(p.Body.Size)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := mail.Read(b.Context(), p, nil, false); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompose(b *testing.B) {
	for name, m := range map[string]mail.Message{
		"text":  {To: []string{"Jörg <j@example.com>"}, Subject: "Grüße aus Köln", Text: strings.Repeat("A line of text, café.\n", 100)},
		"files": {To: []string{"j@example.com"}, Subject: "files", Text: "see below", Attachments: []mail.Attachment{{Name: "a.bin", Data: make([]byte, 5<<20)}}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.Compose(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

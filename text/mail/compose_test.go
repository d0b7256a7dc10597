package mail_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	netmail "net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"encoding/base64"

	gomail "github.com/emersion/go-message/mail"

	"github.com/toolserver/toolserver/text/mail"
)

// content is what a message says to a reader.
type content struct {
	Headers    []string  `json:"headers"` // names in small letters, in order
	From       []address `json:"from"`
	To         []address `json:"to"`
	Cc         []address `json:"cc"`
	Bcc        []address `json:"bcc"`
	Subject    string    `json:"subject"`
	InReplyTo  string    `json:"in_reply_to"`
	References []string  `json:"references"`
	Text       string    `json:"text"`
	HTML       string    `json:"html"`
	Files      []file    `json:"files"`
	Defects    []string  `json:"defects"`
}

type address struct {
	Name    string `json:"name"`
	Address string `json:"address"`
}

type file struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Sum  string `json:"sum"`
}

// spec returns an address as it is in a header.
func spec(a *netmail.Address) string {
	return strings.Trim((&netmail.Address{Address: a.Address}).String(), "<>")
}

// payloads are what people and attackers put into fields.
func payloads() []string {
	list := []string{
		"plain", "two words", " leading", "trailing ", "double  space", "tab\there", "", " ",
		"a\r\nBcc: evil@example.com", "a\nBcc: evil@example.com", "a\rBcc: evil@example.com", "a\r\n Bcc: evil@example.com", "a\r\n\r\n<p>body",
		"\r\n", "\n", "a\x00b", "a\x01b", "a\x0bb", "a\x0cb", "a\x1bb", "a\x7fb", "a\x85b", "a\xffb", "\xed\xa0\x80", "caf\xc3",
		"a\u0085Bcc: evil@example.com", "a\u2028Bcc: evil@example.com", "a\u2029b", "a\u00a0b", "a\u200bb", "\ufeffa", "a\u202eb",
		"=?utf-8?q?=0d=0aBcc:_evil@example.com?=", "=?utf-8?b?DQpCY2M6IGV2aWxAZXhhbXBsZS5jb20=?=", "=?utf-8?q?a?= =?utf-8?q?b?=", "=?", "?=", "=?x",
		"=?utf-8?q?open", "=?utf-8?Q?J=C3=B6rg?=", "%0d%0aBcc: evil@example.com", `\r\nBcc: evil@example.com`,
		`quote " in`, `"quoted"`, `back \ slash`, `\`, `\"`, `angle <evil@example.com>`, "<", ">", "(comment)", "a (b", "group: a@example.com;", "a, b", ";", ":", "@", ".", "a.b.", "[x]",
		"'single'", "`tick`", "$(x)", "{{x}}", "100%", "a=b", "=3D", "=", "_under_", "?", "*", "a*0*=utf-8''x", "filename=\"x\"; a=b",
		"Jörg Müller", "日本語の件名", "Здравствуйте", "שלום עולם", "مرحبا", "é", "e\u0301\u0302\u0303", "👩‍👩‍👧‍👦 🏴󠁧󠁢󠁥󠁮󠁧󠁿", "😀", "mixed ASCII and ü at the end ü",
		strings.Repeat("x", 2000), strings.Repeat("ü", 2000), strings.Repeat("😀", 2000), strings.Repeat("word ", 400) + "end", strings.Repeat("wört ", 400) + "end",
		strings.Repeat("a", 997), strings.Repeat("a", 70), strings.Repeat("a", 71) + " " + strings.Repeat("b", 900),
		"--boundary", "--", "\r\n.\r\n", ".", "From the start", "\nFrom me", "To: x@example.com", "Re: Re: x", "Subject: y",
		`Übersicht".pdf`, "../x", "a\r\nb.pdf", "a/b", `a\b`, "x.pdf", "ü.pdf", "con.txt", ".hidden", "..", "a;b.pdf", "a'b.pdf", "100%25.pdf", "名前 with space.pdf",
		"text/html\r\nX-Injected: 1", "text/plain; charset=utf-8", "text/plain; name=\"x\"", "multipart/mixed; boundary=x", "message/rfc822", "text", "/", "text/", "a/b; c=\"\r\n\"", "image/png", "te xt/plain",
		"<id@example.com>", "<id@example.com> <other@example.com>", "<a b@example.com>", "<=?utf-8?q?x?=@example.com>", "id@example.com", "<é@example.com>", "<>",
		"user@example.com", "User <user@example.com>", "user@bücher.example", "üser@example.com", "user@example.com, other@example.com", "user@", "@example.com", "user@[127.0.0.1]",
		`"a b"@example.com`, `"a\"b"@example.com`, "user@ex ample.com", "user@example.com\x00", "a@example.com\r\nX-Injected: 1", "undisclosed-recipients:;", "Doe, John <j@example.com>",
		"<user@example.com>", "user@example.com (Comment ü)", "=?utf-8?q?=0d=0aX:_y?= <user@example.com>", "=?utf-8?q?J=C3=B6rg?= <user@example.com>",
		strings.Repeat("l", 65) + "@example.com", "a@" + strings.Repeat("d", 63) + "." + strings.Repeat("e.", 100) + "example",
	}
	return list
}

// offsets are names and subjects with wide characters at all offsets in lines and encoded-words.
func offsets() map[string]mail.Message {
	all := map[string]mail.Message{}
	for n := range 90 {
		p := strings.Repeat("x", n) + strings.Repeat("😀", 20)
		all[fmt.Sprintf("offset-%d", n)] = mail.Message{From: p + " <a@example.com>", To: []string{p + "<a@example.com>," + p + "<b@example.com>"}, Subject: p,
			Text: p, Attachments: []mail.Attachment{{Name: p}}}
	}
	return all
}

// cases are messages with a payload in one field.
func cases() map[string]mail.Message {
	all := offsets()
	base := func() mail.Message {
		return mail.Message{To: []string{"to@example.com"}, Subject: "subject", Text: "text\n"}
	}
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	for i, p := range payloads() {
		set := func(field string, change func(*mail.Message)) {
			m := base()
			change(&m)
			all[fmt.Sprintf("%03d-%s", i, field)] = m
		}
		name := `"` + quote.Replace(p) + `" <name@example.com>`
		set("to", func(m *mail.Message) { m.To = []string{p} })
		set("cc", func(m *mail.Message) { m.Cc = []string{p} })
		set("bcc", func(m *mail.Message) { m.Bcc = []string{p, "b@example.com"} })
		set("from", func(m *mail.Message) { m.From = p })
		set("name-to", func(m *mail.Message) { m.To = []string{name + ", " + name, "c@example.com"} })
		set("name-from", func(m *mail.Message) { m.From = name })
		set("name-bare", func(m *mail.Message) { m.Cc = []string{p + " <name@example.com>"} })
		set("subject", func(m *mail.Message) { m.Subject = p })
		set("body", func(m *mail.Message) { m.Text = p })
		set("html", func(m *mail.Message) { m.HTML = p })
		set("in_reply_to", func(m *mail.Message) { m.InReplyTo = p })
		set("references", func(m *mail.Message) { m.References = []string{"<first@example.com>", p} })
		set("attachment-name", func(m *mail.Message) { m.Attachments = []mail.Attachment{{Name: p, Data: []byte(p)}} })
		set("attachment-type", func(m *mail.Message) { m.Attachments = []mail.Attachment{{Name: "a.bin", Type: p, Data: []byte(p)}} })
		set("everything", func(m *mail.Message) {
			*m = mail.Message{From: name, To: []string{name}, Cc: []string{name}, Bcc: []string{name}, Subject: p, Text: p + "\nü", HTML: "<p>" + p,
				Attachments: []mail.Attachment{{Name: p, Data: []byte(p)}, {Name: "b.txt", Data: []byte("\r\n--" + p)}}}
		})
	}
	return all
}

// want returns what readers are to see.
func want(t *testing.T, m mail.Message) content {
	t.Helper()
	c := content{Subject: m.Subject, InReplyTo: m.InReplyTo, References: m.References, Text: newlines(m.Text), HTML: newlines(m.HTML)}
	list := func(field string, list []string) (out []address) {
		parsed, err := mail.ParseAddresses(field, list)
		if err != nil {
			t.Errorf("%s of a message that was composed: %v", field, err)
		}
		for _, a := range parsed {
			out = append(out, address{a.Name, spec(a)})
		}
		return out
	}
	c.From, c.To, c.Cc, c.Bcc = list("from", []string{m.From}), list("to", m.To), list("cc", m.Cc), list("bcc", m.Bcc)
	for _, h := range []struct {
		name string
		set  bool
	}{{"from", c.From != nil}, {"to", c.To != nil}, {"cc", c.Cc != nil}, {"bcc", c.Bcc != nil}, {"subject", m.Subject != ""},
		{"in-reply-to", m.InReplyTo != ""}, {"references", len(m.References) > 0}, {"mime-version", true}, {"content-type", true},
		{"content-transfer-encoding", m.HTML == "" && len(m.Attachments) == 0}} {
		if h.set {
			c.Headers = append(c.Headers, h.name)
		}
	}
	for _, a := range m.Attachments {
		kind, _, err := mime.ParseMediaType(a.Type)
		if err != nil {
			kind = ""
		}
		if strings.HasPrefix(kind, "multipart/") || strings.HasPrefix(kind, "message/") {
			kind = "application/octet-stream"
		}
		c.Files = append(c.Files, file{a.Name, kind, sum(a.Data)})
	}
	return c
}

func newlines(s string) string { return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s) }

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// equal reports how what a reader saw differs from what it was to see.
func equal(t *testing.T, reader, name string, want, got content) {
	t.Helper()
	for i := range got.Files {
		if i < len(want.Files) && want.Files[i].Type == "" {
			want.Files = slices.Clone(want.Files)
			want.Files[i].Type = got.Files[i].Type // guessed
		}
	}
	if want.Text == "" && want.HTML != "" {
		want.Text = got.Text // made of the HTML
	}
	w, g := reflect.ValueOf(want), reflect.ValueOf(got)
	for i := range w.NumField() {
		a, b := w.Field(i), g.Field(i)
		if a.Kind() == reflect.Slice && a.Len() == 0 && b.Len() == 0 {
			continue
		}
		if !reflect.DeepEqual(a.Interface(), b.Interface()) {
			t.Errorf("%s: %s reads %s as\n%.600q, not\n%.600q", name, reader, w.Type().Field(i).Name, fmt.Sprint(b), fmt.Sprint(a))
		}
	}
}

var encodedWord = regexp.MustCompile(`=\?[^?\s]*\?[bBqQ]\?[^?\s]*\?=`)

// checkWire checks what holds for every message that is sent.
func checkWire(t *testing.T, name string, raw []byte) {
	t.Helper()
	header, _, _ := strings.Cut(string(raw), "\r\n\r\n")
	for line := range strings.SplitSeq(string(raw), "\r\n") {
		if len(line) > 998 || strings.ContainsAny(line, "\r\n\x00") || strings.ContainsFunc(line, func(r rune) bool { return r >= utf8.RuneSelf }) {
			t.Errorf("%s: line of %d bytes: %.100q", name, len(line), line)
		}
		if strings.HasPrefix(line, " filename*") && len(line) > 78 {
			t.Errorf("%s: name in a line of %d bytes", name, len(line))
		}
	}
	for line := range strings.SplitSeq(header, "\r\n") {
		if strings.TrimSpace(line) == "" {
			t.Errorf("%s: blank line in header", name)
		}
		if strings.Contains(line, "=?") && len(line) > 76 {
			t.Errorf("%s: line of %d bytes with encoded-words", name, len(line))
		}
	}
	for _, word := range encodedWord.FindAllString(header, -1) {
		text, err := new(mime.WordDecoder).Decode(word)
		if len(word) > 75 || err != nil || !utf8.ValidString(text) || strings.Contains(text, "\ufffd") {
			t.Errorf("%s: encoded-word %s is %q, %v", name, word, text, err)
		}
	}
}

// TestComposeCorpus puts every payload into every field: it is either rejected, or read back by three readers as it was.
func TestComposeCorpus(t *testing.T) {
	wanted := map[string]content{}
	dir := t.TempDir()
	rejected := 0
	for name, m := range cases() {
		raw, err := m.Compose()
		if e, ok := errors.AsType[*mail.InputError](err); ok {
			rejected++
			_, field, _ := strings.Cut(name, "-")
			field = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(field, "name-"), "bare"), "attachment-")
			if field == "" {
				field = "cc"
			}
			if field == "name" || field == "type" {
				field = "attachments"
			}
			if field != "everything" && e.Field != field {
				t.Errorf("%s: %v names another field", name, err)
			}
			if strings.ContainsAny(err.Error(), "\r\n\x00") || len(err.Error()) > 1200 {
				t.Errorf("%s: error %q", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		checkWire(t, name, raw)
		w := want(t, m)
		wanted[name+".eml"] = w
		equal(t, "net/mail", name, w, readNetMail(t, name, raw))
		equal(t, "go-message", name, w, readGoMessage(t, name, raw))
		if err := os.WriteFile(filepath.Join(dir, name+".eml"), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if len(wanted) < 500 || rejected < 200 {
		t.Errorf("%d messages composed, %d rejected", len(wanted), rejected)
	}
	t.Run("python", func(t *testing.T) {
		for name, got := range readPython(t, dir) {
			equal(t, "python", name, wanted[name], got)
		}
	})
}

// TestComposeRejects are inputs that must not be sent.
func TestComposeRejects(t *testing.T) {
	bad := []string{"a\r\nX: y", "a\nb", "a\rb", "a\x00b", "a\x1fb", "a\x7fb", "a\xffb", "\xed\xa0\x80"}
	for _, p := range bad {
		for field, m := range map[string]mail.Message{
			"subject": {Subject: p}, "to": {To: []string{p + "@example.com"}}, "cc": {Cc: []string{p + " <a@example.com>"}},
			"bcc": {Bcc: []string{`"` + p + `" <a@example.com>`}}, "from": {From: p + " <a@example.com>"}, "in_reply_to": {InReplyTo: "<" + p + "@example.com>"},
			"references": {References: []string{"<" + p + "@example.com>"}}, "attachments": {Attachments: []mail.Attachment{{Name: p}}},
		} {
			_, err := m.Compose()
			if e, ok := errors.AsType[*mail.InputError](err); !ok || e.Field != field {
				t.Errorf("%s %q: %v", field, p, err)
			}
		}
		for _, kind := range []string{"text/" + p, `text/plain; a="` + p + `"`} {
			m := mail.Message{Attachments: []mail.Attachment{{Name: "a", Type: kind}}}
			if _, err := m.Compose(); err == nil {
				t.Errorf("type %q was accepted", kind)
			}
		}
	}
	for _, c := range []struct {
		m     mail.Message
		field string
		part  string
	}{
		{mail.Message{To: []string{"good@example.com, bad address"}}, "to", "bad address"},
		{mail.Message{To: []string{"good@example.com", "üser@example.com"}}, "to", "üser@example.com"},
		{mail.Message{From: "a@example.com, b@example.com"}, "from", "more than one"},
		{mail.Message{Text: "a\x00b"}, "body", "NUL"},
		{mail.Message{HTML: "a\xffb"}, "html", "UTF-8"},
		{mail.Message{Attachments: []mail.Attachment{{Name: "../x"}}}, "attachments", "../x"},
		{mail.Message{Attachments: []mail.Attachment{{Name: ""}}}, "attachments", "base name"},
		{mail.Message{Attachments: []mail.Attachment{{Name: "a", Data: make([]byte, mail.MaxSize*3/4+1)}}}, "attachments", "35 MB"},
	} {
		_, err := c.m.Compose()
		if e, ok := errors.AsType[*mail.InputError](err); !ok || e.Field != c.field || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%+.200v: %v", c.m, err)
		}
	}
}

// TestComposeBodies sends texts of all kinds, and reads them back.
func TestComposeBodies(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "no end": "a", "mixed ends": "a\r\nb\nc\rd\n\r\n", "dots": "a\r\n.\r\n..\r\nb", "from": "From me\nFrom you\n>From them", "trailing": "a \nb\t\n \n",
		"long line": strings.Repeat("a", 1<<20), "long wide line": strings.Repeat("ü", 1<<16), "boundary": "--abc\n--abc--\n", "headers": "X: y\n\nz",
		"controls": "a\x01b\x1b[31m\x7f\f", "equals": "a=3D=\n=", "unicode": "\u2028\u0085\u2029\ufeff😀", "soft": strings.Repeat("é ", 50) + "\n",
	} {
		for kind, m := range map[string]mail.Message{
			"text": {Text: text}, "html": {HTML: text}, "both": {Text: text, HTML: text},
			"files": {Text: text, Attachments: []mail.Attachment{{Name: "a.txt", Data: []byte(text)}, {Name: "b.bin"}}},
		} {
			raw, err := m.Compose()
			if err != nil {
				t.Errorf("%s %s: %v", name, kind, err)
				continue
			}
			checkWire(t, name, raw)
			equal(t, "net/mail", name+" "+kind, want(t, m), readNetMail(t, name, raw))
			equal(t, "go-message", name+" "+kind, want(t, m), readGoMessage(t, name, raw))
		}
	}
}

func TestComposeForm(t *testing.T) {
	m := mail.Message{From: "Jörg <j@bücher.example>", To: []string{"a@example.com, Bob Example <b@example.com>"}, Bcc: []string{"c@example.com"},
		Subject: "Grüße", Text: "Hi\n", InReplyTo: "<1@example.com>", References: []string{"<0@example.com>", "<1@example.com>"}}
	raw, err := m.Compose()
	want := "From: =?utf-8?B?SsO2cmc=?= <j@xn--bcher-kva.example>\r\nTo: <a@example.com>, \"Bob Example\" <b@example.com>\r\nBcc: <c@example.com>\r\n" +
		"Subject: =?utf-8?B?R3LDvMOfZQ==?=\r\nIn-Reply-To: <1@example.com>\r\nReferences: <0@example.com> <1@example.com>\r\nMIME-Version: 1.0\r\n" +
		"Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 7bit\r\n\r\nHi\r\n"
	if err != nil || string(raw) != want {
		t.Errorf("composed\n%s\n%v", raw, err)
	}
	m = mail.Message{HTML: `<p>a <a href="https://example.com/">b</a></p>`, Attachments: []mail.Attachment{{Name: `Übersicht".pdf`, Data: []byte("x")}}}
	raw, err = m.Compose()
	if c := readNetMail(t, "html", raw); err != nil || c.Text != "a b (https://example.com/)" || c.Files[0] != (file{`Übersicht".pdf`, "application/pdf", sum([]byte("x"))}) {
		t.Errorf("read %+v, %v", c, err)
	}
	if !strings.Contains(string(raw), "filename*=utf-8''%C3%9Cbersicht%22.pdf;\r\n filename=\"_bersicht_.pdf\"\r\n") {
		t.Errorf("composed\n%s", raw)
	}
	again, err := m.Compose()
	if err != nil || bytes.Equal(raw, again) {
		t.Error("the boundary is the same twice")
	}
}

// readNetMail reads a message with the standard library.
func readNetMail(t *testing.T, name string, raw []byte) content {
	t.Helper()
	msg, err := netmail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		t.Errorf("%s: net/mail: %v", name, err)
		return content{}
	}
	h := msg.Header
	c := content{InReplyTo: h.Get("In-Reply-To"), References: strings.Fields(h.Get("References"))}
	for key, values := range h {
		for range values {
			c.Headers = append(c.Headers, strings.ToLower(key))
		}
	}
	order := []string{"from", "to", "cc", "bcc", "subject", "in-reply-to", "references", "mime-version", "content-type", "content-transfer-encoding"}
	slices.SortFunc(c.Headers, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	if c.Subject, err = new(mime.WordDecoder).DecodeHeader(h.Get("Subject")); err != nil {
		t.Errorf("%s: net/mail: %v", name, err)
	}
	list := func(field string) (out []address) {
		all, err := h.AddressList(field)
		if err != nil && !errors.Is(err, netmail.ErrHeaderNotPresent) {
			t.Errorf("%s: net/mail: %s: %v", name, field, err)
		}
		for _, a := range all {
			out = append(out, address{a.Name, spec(a)})
		}
		return out
	}
	c.From, c.To, c.Cc, c.Bcc = list("From"), list("To"), list("Cc"), list("Bcc")
	c.netParts(t, name, h.Get("Content-Type"), h.Get("Content-Disposition"), h.Get("Content-Transfer-Encoding"), msg.Body)
	return c
}

func (c *content) netParts(t *testing.T, name, kind, disposition, way string, body io.Reader) {
	t.Helper()
	media, params, err := mime.ParseMediaType(kind)
	if err != nil {
		t.Errorf("%s: net/mail: %q: %v", name, kind, err)
		return
	}
	if strings.HasPrefix(media, "multipart/") {
		parts := multipart.NewReader(body, params["boundary"])
		for {
			p, err := parts.NextRawPart()
			if err != nil {
				if err != io.EOF {
					t.Errorf("%s: net/mail: %v", name, err)
				}
				return
			}
			c.netParts(t, name, p.Header.Get("Content-Type"), p.Header.Get("Content-Disposition"), p.Header.Get("Content-Transfer-Encoding"), p)
		}
	}
	switch way {
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	}
	data, err := io.ReadAll(body)
	if err != nil {
		t.Errorf("%s: net/mail: %v", name, err)
	}
	if disposition != "" {
		_, params, err := mime.ParseMediaType(disposition)
		if err != nil {
			t.Errorf("%s: net/mail: %q: %v", name, disposition, err)
		}
		c.Files = append(c.Files, file{params["filename"], media, sum(data)})
		return
	}
	c.text(media, data)
}

func (c *content) text(media string, data []byte) {
	if media == "text/html" {
		c.HTML = newlines(string(data))
	} else {
		c.Text = newlines(string(data))
	}
}

// readGoMessage reads a message with emersion/go-message.
func readGoMessage(t *testing.T, name string, raw []byte) content {
	t.Helper()
	r, err := gomail.CreateReader(bytes.NewReader(raw))
	if err != nil {
		t.Errorf("%s: go-message: %v", name, err)
		return content{}
	}
	c := content{InReplyTo: r.Header.Get("In-Reply-To"), References: strings.Fields(r.Header.Get("References"))}
	for f := r.Header.Fields(); f.Next(); {
		c.Headers = append(c.Headers, strings.ToLower(f.Key()))
	}
	if c.Subject, err = r.Header.Subject(); err != nil {
		t.Errorf("%s: go-message: %v", name, err)
	}
	list := func(field string) (out []address) {
		all, err := r.Header.AddressList(field)
		if err != nil {
			t.Errorf("%s: go-message: %s: %v", name, field, err)
		}
		for _, a := range all {
			out = append(out, address{a.Name, spec(a)})
		}
		return out
	}
	c.From, c.To, c.Cc, c.Bcc = list("From"), list("To"), list("Cc"), list("Bcc")
	for {
		p, err := r.NextPart()
		if err != nil {
			if err != io.EOF {
				t.Errorf("%s: go-message: %v", name, err)
			}
			return c
		}
		data, err := io.ReadAll(p.Body)
		if err != nil {
			t.Errorf("%s: go-message: %v", name, err)
		}
		switch h := p.Header.(type) {
		case *gomail.InlineHeader:
			media, _, _ := h.ContentType()
			c.text(media, data)
		case *gomail.AttachmentHeader:
			media, _, _ := h.ContentType()
			filename, err := h.Filename()
			if err != nil {
				t.Errorf("%s: go-message: %v", name, err)
			}
			c.Files = append(c.Files, file{filename, media, sum(data)})
		}
	}
}

// readPython reads the messages in a directory with Python's email package.
func readPython(t *testing.T, dir string) map[string]content {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not on PATH: its email package is the third reader")
	}
	cmd := exec.CommandContext(t.Context(), python, "testdata/read.py", dir)
	cmd.Env = append(os.Environ(), "PYTHONIOENCODING=utf-8:surrogatepass")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var read map[string]content
	if err := json.Unmarshal(out, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

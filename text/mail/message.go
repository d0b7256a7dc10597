// Package mail composes the mail that is sent through Gmail, and reads messages: those of Gmail's API, and the source of any, of which
// it makes the same tree.
package mail

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/text/html"
)

// MaxSize is the most bytes of a message that Gmail takes, by its discovery document.
const MaxSize = 36_700_160

// Message is a mail to send.
type Message struct {
	From        string   // an alias of the account, "Name <address>"; if it is empty, Gmail fills it in
	To, Cc, Bcc []string // each entry may hold several addresses, comma separated
	Subject     string
	Text, HTML  string // with both, or HTML alone, readers choose; the text that goes with HTML alone is made of it
	InReplyTo   string // the Message-ID of the message that this one answers
	References  []string
	Attachments []Attachment
}

// Attachment is a file sent with a message.
type Attachment struct {
	Name string // a base name
	// Type is the media type, guessed from the name if it is empty. Messages and multiparts are sent as application/octet-stream:
	// they must not be in base64.
	Type string
	Data []byte
}

// InputError says which part of a message is invalid. It names addresses and files, but no text of the message.
type InputError struct {
	Field   string // as the argument of the tool is called: to, cc, bcc, subject, from, body, html, attachments ...
	Problem string
}

// Error says what is wrong with which part.
func (e *InputError) Error() string { return e.Field + ": " + e.Problem }

// Compose returns the message as Gmail takes it: RFC 5322, 7 bits, with CRLF, and with Bcc, which Gmail removes. It has neither a
// date nor a Message-ID: Gmail adds them. The error is an [*InputError].
func (m *Message) Compose() ([]byte, error) {
	size := len(m.Text) + len(m.HTML)
	for _, a := range m.Attachments {
		size += base64.StdEncoding.EncodedLen(len(a.Data))
	}
	if size > MaxSize {
		return nil, tooLarge()
	}
	var out bytes.Buffer
	out.Grow(size + size/16 + 4096)
	if err := m.header(&out); err != nil {
		return nil, err
	}
	text, err := body("body", m.Text)
	if err != nil {
		return nil, err
	}
	rich, err := body("html", m.HTML)
	if err != nil {
		return nil, err
	}
	if text == "" && rich != "" {
		text, _ = body("html", html.Text(html.Source(rich), html.Options{}))
	}
	content := textPart("text/plain", text)
	if rich != "" {
		content = multi("alternative", content, textPart("text/html", rich))
	}
	if len(m.Attachments) > 0 {
		parts := append(make([]part, 0, 1+len(m.Attachments)), content)
		for _, a := range m.Attachments {
			p, err := a.part()
			if err != nil {
				return nil, err
			}
			parts = append(parts, p)
		}
		content = multi("mixed", parts...)
	}
	out.WriteString("MIME-Version: 1.0\r\n")
	content.write(&out)
	if out.Len() > MaxSize {
		return nil, tooLarge()
	}
	return out.Bytes(), nil
}

func tooLarge() error {
	return &InputError{"attachments", fmt.Sprintf("the message is larger than %d MB with everything encoded", MaxSize>>20)}
}

// header writes the header, except what is about the body.
func (m *Message) header(out *bytes.Buffer) error {
	from, err := ParseAddresses("from", []string{m.From})
	if err != nil {
		return err
	}
	if len(from) > 1 {
		return &InputError{"from", "has more than one address"}
	}
	write := func(name string, words []string) {
		if len(words) > 0 {
			out.WriteString(fold(name, words))
		}
	}
	write("From", addressWords(from))
	for _, f := range []struct {
		name, field string
		list        []string
	}{{"To", "to", m.To}, {"Cc", "cc", m.Cc}, {"Bcc", "bcc", m.Bcc}} {
		list, err := ParseAddresses(f.field, f.list)
		if err != nil {
			return err
		}
		write(f.name, addressWords(list))
	}
	if problem := headerProblem(m.Subject); problem != "" {
		return &InputError{"subject", problem}
	}
	write("Subject", words(m.Subject))
	if m.InReplyTo != "" {
		if !isMessageID(m.InReplyTo) {
			return &InputError{"in_reply_to", "is not a Message-ID"}
		}
		write("In-Reply-To", []string{m.InReplyTo})
	}
	for _, id := range m.References {
		if !isMessageID(id) {
			return &InputError{"references", "holds what is not a Message-ID"}
		}
	}
	write("References", m.References)
	return nil
}

// body returns the text of a body with CRLF at the ends of lines.
func body(field, s string) (string, error) {
	if !utf8.ValidString(s) {
		return "", &InputError{field, "is not valid UTF-8"}
	}
	if strings.Contains(s, "\x00") {
		return "", &InputError{field, "contains a NUL character"}
	}
	return strings.ReplaceAll(newLines.Replace(s), "\n", "\r\n"), nil
}

// newLines makes LF of the ends of lines.
var newLines = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// part is a part of a message: data as it is sent, or parts.
type part struct {
	header [][2]string // folded
	data   []byte
	parts  []part
}

func (p part) write(out *bytes.Buffer) {
	boundary := ""
	if len(p.parts) > 0 { // 240 random bits, which nothing in the message can hold
		boundary = multipart.NewWriter(nil).Boundary()
	}
	for _, h := range p.header {
		out.WriteString(h[0] + ": " + h[1])
		if boundary != "" && h[0] == contentType {
			out.WriteString(";\r\n boundary=" + boundary)
		}
		out.WriteString("\r\n")
	}
	out.WriteString("\r\n")
	out.Write(p.data)
	for _, child := range p.parts {
		out.WriteString("\r\n--" + boundary + "\r\n")
		child.write(out)
	}
	if len(p.parts) > 0 {
		out.WriteString("\r\n--" + boundary + "--\r\n")
	}
}

const (
	contentType     = "Content-Type"
	transfer        = "Content-Transfer-Encoding"
	maxPlainLine    = 78  // characters of a line that is sent as it is
	maxTypeLength   = 200 // bytes
	maxNameLength   = 255 // bytes, as file systems have it
	base64LineBytes = 57  // that make 76 characters
)

func multi(kind string, parts ...part) part {
	return part{header: [][2]string{{contentType, "multipart/" + kind}}, parts: parts}
}

// textPart encodes text in the way that leaves most of it readable.
func textPart(media, s string) part {
	way, data := "7bit", []byte(s)
	switch foreign, plain := survey(s); {
	case plain:
	case foreign > len(s)/4:
		way, data = "base64", base64Lines(data)
	default:
		way = "quoted-printable"
		var b bytes.Buffer
		w := quotedprintable.NewWriter(&b)
		_, _ = w.Write(data) // a buffer takes all
		_ = w.Close()
		data = b.Bytes()
	}
	return part{header: [][2]string{{contentType, media + "; charset=utf-8"}, {transfer, way}}, data: data}
}

// survey counts the bytes that are not ASCII, and reports whether a text can be sent as it is.
func survey(s string) (foreign int, plain bool) {
	plain = true
	for line := range strings.SplitSeq(s, "\r\n") {
		if len(line) > maxPlainLine || strings.HasSuffix(line, " ") || strings.HasSuffix(line, "\t") || strings.HasPrefix(line, "From ") {
			plain = false
		}
		for i := range len(line) {
			switch c := line[i]; {
			case c >= utf8.RuneSelf:
				foreign++
				plain = false
			case c < ' ' && c != '\t' || c == 0x7F:
				plain = false
			}
		}
	}
	return foreign, plain
}

// base64Lines encodes data in lines of 76 characters.
func base64Lines(data []byte) []byte {
	out := make([]byte, 0, base64.StdEncoding.EncodedLen(len(data))*78/76+8)
	for len(data) > 0 {
		n := min(len(data), base64LineBytes)
		out = append(base64.StdEncoding.AppendEncode(out, data[:n]), "\r\n"...)
		data = data[n:]
	}
	return out
}

// mediaType is a media type, with parameters or without.
var mediaType = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*\s*(;|$)`)

func (a Attachment) part() (part, error) {
	invalid := func(format string, args ...any) (part, error) {
		return part{}, &InputError{"attachments", fmt.Sprintf(format, args...)}
	}
	shown := fmt.Sprintf("%.100q", a.Name)
	switch problem := headerProblem(a.Name); {
	case problem != "":
		return invalid("the name %s %s", shown, problem)
	case strings.Trim(a.Name, ". \t") == "" || strings.ContainsAny(a.Name, "/\\\t\u0085\u2028\u2029"):
		return invalid("the name %s is not the base name of a file", shown)
	case strings.Contains(a.Name, "=?"):
		return invalid("the name %s contains =?, which readers may decode", shown)
	case len(a.Name) > maxNameLength:
		return invalid("the name %s is longer than %d bytes", shown, maxNameLength)
	}
	stated := a.Type
	if stated == "" {
		stated = typeOf(a.Name)
	}
	media, params, err := mime.ParseMediaType(stated)
	if err != nil || !mediaType().MatchString(stated) || len(stated) > maxTypeLength || headerProblem(stated) != "" {
		return invalid("the type of %s, %.100q, is not a media type", shown, a.Type)
	}
	if strings.HasPrefix(media, "multipart/") || strings.HasPrefix(media, "message/") {
		media, params = "application/octet-stream", nil
	}
	delete(params, "name")
	delete(params, "boundary")
	formatted := mime.FormatMediaType(media, params)
	if formatted == "" {
		return invalid("the type of %s, %.100q, is not a media type", shown, a.Type)
	}
	return part{
		header: [][2]string{{contentType, formatted}, {"Content-Disposition", "attachment" + fileName(a.Name)}, {transfer, "base64"}},
		data:   base64Lines(a.Data),
	}, nil
}

// fileName returns the parameters with a name: as it is if that is plain, else as RFC 2231 says, and a name in ASCII for readers
// that do not know of that.
func fileName(name string) string {
	ascii := strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7F || strings.ContainsRune(`"\%=?*'`, r) {
			return '_'
		}
		return r
	}, name)
	if ascii == name && name == strings.TrimSpace(name) && !strings.Contains(name, "  ") {
		return ";\r\n filename=\"" + name + `"`
	}
	var b strings.Builder
	piece := "utf-8''"
	for i, rest := 0, []rune(name); len(rest) > 0; i++ {
		for ; len(rest) > 0 && len(piece) < 50; rest = rest[1:] {
			piece += escaped.Replace(url.QueryEscape(string(rest[0])))
		}
		if i == 0 && len(rest) == 0 {
			b.WriteString(";\r\n filename*=" + piece)
		} else {
			fmt.Fprintf(&b, ";\r\n filename*%d*=%s", i, piece)
		}
		piece = ""
	}
	// Behind the other one, as Python's reader takes the first.
	b.WriteString(";\r\n filename=\"" + strings.Join(strings.Fields(ascii), " ") + `"`)
	return b.String()
}

// escaped writes as such a parameter does what queries write in another way.
var escaped = strings.NewReplacer("+", "%20", "~", "%7E")

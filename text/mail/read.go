package mail

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	stdhtml "html"
	"slices"
	"strings"

	"google.golang.org/api/gmail/v1"

	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/text/html"
)

// Bounds of what is read of a message.
const (
	maxDepth   = 20       // of parts in parts
	maxParts   = 200      // of a message
	maxText    = 10 << 20 // bytes of all its text
	maxFetches = 20       // of text that Gmail delivers apart
)

const notRead = "a part of the text, of %d bytes, was not read: the message is too large"

// Fetch returns the content of a body that Gmail delivers apart.
type Fetch func(ctx context.Context, attachmentID string) ([]byte, error)

// Body is what a message says.
type Body struct {
	Text        string           // as asked for
	Source      string           // text/html or text/plain: what Text was made of; "" if there is no text
	Warnings    []string         // what is missing or may be wrong
	Attachments []AttachmentInfo // also those of messages in the message
}

// Read returns what a message in format=full says: its text, or with html the HTML without scripts and what readers do not see.
// Of alternatives it takes HTML, unless that has no text. Hidden text is left out. The error is that of fetch.
func Read(ctx context.Context, root *gmail.MessagePart, fetch Fetch, html bool) (Body, error) {
	return (&reader{ctx: ctx, fetch: fetch, html: html}).read(root)
}

// ReadWritten is [Read] as text without what a reply quotes.
func ReadWritten(ctx context.Context, root *gmail.MessagePart, fetch Fetch) (Body, error) {
	return (&reader{ctx: ctx, fetch: fetch, written: !isForwarded().MatchString(Header(root, "Subject"))}).read(root)
}

// Attachments returns those of a message, which needs not have the content of its parts.
func Attachments(root *gmail.MessagePart) []AttachmentInfo {
	r := reader{}
	r.survey(root, 0, false)
	return r.body.Attachments
}

func (r *reader) read(root *gmail.MessagePart) (Body, error) {
	top := r.survey(root, 0, false)
	text, err := r.text(top)
	if err != nil {
		return Body{}, err
	}
	if text.content != "" {
		r.body.Text = text.content
		r.body.Source = "text/plain"
		if text.rich {
			r.body.Source = "text/html"
		}
	}
	return r.body, nil
}

// reader reads one message.
type reader struct {
	ctx     context.Context
	fetch   Fetch
	html    bool
	written bool // without quotes
	body    Body
	parts   int
	fetches int
	size    int64 // of the text read so far
}

// node is a part of a message.
type node struct {
	part       *gmail.MessagePart
	media      string
	attachment bool
	children   []*node
}

// warn notes what the caller is to know, once.
func (r *reader) warn(format string, args ...any) {
	if w := fmt.Sprintf(format, args...); len(r.body.Warnings) < 10 && !slices.Contains(r.body.Warnings, w) {
		r.body.Warnings = append(r.body.Warnings, w)
	}
}

// survey makes the tree of a message and the list of its attachments; nil beyond the bounds.
func (r *reader) survey(p *gmail.MessagePart, depth int, related bool) *node {
	if p == nil {
		return nil
	}
	if r.parts == maxParts || depth > maxDepth {
		r.warn("the message has more than %d parts, or parts more than %d deep: the rest was not read", maxParts, maxDepth)
		return nil
	}
	r.parts++
	n := &node{part: p, media: strings.ToLower(strings.TrimSpace(p.MimeType))}
	if n.media == "" {
		n.media = "text/plain"
	}
	disposition, _, _ := strings.Cut(rawHeader(p, "Content-Disposition"), ";")
	disposition = strings.ToLower(strings.TrimSpace(disposition))
	multi := strings.HasPrefix(n.media, "multipart/")
	n.attachment = !multi && (p.Filename != "" || disposition == "attachment" || !readable(n.media))
	if n.attachment || n.media == "message/rfc822" && p.Body != nil && p.Body.AttachmentId != "" {
		r.attach(p, n.media, disposition == "inline" || disposition == "" && related && rawHeader(p, "Content-Id") != "")
	}
	for _, c := range p.Parts {
		if child := r.survey(c, depth+1, n.media == "multipart/related"); child != nil {
			n.children = append(n.children, child)
		}
	}
	return n
}

// amp is a format of mail that runs scripts. It always has alternatives.
const amp = "text/x-amp-html"

// readable reports whether a part of that type is text of a message unless it is said to be an attachment.
func readable(media string) bool {
	switch media {
	case "text/plain", "text/html", amp, "text/enriched", "text/markdown", "text/rfc822-headers", "message/rfc822", "message/global",
		"message/delivery-status", "message/disposition-notification":
		return true
	}
	return false
}

// text is what a part says.
type text struct {
	content string
	rich    bool // made of HTML
}

// text returns what a part and those in it say.
func (r *reader) text(n *node) (text, error) {
	switch {
	case n == nil || n.attachment && len(n.children) == 0 || n.media == amp:
		return text{}, nil
	case n.media == "multipart/alternative":
		return r.alternative(n)
	case n.media == "message/rfc822" || n.media == "message/global":
		return r.enclosed(n)
	case len(n.children) > 0:
		return r.all(n.children)
	case strings.HasPrefix(n.media, "multipart/"):
		return text{}, nil
	}
	return r.leaf(n)
}

// all returns what parts say, one below the other.
func (r *reader) all(nodes []*node) (text, error) {
	var contents []string
	var all text
	for _, n := range nodes {
		t, err := r.text(n)
		if err != nil {
			return text{}, err
		}
		if t.content != "" {
			contents = append(contents, t.content)
			all.rich = all.rich || t.rich
		}
	}
	all.content = strings.Join(contents, "\n\n")
	return all, nil
}

// alternative returns what the best of the alternatives says that says anything: the last with HTML, or else the last.
func (r *reader) alternative(n *node) (text, error) {
	empty := false // there is HTML, without text
	for _, wanted := range []bool{true, false} {
		for _, c := range slices.Backward(n.children) {
			if c.attachment || c.rich() != wanted {
				continue
			}
			t, err := r.text(c)
			if err != nil {
				return text{}, err
			}
			if t.content != "" && (wanted || !empty || !excuse(t.content)) {
				return t, nil
			}
			empty = empty || wanted
		}
	}
	return text{}, nil
}

// rich reports whether there is HTML in a part.
func (n *node) rich() bool {
	return n.media == "text/html" && !n.attachment || slices.ContainsFunc(n.children, (*node).rich)
}

// excuse reports whether a text only says that there is HTML which the reader does not show.
func excuse(s string) bool {
	s = strings.ToLower(s)
	return len(s) <= 400 && strings.Contains(s, "html") && excuses().MatchString(s)
}

var excuses = lazyregexp.New(`support|view|display|enable|capable|compatible|anzeigen|darstell|unterstütz`)

// enclosed returns what a message in a message says, below a line that says whose it is.
func (r *reader) enclosed(n *node) (text, error) {
	head := n.part
	if len(n.children) > 0 && rawHeader(head, "From") == "" {
		head = n.children[0].part
	}
	defer func(was bool) { r.written = was }(r.written)
	r.written = false // it was forwarded
	t, err := r.all(n.children)
	if len(n.children) == 0 && head.Body != nil && head.Body.AttachmentId == "" {
		t, err = r.leaf(n)
	}
	if err != nil || t.content == "" && len(n.children) == 0 {
		return text{}, err
	}
	var fields []string
	for _, name := range []string{"From", "Subject", "Date"} {
		if v := Header(head, name); v != "" {
			fields = append(fields, name+": "+v)
		}
	}
	line := "--- Attached message: " + strings.Join(fields, "; ") + " ---"
	if r.html && t.rich {
		line = "<p>" + stdhtml.EscapeString(line) + "</p>"
	}
	t.content = strings.TrimSpace(line + "\n\n" + t.content)
	return t, nil
}

// leaf returns what a part of text says.
func (r *reader) leaf(n *node) (text, error) {
	data, err := r.data(n.part)
	if err != nil || len(data) == 0 {
		return text{}, err
	}
	rich := n.media == "text/html"
	kind := rawHeader(n.part, contentType)
	decoded, warning := decodeText(data, parameter(kind, "charset"), rich)
	if warning != "" {
		r.warn("%s", warning)
	}
	shown := func(src string) string { return html.Text(html.Source(src), html.Options{}) }
	switch {
	case rich && r.html:
		if decoded = html.Source(decoded); html.Text(decoded, html.Options{}) == "" {
			return text{rich: true}, nil
		}
	case rich:
		marked := decoded
		if decoded = shown(decoded); r.written {
			decoded = unquoted(shown(markQuotes(marked)), decoded)
		}
	default:
		if decoded = newLines.Replace(decoded); n.media == "text/enriched" {
			decoded = enriched(decoded)
		}
		if strings.EqualFold(parameter(kind, "format"), "flowed") {
			decoded = unflow(decoded, strings.EqualFold(parameter(kind, "delsp"), "yes"))
		}
		if decoded = html.Plain(decoded); r.written {
			decoded = unquoted(decoded, decoded)
		}
	}
	return text{strings.Trim(decoded, "\n \t"), rich}, nil
}

// unquoted returns what a text with marks says without quotes; whole if there are none.
func unquoted(marked, whole string) string {
	if text, n := Written(marked); n > 0 {
		return text
	}
	return whole
}

// data returns the body of a part, unless that is too much.
func (r *reader) data(p *gmail.MessagePart) (data []byte, err error) {
	switch {
	case p.Body == nil || p.Body.Data == "" && p.Body.AttachmentId == "":
		return nil, nil
	case p.Body.Data != "":
		if r.tooMuch(int64(base64.RawURLEncoding.DecodedLen(len(p.Body.Data)))) {
			return nil, nil
		}
		if data, err = Decode(p.Body.Data); err != nil {
			r.warn("a part of the text is not valid base64 and was read as far as it is")
		}
	default:
		if r.tooMuch(p.Body.Size) || r.fetch == nil || r.fetches == maxFetches {
			r.warn(notRead, p.Body.Size)
			return nil, nil
		}
		r.fetches++
		if data, err = r.fetch(r.ctx, p.Body.AttachmentId); err != nil || r.tooMuch(int64(len(data))) {
			return nil, err
		}
	}
	r.size += int64(len(data))
	return data, nil
}

// tooMuch warns of text that makes too much of all.
func (r *reader) tooMuch(size int64) bool {
	if r.size+size <= maxText {
		return false
	}
	r.warn(notRead, size)
	return true
}

// Decode decodes data of Gmail's API: base64 for URLs or the ordinary one, padded or not. With an error, it returns what comes
// before what is wrong.
func Decode(data string) ([]byte, error) {
	data = strings.NewReplacer("+", "-", "/", "_", "\r", "", "\n", "", " ", "").Replace(data)
	data = strings.TrimRight(data, "=")
	out := make([]byte, base64.RawURLEncoding.DecodedLen(len(data)))
	n, err := base64.RawURLEncoding.Decode(out, []byte(data))
	return out[:n], err
}

var enrichedBreaks = lazyregexp.New(`\n+`)

// enrichedMarkup is that of text/enriched (RFC 1896), except <<, which is a character.
var enrichedMarkup = lazyregexp.New(`(?is)<param>.*?</param>|</?[a-z0-9-]{1,60}>`)

// enriched returns what text/enriched says: without markup, and with the line breaks that are meant, one less than there are.
func enriched(s string) string {
	s = enrichedBreaks().ReplaceAllStringFunc(strings.ReplaceAll(s, "<<", "\x00"), func(breaks string) string { return cmp.Or(breaks[1:], " ") })
	return strings.ReplaceAll(enrichedMarkup().ReplaceAllString(s, ""), "\x00", "<")
}

// unflow joins the lines that format=flowed (RFC 3676) has broken.
func unflow(s string, dropSpace bool) string {
	out := make([]byte, 0, len(s))
	open, depth := false, 0 // the last line goes on, and how often it is quoted
	for i, line := range strings.Split(s, "\n") {
		text := strings.TrimLeft(line, ">")
		quoted := len(line) - len(text)
		text = strings.TrimPrefix(text, " ")
		signature := text == "-- "
		switch {
		case open && quoted == depth && !signature:
			if dropSpace {
				out = bytes.TrimSuffix(out, []byte(" "))
			}
		case i > 0:
			out = append(out, '\n')
			fallthrough
		default:
			if quoted > 0 {
				out = append(append(out, line[:quoted]...), ' ')
			}
		}
		out = append(out, text...)
		open, depth = strings.HasSuffix(text, " ") && !signature, quoted
	}
	return string(out)
}

// Text returns what the source of a message says: the headers that people read, its text and a
// line for each attachment.
func Text(ctx context.Context, src []byte) (string, error) {
	root := Parse(src, nil)
	body, err := Read(ctx, root, nil, false)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, name := range []string{"From", "To", "Cc", "Date", "Subject"} {
		if v := Header(root, name); v != "" {
			b.WriteString(name + ": " + v + "\n")
		}
	}
	b.WriteString("\n" + body.Text + "\n")
	for _, a := range body.Attachments {
		fmt.Fprintf(&b, "\n[attachment: %s, %s, %d bytes]", a.Name, a.Type, a.Size)
	}
	for _, w := range body.Warnings {
		b.WriteString("\n[" + w + "]")
	}
	return strings.Trim(b.String(), "\n"), nil
}

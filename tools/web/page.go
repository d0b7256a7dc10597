package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/text/document"
	"github.com/toolserver/toolserver/text/html"
	"github.com/toolserver/toolserver/tools/files/content"
)

// page is what is at a URL, decoded. It is shared by calls, and not changed but
// for its rendering.
type page struct {
	url        *url.URL // after redirects
	redirects  []string // the URLs that were redirected to
	downgraded bool     // a redirect led from https to http
	status     int
	header     http.Header
	at         time.Time // when it was retrieved
	missing    int64     // bytes that were announced and did not come; -1 if unknown
	late       bool      // because of the time limit
	limit      time.Duration
	size       int    // of the body
	media      string // type/subtype
	charset    string
	doubt      string // about the charset
	text       string
	opened     *content.Content // of a document or an image
	title      string

	checked  time.Time     // when the site last confirmed the page
	lifetime time.Duration // how long it may be used from then on
	stored   bool          // whether the site lets it be used again; if not, it only serves its further parts

	last *rendering // shared by the states of a page
}

// rendering is the text that was last made of a page, for the call that asks
// for its next part.
type rendering struct {
	mu   sync.Mutex
	of   renderKey
	made *rendered
}

// decode makes text of the body.
func (p *page) decode(ctx context.Context, contents *content.Reader, body []byte) error {
	contentType := p.header.Get("Content-Type")
	p.size, p.last = len(body), &rendering{}
	if bytes.HasPrefix(body, []byte("\x1f\x8b")) && isText(p.media) { // a coding that is not said
		if z, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
			if unzipped, err := io.ReadAll(io.LimitReader(z, maxBody+1)); err == nil && len(unzipped) <= maxBody {
				body, p.size = unzipped, len(unzipped)
			}
		}
	}
	if s := p.document(body); s.Type.Kind != document.Other {
		if err := p.open(ctx, contents, s); err != nil || s.Type.Kind < document.Notebook || s.Type.Kind > document.Mail {
			return err
		}
	} else if !isText(p.media) {
		return unsupported(fmt.Sprintf("Unsupported content type %s (%s bytes)", p.media, brief.Thousands(p.size)), instead(p.media))
	}
	p.text, p.charset, p.doubt = decode(body, contentType)
	if isHTML(p.media) {
		source := p.text
		if p.media == "application/xhtml+xml" {
			source = html.FromXHTML(source)
		}
		p.title = html.Title(source)
		if runes := []rune(p.title); len(runes) > maxTitle {
			p.title = string(runes[:maxTitle]) + "…"
		}
	}
	return nil
}

// cost is what the page takes in the cache.
func (p *page) cost() int64 {
	n := 2*len(p.text) + 8<<10
	if p.opened != nil {
		n += len(p.opened.Text)
		if p.opened.Picture != nil {
			n += len(p.opened.Picture.Data)
		}
	}
	return int64(n)
}

const (
	maxTitle = 300 // characters
	// maxHeaderChars is room for everything but the content: two URLs, the title,
	// and the call that reads on.
	maxHeaderChars = 30_000
)

func mediaType(contentType string, body []byte) string {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		media, _, _ = strings.Cut(contentType, ";")
		media = strings.ToLower(strings.TrimSpace(media))
	}
	if media == "" || media == "application/octet-stream" || !strings.Contains(media, "/") {
		return sniff(body)
	}
	if sniffed := sniff(body); !isText(media) && len(body) > 0 && isText(sniffed) && mostlyUTF8(body) { // an error page, say
		return sniffed
	}
	return media
}

// answer writes the result: a header, as callers know it, and the part of the
// content that was asked for, as far as it fits a result of most characters.
func (p *page) answer(ctx context.Context, in input, made *rendered, cached bool, most int) (domain.ToolResult, error) {
	content := made.text
	total := utf8.RuneCountInString(content)
	if in.StartIndex > 0 && in.StartIndex >= total {
		message := fmt.Sprintf("start_index %s is past the end: the content has %s characters", brief.Thousands(in.StartIndex), brief.Thousands(total))
		return failure("out_of_range", message, "Read from a start_index below "+strconv.Itoa(total)+"."), nil
	}
	head := p.head(in, made)
	room := most - utf8.RuneCountInString(head) - utf8.RuneCountInString(in.call(in.StartIndex)) - noticeChars
	part := cutRunes(content, in.StartIndex, min(in.MaxChars, max(room, leastChars)))
	shown := utf8.RuneCountInString(part)
	next := in.StartIndex + shown

	var b strings.Builder
	b.Grow(len(head) + len(part) + 1024)
	b.WriteString(head)
	fmt.Fprintf(&b, "Length: %s chars", brief.Thousands(shown))
	switch {
	case in.StartIndex > 0:
		fmt.Fprintf(&b, " (from %s of %s)", brief.Thousands(in.StartIndex), brief.Thousands(total))
	case next < total:
		fmt.Fprintf(&b, " (truncated from %s)", brief.Thousands(total))
	}
	content = "\n--- Content ---\n\n" + part
	if part != "" {
		content = call.Untrusted(ctx, "Page", "its author", content)
	}
	b.WriteString("\n" + content)
	if next < total {
		fmt.Fprintf(&b, "\n\n"+truncated+" %s characters]\n"+readOn+" %s]", brief.Thousands(shown), in.call(next))
	}
	if p.missing != 0 {
		why := endedEarly
		if p.late {
			why = fmt.Sprintf(reachedLimit+" of %g seconds was reached", p.limit.Seconds())
		}
		b.WriteString("\n\n" + why + ", so the end is missing")
		if p.missing > 0 {
			fmt.Fprintf(&b, ": %s of %s bytes came", brief.Thousands(p.size), brief.Thousands(int64(p.size)+p.missing))
		}
		b.WriteString("]")
	}
	res := domain.Text(b.String())
	if p.opened != nil && p.opened.Picture != nil {
		res.Content = append(res.Content, domain.Content{Type: domain.ImageContent, Data: p.opened.Picture.Data, MIMEType: p.opened.Picture.MIME})
	}
	meta := &pageMeta{
		URL: in.URL, FinalURL: p.url.String(), Redirects: p.redirects, Status: p.status, ContentType: p.media, Charset: p.charset,
		Title: p.title, Length: shown, TotalLength: total, StartIndex: in.StartIndex, Truncated: next < total,
		Hidden: made.hidden, Incomplete: p.missing != 0, Cached: cached, RetrievedAt: p.at.UTC().Truncate(time.Second),
	}
	if next < total {
		meta.NextStartIndex = &next
	}
	res.Meta = meta
	res.Made = map[string][]string{"url": p.redirects}
	return res, nil
}

const (
	noticeChars = 300 + call.MarkRoom // room for what surrounds the content besides the header and the call that reads on
	leastChars  = 100                 // shown of the content, however long the rest is
)

// Our own lines below the content begin like this.
const (
	truncated    = "[Content truncated at"
	readOn       = "[To read on:"
	endedEarly   = "[The connection ended early"
	reachedLimit = "[The time limit"
)

// unforged marks what looks like our own lines in the content of a page as words of the page. Above the content are our own lines only.
func unforged(content string) string {
	for _, own := range []string{truncated, readOn, endedEarly, reachedLimit} {
		if strings.Contains(content, own) {
			content = strings.ReplaceAll(content, own, "[the page says: "+own[1:])
		}
	}
	return content
}

// head is the header up to the length of the content.
func (p *page) head(in input, made *rendered) string {
	var b strings.Builder
	fmt.Fprintf(&b, "URL: %s\n", in.URL)
	if len(p.redirects) > 0 {
		fmt.Fprintf(&b, "Final URL: %s\n", p.url)
	}
	if p.downgraded {
		b.WriteString("Warning: a redirect led from https to http, so this may have been changed on its way\n")
	}
	fmt.Fprintf(&b, "Status: %d\nContent-Type: %s\n", p.status, p.media)
	if p.title != "" {
		fmt.Fprintf(&b, "Title: %s\n", p.title)
	}
	if p.doubt != "" {
		fmt.Fprintf(&b, "Note: %s\n", p.doubt)
	}
	for _, note := range made.notes {
		fmt.Fprintf(&b, "Note: %s\n", note)
	}
	return b.String()
}

// call is the call that reads on from an index.
func (in input) call(start int) string {
	args := []string{"url=" + strconv.Quote(in.URL), fmt.Sprintf("start_index=%d", start)}
	if in.MaxChars != defaultMaxChars {
		args = append(args, fmt.Sprintf("maxChars=%d", in.MaxChars))
	}
	for _, a := range []struct{ name, value, def string }{
		{"format", in.Format, "text"}, {"content", in.Content, "page"}, {"selector", in.Selector, ""},
	} {
		if a.value != a.def {
			args = append(args, a.name+"="+strconv.Quote(a.value))
		}
	}
	if in.Links != (input{Content: in.Content}).linkStyle() {
		args = append(args, "links="+strconv.Quote(in.Links))
	}
	if in.Hidden {
		args = append(args, "include_hidden=true")
	}
	return Name + "(" + strings.Join(args, ", ") + ")"
}

// pageMeta is the _meta of a result.
type pageMeta struct {
	URL            string    `json:"url"`
	FinalURL       string    `json:"final_url"`
	Redirects      []string  `json:"redirects,omitempty"`
	Status         int       `json:"status"`
	ContentType    string    `json:"content_type"`
	Charset        string    `json:"charset"`
	Title          string    `json:"title,omitempty"`
	Length         int       `json:"length"`       // characters that are shown
	TotalLength    int       `json:"total_length"` // characters that there are
	StartIndex     int       `json:"start_index"`
	NextStartIndex *int      `json:"next_start_index,omitempty"`
	Truncated      bool      `json:"truncated"`
	Hidden         int       `json:"hidden_chars,omitempty"` // left out because the page hides them
	Incomplete     bool      `json:"incomplete,omitempty"`   // the connection or the time ended before the page did
	Cached         bool      `json:"cached"`
	RetrievedAt    time.Time `json:"retrieved_at"`
}

// cutRunes returns count characters of s from the one at start.
func cutRunes(s string, start, count int) string {
	s = s[runeOffset(s, start):]
	return s[:runeOffset(s, count)]
}

// runeOffset returns where in s the character at index is, or its end.
func runeOffset(s string, index int) int {
	for offset := range s {
		if index == 0 {
			return offset
		}
		index--
	}
	return len(s)
}

package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/text/html"
)

func isHTML(media string) bool { return media == "text/html" || media == "application/xhtml+xml" }

func isJSON(media string) bool {
	return media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json")
}

// isText reports whether a type of media can be shown as text.
func isText(media string) bool {
	if strings.HasPrefix(media, "text/") || isJSON(media) || isHTML(media) || strings.HasSuffix(media, "+xml") || strings.HasSuffix(media, "+yaml") {
		return true
	}
	switch media {
	case "application/xml", "application/javascript", "application/ecmascript", "application/x-javascript", "application/yaml",
		"application/x-yaml", "application/toml", "application/x-ndjson", "application/ndjson", "application/jsonl", "application/json-seq",
		"application/sql", "application/x-sh", "application/x-httpd-php", "application/graphql", "application/rtf", "application/x-tex",
		"application/x-subrip", "application/pem-certificate-chain", "application/x-www-form-urlencoded":
		return true
	}
	return false
}

// sniff returns the type of a body that nobody has named.
func sniff(body []byte) string {
	media, _, _ := strings.Cut(http.DetectContentType(body), ";")
	if media == "text/plain" && json.Valid(body) && bytes.ContainsAny(body[:1], "{[") {
		return "application/json"
	}
	return media
}

// renderKey is what the text of a page depends on.
type renderKey struct {
	format, content, selector, links string
	hidden                           bool
}

// rendered is the text of a page, and what is to be known of it.
type rendered struct {
	text   string
	hidden int      // characters left out because the page hides them
	notes  []string // for the header
}

// render makes the content that is shown.
func (p *page) render(in input) (*rendered, error) {
	key := renderKey{in.Format, in.Content, in.Selector, in.Links, in.Hidden}
	p.last.mu.Lock()
	defer p.last.mu.Unlock()
	if p.last.made != nil && p.last.of == key {
		return p.last.made, nil
	}
	made, err := p.convert(key)
	if err != nil {
		return nil, err
	}
	made.text = unforged(made.text)
	p.last.of, p.last.made = key, made
	return made, nil
}

func (p *page) convert(key renderKey) (*rendered, error) {
	if isHTML(p.media) {
		return p.convertHTML(key)
	}
	if key.selector != "" {
		return nil, unsupported("only HTML has parts to select, and this is "+p.media, "Leave selector out.")
	}
	made := &rendered{text: p.text}
	if o := p.opened; o != nil {
		if key.format != "raw" || p.text == "" {
			made.text = o.Text
		}
		if o.Note != "" {
			made.notes = append(made.notes, "this is not all of it: "+o.Note)
		}
		if o.Picture != nil {
			made.notes = append(made.notes, fmt.Sprintf("an image of %d x %d pixels, shown with %d x %d", o.Picture.Width, o.Picture.Height, o.Picture.Shown[0],
				o.Picture.Shown[1]))
		}
		return made, nil
	}
	if key.content == "article" {
		made.notes = []string{"only HTML has an article to find, so this is everything"}
	}
	if p.size == 0 {
		made.notes = []string{"the site sent no content"}
	}
	if key.format == "raw" {
		return made, nil
	}
	if isJSON(p.media) {
		var b bytes.Buffer
		if json.Indent(&b, []byte(p.text), "", "  ") == nil { // what is not JSON is shown as it is
			made.text = b.String()
		}
	} else if doc, ok := feedDocument(p.media, p.text); ok {
		made.text, made.hidden = html.Convert(doc, key.options(p.url), key.format == "markdown")
	}
	return made, nil
}

func (key renderKey) options(base *url.URL) html.Options {
	return html.Options{Base: base, Links: linkStyles[key.links], SkipMarked: !key.hidden}
}

func (p *page) convertHTML(key renderKey) (*rendered, error) {
	source, base, made := p.text, p.url, &rendered{}
	if p.media == "application/xhtml+xml" && key.format != "raw" {
		source = html.FromXHTML(source)
	}
	if !key.hidden && key.format != "raw" {
		source, made.hidden = html.Shown(source)
	}
	if key.selector != "" {
		selected, err := selectParts(source, key.selector)
		if err != nil {
			return nil, err
		}
		source, base = selected, html.Base(source, base)
	}
	clues := html.Clues{}
	if key.content == "article" {
		clues = html.FindClues(source, base)
		article := html.Article(source, base)
		switch chars := runes(article); {
		case chars >= leastArticle:
			if all := runes(source); chars < leastKept && chars*2 < all {
				made.notes = append(made.notes, fmt.Sprintf("the article has %s of the %s characters of the page; content=\"page\" returns all",
					brief.Thousands(chars), brief.Thousands(all)))
			}
			source, base = article, p.url
		default:
			made.notes = append(made.notes, "no article was found on this page, so this is all of it")
		}
	}
	if key.format == "raw" {
		made.text = source
		return made, nil
	}
	text, hidden := html.Convert(source, key.options(base), key.format == "markdown")
	made.text, made.hidden = text, made.hidden+hidden
	if key.selector == "" {
		p.explainLittle(made, clues, base)
	}
	return made, nil
}

const (
	// leastArticle is how many characters an article has.
	leastArticle = 140
	// leastKept is how many characters of an article are enough, however little that is of the page.
	leastKept = 1500
)

// runes returns how many characters of text a document has.
func runes(source string) int {
	return utf8.RuneCountInString(html.Text(source, html.Options{Links: html.None, SkipMarked: true}))
}

// selectParts returns the parts of a document that a selector names.
func selectParts(source, selector string) (string, error) {
	selected, n, err := html.Select(source, selector)
	invalid, ok := errors.AsType[*html.SelectorError](err)
	switch {
	case ok:
		return "", domain.InvalidArgument(Name, "selector", "is no CSS selector: "+invalid.Err.Error())
	case errors.Is(err, html.ErrSelectTime):
		return "", &httpcall.Failure{Type: "timed_out", Message: err.Error(), Hint: "Use a simpler selector, or leave it out."}
	case err != nil:
		return "", err
	case n == 0:
		return "", &httpcall.Failure{
			Type: "not_found", Message: fmt.Sprintf("nothing on the page matches the selector %q", selector),
			Hint: "Leave selector out to see the whole page.",
		}
	}
	return selected, nil
}

var linkStyles = map[string]html.LinkStyle{"inline": html.Inline, "none": html.None, "list": html.List}

func unsupported(message, hint string) error {
	return &httpcall.Failure{Type: "unsupported_content", Message: message, Hint: hint}
}

// instead returns what to do about content that is not text.
func instead(media string) string {
	switch kind, _, _ := strings.Cut(media, "/"); {
	case kind == "audio" || kind == "video":
		return "Sound and video are not read. Look for a transcript or captions."
	}
	return "Only text can be read: HTML, JSON, XML, plain text and the like. Look for another form of it, or ask the user to save the file."
}

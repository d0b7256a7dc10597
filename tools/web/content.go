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

	"toolserver/domain"
	"toolserver/tools/html"
	"toolserver/tools/httpcall"
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
	if !isText(p.media) {
		message := fmt.Sprintf("Unsupported content type %s (%s bytes)", p.media, domain.Thousands(p.size))
		return nil, unsupported(message, instead(p.media))
	}
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
		switch article := html.Article(source, base); {
		case utf8.RuneCountInString(html.Text(article, html.Options{Links: html.None})) >= leastArticle:
			source, base = article, p.url
		default:
			made.notes = append(made.notes, "no article was found on this page, so this is all of it")
		}
	}
	if key.format == "raw" {
		made.text = source
		return made, nil
	}
	made.text, made.hidden = html.Convert(source, key.options(base), key.format == "markdown")
	if key.selector == "" {
		p.explainLittle(made, clues, base)
	}
	return made, nil
}

// leastArticle is how many characters an article has.
const leastArticle = 140

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
	case media == "application/pdf":
		return "A PDF is not read from the web. Look for the same text as HTML, such as its abstract page, or ask the user to save the file: " +
			"read_file reads it."
	case strings.Contains(media, "officedocument"):
		return "Office documents are not read from the web. Ask the user to save the file: read_file reads it."
	case kind == "image":
		return "Images are not read from the web. Fetch the page that shows it for what is written about it, or ask the user to save the file: read_file shows images."
	case kind == "audio" || kind == "video":
		return "Sound and video are not read. Look for a transcript or captions."
	}
	return "Only text can be read: HTML, JSON, XML, plain text and the like. Look for another form of it, or ask the user to save the file."
}

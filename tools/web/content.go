package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

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
type renderKey struct{ format, selector, links string }

// render makes the content that is shown.
func (p *page) render(in input) (string, error) {
	if !isText(p.media) {
		message := fmt.Sprintf("Unsupported content type %s (%s bytes)", p.media, domain.Thousands(p.size))
		return "", unsupported(message, "Only text can be read: HTML, JSON, XML, plain text and the like.")
	}
	key := renderKey{in.Format, in.Selector, in.Links}
	p.last.mu.Lock()
	defer p.last.mu.Unlock()
	if p.last.text != "" && p.last.of == key {
		return p.last.text, nil
	}
	text, err := p.convert(key)
	if err == nil {
		p.last.of, p.last.text = key, text
	}
	return text, err
}

func (p *page) convert(key renderKey) (string, error) {
	source := p.text
	switch {
	case isHTML(p.media):
		return p.convertHTML(key)
	case key.selector != "":
		return "", unsupported("only HTML has parts to select, and this is "+p.media, "Leave selector out.")
	case isJSON(p.media) && key.format != "raw":
		var b bytes.Buffer
		if json.Indent(&b, []byte(source), "", "  ") == nil { // what is not JSON is shown as it is
			return b.String(), nil
		}
	}
	return source, nil
}

func (p *page) convertHTML(key renderKey) (string, error) {
	source, base := p.text, p.url
	if key.selector != "" {
		selected, n, err := html.Select(source, key.selector)
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
				Type: "not_found", Message: fmt.Sprintf("nothing on the page matches the selector %q", key.selector),
				Hint: "Leave selector out to see the whole page.",
			}
		}
		source, base = selected, html.Base(p.text, base)
	}
	options := html.Options{Base: base, Links: linkStyles[key.links]}
	switch key.format {
	case "raw":
		return source, nil
	case "markdown":
		return html.Markdown(source, options), nil
	}
	return html.Text(source, options), nil
}

var linkStyles = map[string]html.LinkStyle{"inline": html.Inline, "none": html.None, "list": html.List}

func unsupported(message, hint string) error {
	return &httpcall.Failure{Type: "unsupported_content", Message: message, Hint: hint}
}

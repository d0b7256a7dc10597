package html

import (
	"encoding/json"
	"net/url"
	"strings"

	"codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"
)

// Clues are what a document has for browsers and search engines, and not for those who read its text.
type Clues struct {
	Refresh     string // the address that a meta refresh leads to, or ""
	ArticleBody string // the text of the article in its structured data (JSON-LD), or ""
	Scripted    bool   // it has scripts
}

// FindClues reads a document for them.
func FindClues(src string, address *url.URL) (c Clues) {
	links := newLinks(src, Options{Base: address})
	data := false // what follows is structured data
	for s := newScanner(src); s.next(); {
		switch {
		case s.kind == html.TextToken && data:
			if body := articleBody(s.content()); len(body) > len(c.ArticleBody) {
				c.ArticleBody = body
			}
		case s.kind == html.EndTagToken || s.kind == html.TextToken:
		case s.name == "script":
			c.Scripted = true
			data = strings.EqualFold(strings.TrimSpace(s.attr("type")), "application/ld+json")
			continue
		case s.name == "base":
			links.rebase(s.attr("href"))
		case s.name == "meta" && strings.EqualFold(s.attr("http-equiv"), "refresh") && c.Refresh == "":
			c.Refresh = links.address(refreshTarget(s.attr("content")))
		}
		data = false
	}
	if strings.ContainsAny(c.ArticleBody, "<&") {
		c.ArticleBody = Text(c.ArticleBody, Options{Base: address, SkipMarked: true})
	}
	c.ArticleBody = strings.TrimSpace(Plain(c.ArticleBody))
	return c
}

// refreshTarget returns the address in the content of a meta refresh: 5; url='/there'.
func refreshTarget(content string) string {
	rest := strings.TrimLeft(content, "0123456789. \t\r\n")
	rest = strings.TrimSpace(strings.TrimLeft(rest, ";,"))
	if len(rest) >= 3 && strings.EqualFold(rest[:3], "url") {
		if value, ok := strings.CutPrefix(strings.TrimSpace(rest[3:]), "="); ok {
			rest = strings.TrimSpace(value)
		}
	}
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		rest, _, _ = strings.Cut(rest[1:], rest[:1])
	}
	return rest
}

// articleBody returns the longest text of an article in JSON, at any depth.
func articleBody(data []byte) (longest string) {
	var value any
	if !strings.Contains(string(data), "articleBody") || json.Unmarshal(data, &value) != nil {
		return ""
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for key, e := range v {
				if text, ok := e.(string); ok && key == "articleBody" && len(text) > len(longest) {
					longest = text
				}
				walk(e)
			}
		}
	}
	walk(value)
	return longest
}

const (
	// maxArticleElements is how many elements a document has that is searched for its article.
	maxArticleElements = 20_000
	// maxArticleDepths is the most that their depths add up to: the search looks at what is around each of them.
	maxArticleDepths = 600_000
)

// Article returns the HTML of the main content of a document, found as the reader views of browsers do: without menus, teasers and
// the like, or "" if there is none. Addresses in it are absolute. Documents that the search would take long on have none.
func Article(src string, address *url.URL) (article string) {
	defer func() {
		if recover() != nil { // the library was not made for documents that want to harm it
			article = ""
		}
	}()
	doc, err := parseStrictly(src)
	if err != nil {
		return ""
	}
	if elements, depths := measure(doc, 0); elements > maxArticleElements || depths > maxArticleDepths {
		return ""
	}
	parser := readability.NewParser()
	parser.KeepClasses = true // they name the language of code
	found, err := parser.ParseAndMutate(doc, address)
	if err != nil || found.Node == nil {
		return ""
	}
	var out strings.Builder
	if err := html.Render(&out, found.Node); err != nil {
		return ""
	}
	return out.String()
}

// measure returns the number of elements in a node, and the sum of their depths.
func measure(n *html.Node, depth int) (elements, depths int) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode {
			more, deeper := measure(c, depth+1)
			elements, depths = elements+1+more, depths+depth+1+deeper
		}
	}
	return elements, depths
}

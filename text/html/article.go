package html

import (
	"net/url"
	"strings"

	"codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"
)

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

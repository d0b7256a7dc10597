package html

import "github.com/PuerkitoBio/goquery"

// Parse returns the tree that selectors are applied to.
func Parse(src string) *goquery.Document { return goquery.NewDocumentFromNode(parse(src)) }

// Markdown is [Convert] to Markdown.
func Markdown(src string, o Options) string {
	text, _ := Convert(src, o, true)
	return text
}

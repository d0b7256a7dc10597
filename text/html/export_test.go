package html

import "github.com/PuerkitoBio/goquery"

// Parse returns the tree that selectors are applied to.
func Parse(src string) *goquery.Document { return goquery.NewDocumentFromNode(parseTree(src)) }

// Markdown is [Convert] to Markdown.
func Markdown(src string, o Options) string {
	text, _ := Convert(src, o, true)
	return text
}

// MaxTests is how often selectors of style sheets are tested.
const MaxTests = maxTests

// Tests returns how often they are for a document.
func Tests(src string) int {
	v := viewer{}
	v.prune(parseTree(src))
	return v.sheets.tests
}

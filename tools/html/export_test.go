package html

import "github.com/PuerkitoBio/goquery"

// Parse returns the tree that selectors are applied to.
func Parse(src string) *goquery.Document { return goquery.NewDocumentFromNode(parse(src)) }

package linkedin

import (
	"strings"

	"github.com/PuerkitoBio/goquery"

	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/text/html"
)

// Bounds of what is taken from a page, which may be anything.
const (
	maxLine    = 1000 // characters of a text that belongs on one line
	maxMatches = 5    // elements that are looked at for one
	maxItems   = 64   // elements of a list
)

func parsePage(body string) (*goquery.Selection, bool) {
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(body))
	if err != nil { // nested deeper than any page of LinkedIn's
		return nil, false
	}
	return doc.Selection, true
}

// firstOf returns the first matches.
func firstOf(in *goquery.Selection, selector string, most int) (found []*goquery.Selection) {
	for _, one := range in.Find(selector).EachIter() {
		if found = append(found, one); len(found) == most {
			break
		}
	}
	return found
}

// firstLine returns the text of the first match that has one.
func firstLine(in *goquery.Selection, selector string) string {
	for _, found := range firstOf(in, selector, maxMatches) {
		if text := line(found); text != "" {
			return text
		}
	}
	return ""
}

// line returns the text of an element on one line, without what does not print.
func line(of *goquery.Selection) string {
	inner, err := of.Html()
	if err != nil { // there is no element
		return ""
	}
	return httpcall.Clip(html.Line(inner), maxLine)
}

// attribute returns the value of an attribute of the first match.
func attribute(in *goquery.Selection, selector, name string) string {
	return in.Find(selector).First().AttrOr(name, "")
}

// isoDate is how pages write dates for programs. What follows the day is the time of a machine, and says nothing.
var isoDate = lazyregexp.New(`^[0-9]{4}-[0-9]{2}-[0-9]{2}`)

// date returns the day that an attribute or a member of JSON-LD begins with, or "".
func date(text string) string { return isoDate().FindString(strings.TrimSpace(text)) }

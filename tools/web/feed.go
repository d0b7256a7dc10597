package web

import (
	"cmp"
	"encoding/xml"
	stdhtml "html"
	"io"
	"strings"

	"github.com/toolserver/toolserver/text/html"
)

// maxEntries is how many entries of a feed are shown.
const maxEntries = 500

// A feed is RSS 0.9 to 2.0 or Atom. What is where differs; names are told apart by their namespace only where they must.
type feed struct {
	XMLName xml.Name
	Channel struct {
		feedHead
		Items []entry `xml:"item"`
	} `xml:"channel"`
	feedHead
	Items   []entry `xml:"item"` // RSS 1.0
	Entries []entry `xml:"entry"`
}

type feedHead struct {
	Title       feedTexts `xml:"title"`
	Description feedTexts `xml:"description"`
	Subtitle    feedTexts `xml:"subtitle"`
}

type entry struct {
	Title       feedTexts  `xml:"title"`
	Links       []feedLink `xml:"link"`
	Published   string     `xml:"published"`
	Updated     string     `xml:"updated"`
	PubDate     string     `xml:"pubDate"`
	Date        string     `xml:"date"`
	Creator     string     `xml:"creator"`
	Author      feedAuthor `xml:"author"`
	Description feedTexts  `xml:"description"`
	Summary     feedTexts  `xml:"summary"`
	Content     feedTexts  `xml:"http://www.w3.org/2005/Atom content"`
	Encoded     feedTexts  `xml:"encoded"` // content:encoded
}

// feedTexts are texts of one name. The first is the feed's own; others are of extensions, such as media:title.
type feedTexts []feedText

// feedText is text, HTML that is escaped, or XHTML.
type feedText struct {
	Type   string `xml:"type,attr"`
	Text   string `xml:",chardata"`
	Markup string `xml:",innerxml"`
}

type feedLink struct {
	Rel     string `xml:"rel,attr"`
	Address string `xml:"href,attr"`
	Text    string `xml:",chardata"`
}

type feedAuthor struct {
	Name string `xml:"name"`
	Text string `xml:",chardata"`
}

// feedDocument returns a feed as HTML, if text of that type is one.
func feedDocument(media, text string) (doc string, ok bool) {
	if !strings.HasSuffix(media, "xml") || !strings.Contains(text, "<rss") && !strings.Contains(text, "<feed") && !strings.Contains(text, "<rdf:RDF") {
		return "", false
	}
	decoder := xml.NewDecoder(strings.NewReader(text))
	decoder.Strict, decoder.Entity = false, xml.HTMLEntity
	decoder.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // it is UTF-8 by now
	var f feed
	err := decoder.Decode(&f)
	if name := strings.ToLower(f.XMLName.Local); name != "rss" && name != "feed" && name != "rdf" {
		return "", false
	}
	head, entries := f.Channel.feedHead, append(append(f.Channel.Items, f.Items...), f.Entries...)
	if f.XMLName.Local == "feed" {
		head = f.feedHead
	}
	if err != nil && len(entries) == 0 { // one that breaks off has entries up to there
		return "", false
	}
	var b strings.Builder
	b.WriteString("<h1>" + head.Title.line() + "</h1><p>" + cmp.Or(head.Description.html(), head.Subtitle.html()) + "</p>")
	for i, e := range entries {
		if i == maxEntries {
			break
		}
		b.WriteString(`<h2><a href="` + stdhtml.EscapeString(address(e.Links)) + `">` + cmp.Or(e.Title.line(), "(no title)") + "</a></h2>")
		var about []string
		for _, s := range []string{cmp.Or(e.Published, e.PubDate, e.Date, e.Updated), cmp.Or(e.Creator, e.Author.Name, e.Author.Text)} {
			if s = strings.TrimSpace(s); s != "" {
				about = append(about, stdhtml.EscapeString(s))
			}
		}
		b.WriteString("<p>" + strings.Join(about, ", ") + "</p>")
		b.WriteString("<div>" + cmp.Or(e.Encoded.html(), e.Content.html(), e.Description.html(), e.Summary.html()) + "</div>")
	}
	return b.String(), true
}

// line returns text on one line, escaped.
func (t feedTexts) line() string { return stdhtml.EscapeString(html.Line(t.html())) }

// html returns the text as HTML.
func (t feedTexts) html() string {
	if len(t) == 0 {
		return ""
	}
	return t[0].html()
}

func (t feedText) html() string {
	switch {
	case t.Type == "xhtml":
		return html.FromXHTML(t.Markup)
	case t.Type == "text":
		return stdhtml.EscapeString(strings.TrimSpace(t.Text))
	}
	return strings.TrimSpace(t.Text)
}

// address returns the address of an entry: that of its page, not those of its comments or of what it was made from.
func address(links []feedLink) string {
	for _, l := range links {
		if at := strings.TrimSpace(cmp.Or(l.Address, l.Text)); at != "" && (l.Rel == "" || l.Rel == "alternate") {
			return at
		}
	}
	return ""
}

package document

import (
	"bytes"
	"fmt"
)

// What texts and presentations have in common, whatever their format.

// add appends text, if there may be so much.
func (b *budget) add(to *[]byte, s string) {
	if b.take(len(s)) {
		*to = append(*to, s...)
	}
}

// addSlide appends the title of a slide.
func (b *budget) addSlide(to *[]byte, number int, hidden bool) {
	title := fmt.Sprintf("## Slide %d\n", number)
	if hidden {
		title = fmt.Sprintf("## Slide %d (hidden)\n", number)
	}
	if number > 1 {
		title = "\n" + title
	}
	b.add(to, title)
}

// addNotes appends the speaker's notes that read appends, below a line of their own, if there are any.
func (b *budget) addNotes(to *[]byte, read func() error) error {
	from := len(*to)
	b.add(to, "### Notes\n")
	below := len(*to)
	err := read()
	if len(*to) == below {
		*to = (*to)[:from]
	}
	return err
}

// imageText returns what stands for an image with a description, or "" for one without.
func imageText(description []byte) string {
	if description = appendFlat(nil, description); len(description) == 0 {
		return ""
	}
	return "[image: " + string(description) + "]"
}

// linkSuffix returns what follows the text of a link: its address, unless the text says it.
func linkSuffix(text, url string) string {
	switch {
	case url == "" || text == url || "mailto:"+text == url || text+"/" == url:
		return ""
	case text == "":
		return url
	}
	return " (" + url + ")"
}

// note returns what a note or comment says, behind its mark and its author; nil if that is nothing or too much.
func (b *budget) note(mark, author string, text []byte) []byte {
	label := mark + ": "
	if author != "" {
		label += author + ": "
	}
	if text = bytes.TrimSpace(text); len(text) == 0 || !b.take(len(label)+1) {
		return nil
	}
	return append([]byte(label), text...)
}

// margins are the headers and footers of a document, each distinct text once.
type margins struct {
	headers, footers []byte
	seen             map[string]bool
}

func (m *margins) add(b *budget, footer bool, text []byte) {
	label, to := "[header] ", &m.headers
	if footer {
		label, to = "[footer] ", &m.footers
	}
	line := label + string(bytes.TrimSpace(text)) + "\n"
	if m.seen[line] || len(line) == len(label)+1 || !b.take(len(label)+1) {
		return
	}
	if m.seen == nil {
		m.seen = map[string]bool{}
	}
	m.seen[line] = true
	*to = append(*to, line...)
}

// maxSpan is the most columns a table of Word can have.
const maxSpan = 63

// tableRow is a row of a table being read.
type tableRow struct {
	line    []byte
	cells   int
	deleted bool
}

// begin begins so many cells of a row.
func (b *budget) begin(r *tableRow, cells int) {
	for range min(cells, maxSpan) {
		if r.cells > 0 && b.take(1) {
			r.line = append(r.line, '\t')
		}
		r.cells++
	}
}

package html

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxIndent is the most lists an item is set in for, so that nesting without end does not make text without end.
const maxIndent = 10

// writer puts text together. White space and breaks are only noted when they are seen, and written when text follows.
type writer struct {
	out     []byte
	classes *[256]uint8 // of bytes
	gap     int         // lines between blocks such as div: 1, or 2 for a blank one

	// due says that something below is to be seen to before the next text.
	due   bool
	lines int  // new lines: 0, 1, or 2 for a blank one
	space bool // white space
	apart bool // keep the words before and behind from becoming one
	power bool // a superscript has begun
	margin

	verbatim int // elements open
	preFirst bool
	preStart int

	row  tableRow
	grid bool // the last row was one of data

	// mark is where a link's text begins, or -1 if it is to be set when text is written.
	mark int

	// What follows is of Markdown.
	markdown bool
	marks
	heading   string // the mark of the heading that is open
	headed    bool   // it was written
	lineStart int    // where the text of the line begins, or 0
	bracketed bool   // the text is in square brackets
	breaks    int    // in the link
	language  string // of verbatim text

	rows, rowsStart, rowsEnd, rowsLevel int // rows of data that are not yet a table
}

// margin is what lines begin with.
type margin struct {
	levels    []level // of lists, and of quotes in Markdown
	lineDepth int     // how many of them the last line began in
	item      bool    // an item of a list has begun
	bullet    string  // of it
}

// level is a list, or a quote, that is open.
type level struct {
	indent string // in front of its lines
	number int    // of the next item, or 0
	quote  bool
}

// breakLines notes that what follows begins a new line, behind a blank one if n is 2.
func (w *writer) breakLines(n int) {
	if w.item {
		n = 1 // the first block of an item stands beside its bullet
	}
	w.lines = max(w.lines, n)
	w.due = true
}

// lineBreak is a br: the first ends a line, the next makes a blank one.
func (w *writer) lineBreak() {
	switch {
	case w.verbatim > 0:
		w.pre([]byte{'\n'})
	case w.heading != "":
		w.space = true
	default:
		w.lines = min(2, w.lines+1)
	}
	w.due = true
}

// keepApart notes that words on either side are not to be glued.
func (w *writer) keepApart() {
	w.apart, w.due = true, true
}

// text writes text of the document.
func (w *writer) text(s []byte) {
	if w.verbatim > 0 {
		w.pre(s)
		return
	}
	classes := w.classes
	for i := 0; i < len(s); {
		switch classes[s[i]] {
		case plain:
			if w.due {
				w.begin(rune(s[i]))
				if w.lineStart == len(w.out) && w.markdown {
					i += w.escapeLine(s[i:])
				}
			}
			j := i + 1
			for j < len(s) && classes[s[j]] == plain || j+1 < len(s) && s[j] == ' ' && classes[s[j+1]] == plain {
				j++
			}
			w.out = append(w.out, s[i:j]...)
			i = j
		case blank:
			w.space, w.due = true, true
			i++
		case control:
			i++
		case marking:
			if w.due {
				w.begin(rune(s[i]))
			}
			w.special(s, i)
			i++
		default:
			r, n := utf8.DecodeRune(s[i:])
			w.wide(r)
			i += n
		}
	}
}

// wide writes a character beyond ASCII.
func (w *writer) wide(r rune) {
	switch {
	case oddSpace(r):
		w.space, w.due = true, true
	case unseen(r) || joiner(r) && (w.space || w.lines > 0 || !w.joinable()):
	default:
		if w.due {
			w.begin(r)
		}
		w.out = utf8.AppendRune(w.out, r)
	}
}

// joinable reports whether the last character is one that joiners are used with: not ASCII, where they only hide.
func (w *writer) joinable() bool {
	return len(w.out) > 0 && w.out[len(w.out)-1] >= utf8.RuneSelf
}

// pre writes verbatim text. What cannot be seen is removed there as well.
func (w *writer) pre(s []byte) {
	if w.preFirst { // HTML ignores a new line right behind the start tag
		w.preFirst = false
		if len(s) > 0 && s[0] == '\n' {
			s = s[1:]
		}
	}
	if len(s) == 0 {
		return
	}
	if w.row.candidate() && bytes.IndexByte(s, '\n') >= 0 {
		w.layOut()
	}
	w.space, w.apart = false, false
	if w.due {
		w.begin(' ')
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRune(s[i:])
		switch {
		case r == '\t' && w.row.candidate():
			w.out = append(w.out, ' ')
		case r == '\n' && w.markdown:
			w.out = w.lineEnds(w.out, 1)
		case r == '\n' || r == '\t':
			w.out = append(w.out, byte(r))
		case oddSpace(r):
			w.out = append(w.out, ' ')
		case unicode.IsControl(r) || unseen(r) || joiner(r) && !w.joinable():
		default:
			w.out = utf8.AppendRune(w.out, r)
		}
		i += n
	}
}

// openPre begins verbatim text.
func (w *writer) openPre() {
	w.breakLines(2)
	if w.verbatim == 0 {
		w.preStart, w.language, w.heading = -1, "", ""
	}
	w.verbatim++
	w.preFirst = true
}

// closePre ends verbatim text; the blank lines at its end are not part of it.
func (w *writer) closePre() {
	if w.verbatim == 0 {
		return
	}
	if w.verbatim--; w.verbatim == 0 && w.preStart >= 0 {
		start := min(w.preStart, len(w.out)) // a row that ended in it may have become shorter
		end := start + len(bytes.TrimRight(w.out[start:], blanks))
		w.out = w.out[:end]
		w.row.start = min(w.row.start, end)
		if w.markdown && end > w.preStart && !w.row.candidate() {
			w.fence()
		}
	}
	w.breakLines(2)
}

// begin writes what is due before text that begins with r.
func (w *writer) begin(r rune) {
	w.due = false
	if w.rows > 0 && !w.row.open {
		w.pipes()
	}
	if w.markdown {
		w.interruptMarks()
	}
	w.row.begin(w)
	fresh := len(w.out) == 0 || w.row.fresh
	w.row.fresh = false
	switch {
	case fresh:
		if w.markdown && len(w.out) == 0 {
			w.out = w.indentLine(w.out)
		}
		w.out = w.marker(w.out)
		w.lineStart = len(w.out)
	case w.lines > 0:
		w.newLine(w.lines)
		w.lineStart = len(w.out)
	case w.space:
		w.out = append(w.out, ' ')
	case w.apart && glued(w.last(), r):
		w.out = append(w.out, ' ')
	case w.power && '0' <= r && r <= '9' && isWord(w.last()):
		w.out = append(w.out, '^')
	}
	w.lines, w.space, w.apart, w.power = 0, false, false, false
	if w.verbatim > 0 && w.preStart < 0 {
		w.preStart = len(w.out)
	}
	if w.mark < 0 {
		w.mark = len(w.out)
	}
	if w.markdown && w.verbatim == 0 {
		w.writeMarks()
	}
}

// newLine ends the line, n-1 blank ones after it, and indents the next.
func (w *writer) newLine(n int) {
	switch {
	case w.row.candidate():
		w.out = append(w.out, rowBreaks[n])
		if w.row.breaks++; w.row.breaks > maxRowBreaks {
			w.layOut()
		}
	default:
		if n == 1 && w.markdown && !w.item && w.verbatim == 0 {
			w.out = append(w.out, "  "...)
		}
		w.out = w.lineEnds(w.out, n)
	}
	w.out = w.marker(w.out)
}

// lineEnds appends the ends of n lines, and the indentation of the next.
func (w *writer) lineEnds(out []byte, n int) []byte {
	out = append(out, '\n')
	if n > 1 {
		out = append(bytes.TrimRight(w.indent(out, min(len(w.levels), w.lineDepth)), " "), '\n')
	}
	if w.verbatim > 0 && !w.item && !w.markdown {
		return out
	}
	return w.indentLine(out)
}

// indentLine appends the indentation of a line; an item's marker is the last part of it.
func (m *margin) indentLine(out []byte) []byte {
	m.lineDepth = len(m.levels)
	if m.item {
		m.lineDepth--
	}
	return m.indent(out, m.lineDepth)
}

// indent appends what lines begin with that are so many levels deep.
func (m *margin) indent(out []byte, depth int) []byte {
	for _, l := range m.levels[:min(depth, maxIndent)] {
		out = append(out, l.indent...)
	}
	return out
}

// marker appends the bullet of an item that has begun.
func (m *margin) marker(out []byte) []byte {
	if m.item {
		out = append(out, m.bullet...)
	}
	m.item = false
	return out
}

func (w *writer) last() rune {
	r, _ := utf8.DecodeLastRune(w.out)
	return r
}

// finish returns the text.
func (w *writer) finish() string {
	w.endRow()
	text := bytes.TrimLeft(w.out, blanks)
	start := bytes.LastIndexByte(w.out[:len(w.out)-len(text)], '\n') + 1 // the indentation of verbatim text stays
	return string(bytes.TrimRight(w.out[start:], blanks))
}

const blanks = " \t\n\v\f\r"

// Classes of bytes: what stands for itself, white space, what is removed, the parts of longer characters, and in Markdown what may
// have a meaning.
const (
	plain = iota
	blank
	control
	multi
	marking
)

var textClasses, markdownClasses = byteClasses(""), byteClasses("\\`*_[]<&~")

func byteClasses(special string) (t [256]uint8) {
	for c := range t {
		switch {
		case strings.IndexByte(blanks, byte(c)) >= 0:
			t[c] = blank
		case c < ' ' || c == 0x7F:
			t[c] = control
		case c >= utf8.RuneSelf:
			t[c] = multi
		case strings.IndexByte(special, byte(c)) >= 0:
			t[c] = marking
		}
	}
	return t
}

// glued reports whether two characters in different elements would be read as one word.
func glued(before, r rune) bool {
	if unicode.IsSpace(before) || strings.ContainsRune("([{<«“‘/", before) {
		return false
	}
	return !strings.ContainsRune(" .,;:!?)]}>»”’/%", r)
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == ')' }

// oddSpace reports whether a character is one of the many that are a space to a reader.
func oddSpace(r rune) bool {
	return r >= 0x85 && (unicode.IsSpace(r) || r == 0x2800)
}

// unseen reports whether a character has no look of its own: soft hyphens, zero-width and tag characters, and marks that turn the
// direction of text around, with which it reads differently than it looks.
func unseen(r rune) bool {
	switch {
	case r < 0xA0:
		return r >= 0x80
	case r == 0xAD, r == 0x34F, r == 0x61C, r == 0x180E, r == 0xFEFF, r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0:
		return true
	case r == 0x200B, 0x200E <= r && r <= 0x200F, 0x202A <= r && r <= 0x202E, 0x2060 <= r && r <= 0x206F, 0xFFF9 <= r && r <= 0xFFFB:
		return true
	}
	return 0xE0000 <= r && r <= 0xE0FFF // variants of ideographs too: any text can be written with them
}

// joiner reports whether a character is one of the two that join or part others, which Persian, Indic scripts and emoji need.
func joiner(r rune) bool { return r == 0x200C || r == 0x200D }

package html

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

// maxLinkBreaks is how many breaks there are in a link of Markdown before it ends: one never closed does not make one line of all.
const maxLinkBreaks = 20

// mark is what is put around text in Markdown. Marks are noted when an element begins and written when text follows, so that
// there are none around nothing or white space.
type mark uint8

const (
	strong mark = iota
	emphasized
	struck
	code
	link
)

var markTexts = [...]string{strong: "**", emphasized: "*", struck: "~~", code: "`", link: "["}

// marks are the marks in use.
type marks struct {
	nested [len(markTexts)]int // elements open that ask for a mark
	active []mark              // the outermost first
	at     [len(markTexts)]int // behind the written mark, or -1
	target string              // of the link
	closed [len(markTexts)]int // where the mark was closed last
}

func markOf(name string) mark {
	switch name {
	case "b", "strong":
		return strong
	case "em", "i":
		return emphasized
	case "del", "s", "strike":
		return struck
	}
	return code
}

// openMark begins an element with a mark. What is within code or the same mark has none.
func (w *writer) openMark(m mark) {
	if w.nested[m]++; w.nested[m] == 1 && !slices.Contains(w.active, code) {
		w.active = append(w.active, m)
		w.at[m], w.due = -1, true
	}
}

// closeMark ends an element with a mark. Marks that began within it begin again behind it.
func (w *writer) closeMark(m mark) {
	if w.nested[m] == 0 {
		return
	}
	w.nested[m]--
	if i := slices.Index(w.active, m); w.nested[m] == 0 && i >= 0 {
		w.suspendMarks(i)
		w.active = slices.Delete(w.active, i, i+1)
	}
}

// suspendMarks closes the marks from the i-th on until more text follows.
func (w *writer) suspendMarks(i int) {
	for _, m := range slices.Backward(w.active[i:]) {
		at := w.at[m]
		if at < 0 {
			continue
		}
		w.at[m], w.due = -1, true
		switch m {
		case code:
			w.out = closeCode(w.out, at)
		case link:
			w.out = append(w.out, w.target...)
		default:
			w.out = append(w.out, markTexts[m]...)
			w.closed[m] = len(w.out)
		}
	}
}

// closeCode ends code that begins at an offset, with more backquotes if there are some in it.
func closeCode(out []byte, at int) []byte {
	if bytes.IndexByte(out[at:], '`') < 0 {
		return append(out, '`')
	}
	text := string(out[at:])
	quotes := fenceOf(text, 1)
	return append(out[:at-1], quotes+" "+text+" "+quotes...)
}

// fenceOf returns so many backquotes, or as many as it takes to be longer than any run of them in a text.
func fenceOf(text string, least int) string {
	for run := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '`' }) {
		least = max(least, len(run)+1)
	}
	return strings.Repeat("`", least)
}

// interruptMarks ends the marks before a break or the border of a cell. A link does not end: the break is a space in it.
func (w *writer) interruptMarks() {
	if w.lines > 0 && w.nested[link] > 0 && w.at[link] >= 0 {
		if w.breaks++; w.breaks <= maxLinkBreaks {
			w.lines, w.space = 0, true
			return
		}
		w.closeMark(link)
	}
	if w.lines > 0 || w.row.open && w.row.last < w.row.column {
		w.suspendMarks(0)
	}
}

// resetMarks ends all marks but links: what is not closed within an item, a cell or before a heading was likely forgotten.
func (w *writer) resetMarks() {
	for m := range link {
		w.nested[m] = min(w.nested[m], 1)
		w.closeMark(m)
	}
}

// writeMarks writes the marks of the heading and the text that follows. One that was just closed goes on.
func (w *writer) writeMarks() {
	if w.heading != "" && !w.headed && w.lineStart == len(w.out) {
		w.out, w.headed = append(w.out, w.heading...), true
	}
	for _, m := range w.active {
		if w.at[m] >= 0 {
			continue
		}
		if text := markTexts[m]; w.closed[m] == len(w.out) && len(w.out) > 0 {
			w.out = w.out[:len(w.out)-len(text)]
		} else {
			w.out = append(w.out, text...)
		}
		w.at[m] = len(w.out)
	}
}

// openEmphasis begins an element with emphasis or code. The code in pre may name its language.
func (r *renderer) openEmphasis() {
	switch {
	case !r.markdown:
	case r.verbatim == 0:
		r.openMark(markOf(r.name))
	case r.name == "code" && r.preStart < 0:
		r.language = cmp.Or(language(r.attr("class")), r.language)
	}
}

// openHeading begins a heading.
func (r *renderer) openHeading() {
	r.breakLines(2)
	r.resetMarks()
	if r.markdown {
		r.heading, r.headed = strings.Repeat("#", int(r.name[1]-'0'))+" ", false
	}
}

// openQuotation begins a quotation. A row that holds one is not one of data.
func (r *renderer) openQuotation() {
	r.breakLines(2)
	if r.markdown {
		if r.row.candidate() {
			r.layOut()
		}
		r.levels = append(r.levels, level{indent: "> ", quote: true})
	}
}

// rule writes a line between blocks.
func (r *renderer) rule() {
	r.breakLines(2)
	if r.markdown && (!r.row.open || r.row.layout) {
		r.raw("* * *")
		r.breakLines(2)
	}
}

// image writes an image: in text, the words that stand for it. Pages that load images late have the address in data-src.
func (r *renderer) image() {
	r.keepApart()
	if r.verbatim > 0 || r.line {
		return
	}
	alt := strings.TrimSpace(r.attr("alt"))
	if !r.markdown {
		if alt != "" {
			r.text([]byte("[image: " + alt + "]"))
			r.keepApart()
		}
		return
	}
	if address := cmp.Or(r.links.address(r.attr("data-src")), r.links.address(r.attr("src"))); address != "" {
		r.raw("![")
		r.bracketed = true
		r.text([]byte(alt))
		r.bracketed = false
		r.raw("](" + destination.Replace(address) + ")")
	}
}

// destination makes an address one that may stand in round brackets, also in a table.
var destination = strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "|", "%7C", `\`, "%5C")

// raw writes Markdown.
func (w *writer) raw(s string) {
	if w.due {
		w.begin(rune(s[0]))
	}
	w.out = append(w.out, s...)
}

var languageName = lazyregexp.New(`^[0-9A-Za-z_.+#-]+$`)

// language returns the language of code that the class of an element names.
func language(class string) string {
	for _, name := range strings.Fields(class) {
		for _, prefix := range []string{"language-", "lang-"} {
			if name, ok := strings.CutPrefix(name, prefix); ok && len(name) <= 40 && languageName().MatchString(name) {
				return name
			}
		}
	}
	return ""
}

// fence puts fences around the verbatim text at the end.
func (w *writer) fence() {
	text := string(w.out[w.preStart:])
	fence := fenceOf(text, 3)
	w.out = w.lineEnds(append(append(w.out[:w.preStart], fence...), w.language...), 1)
	w.out = append(w.lineEnds(append(w.out, text...), 1), fence...)
}

// lineOpener matches what would begin a heading, a quote, an item or a rule at the beginning of a line.
var lineOpener = lazyregexp.New(`^(?:#{1,6}(?:\s|$)|[-+](?:\s|-|$)|[=>]|(\d{1,9})[.)](?:\s|$))`)

// escapeLine writes the beginning of a line, up to where a backslash is needed, and returns how much that is.
func (w *writer) escapeLine(s []byte) int {
	m := lineOpener().FindSubmatchIndex(s[:min(len(s), 16)])
	if m == nil {
		return 0
	}
	n := max(0, m[3])
	w.out = append(append(w.out, s[:n]...), '\\')
	return n
}

// special writes a character that may have a meaning in Markdown, with a backslash if it has in its place.
func (w *writer) special(s []byte, i int) {
	c, next, before := s[i], byte(' '), byte(' ')
	if i+1 < len(s) {
		next = s[i+1]
	}
	if len(w.out) > 0 {
		before = w.out[len(w.out)-1]
	}
	space := unicode.IsSpace(rune(before)) && unicode.IsSpace(rune(next))
	meant := false
	switch c {
	case '\\':
		meant = next > ' ' && next < utf8.RuneSelf && !isWord(rune(next)) || next == ')'
	case '`':
		meant = true
	case '*':
		meant = !space || w.lineStart == len(w.out)
	case '_':
		meant = !space && !(isWord(rune(before)) && isWord(rune(next)))
	case '[':
		meant = w.bracketed || w.nested[link] > 0
	case ']':
		meant = w.bracketed || w.nested[link] > 0 || next == '('
	case '<':
		meant = next|0x20 >= 'a' && next|0x20 <= 'z' || next == '/' || next == '!' || next == '?'
	case '&':
		if next == '#' || isWord(rune(next)) {
			name := string(entity().Find(s[i:min(len(s), i+40)]))
			meant = html.UnescapeString(name) != name
		}
	case '~':
		meant = next == '~' || before == '~'
	}
	if meant && !slices.Contains(w.active, code) {
		w.out = append(w.out, '\\')
	}
	w.out = append(w.out, c)
}

var entity = lazyregexp.New(`^&#?[0-9A-Za-z]+;`)

// pipes makes the rows of data at the end, which are lines of cells with a TAB between them, a table of Markdown.
func (w *writer) pipes() {
	if w.rows == 0 {
		return
	}
	w.rows = 0
	prefix := string(w.indent(nil, w.rowsLevel))
	var rows []string
	columns := 0
	for row := range strings.SplitSeq(string(w.out[w.rowsStart:w.rowsEnd]), "\n") {
		if row = strings.TrimPrefix(row, prefix); row != strings.TrimRight(prefix, " ") {
			rows, columns = append(rows, row), max(columns, strings.Count(row, "\t")+1)
		}
	}
	if columns == 1 {
		w.replace(w.rowsStart, w.rowsEnd, strings.Join(rows, "\n"+strings.TrimRight(prefix, " ")+"\n"+prefix))
		return
	}
	var b strings.Builder
	for i, row := range rows {
		if i > 0 {
			b.WriteString("\n" + prefix)
		}
		b.WriteString("| " + cellText.Replace(cellHeading().ReplaceAllString(row, "$1")))
		if i == 0 || columns <= maxSpan {
			b.WriteString(strings.Repeat(" | ", columns-strings.Count(row, "\t")-1))
		}
		b.WriteString(" |")
		if i == 0 {
			b.WriteString("\n" + prefix + "|" + strings.Repeat("---|", columns))
		}
	}
	w.replace(w.rowsStart, w.rowsEnd, b.String())
}

// In a cell there are no headings, and breaks are tags.
var (
	cellHeading = lazyregexp.New(`(^|[\t\x01\x02])#{1,6} `)
	cellText    = strings.NewReplacer("|", `\|`, "\x01", "<br>", "\x02", "<br>", "\t", " | ")
)

// replace puts other text in the place of a part of the output.
func (w *writer) replace(from, to int, text string) {
	tail := string(w.out[to:])
	for _, p := range w.positions() {
		if *p >= to {
			*p += len(text) - (to - from)
		}
	}
	w.out = append(append(w.out[:from], text...), tail...)
}

// positions are the places in the output that are remembered.
func (w *writer) positions() []*int {
	all := []*int{&w.mark, &w.preStart, &w.row.start}
	for i := range w.at {
		all = append(all, &w.at[i])
	}
	return all
}

// Fenced returns text in a fenced code block of Markdown. The fence is longer
// than any run of backticks in the text, so that the text cannot end the block.
func Fenced(tag, text string) string {
	fence := fenceOf(text, 3)
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return fence + tag + "\n" + text + fence
}

package html

import (
	"bytes"
	_ "embed" // for the table
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/net/html/atom"
)

// tagName returns the name in a tag in small letters, or "unknown" if HTML does not know it. Unlike the tokenizer's it costs no
// allocation.
func tagName(raw []byte) string {
	var name [24]byte // longer than the name of any element
	n := 0
	for _, c := range bytes.TrimPrefix(raw[1:], []byte{'/'}) {
		if c <= ' ' || c == '/' || c == '>' || n == len(name) {
			break
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		name[n] = c
		n++
	}
	if a := atom.Lookup(name[:n]); a != 0 {
		return a.String()
	}
	return "unknown"
}

// role is what an element does to the text around it.
type role uint8

const (
	inline    role = iota
	line           // on lines of its own
	block          // set apart by a blank line
	heading        // a block
	quotation      // a block
	rule           // a block
	object         // leaves nothing, but the words beside it stay apart
	image          // an object in text
	button         // stays apart from the words beside it
	skipped        // not text, up to its end tag
	dropped        // its content is one text token, and not text
	lineBreak
	list
	item
	table
	row
	cell
	verbatim
	anchor
	frame
	quote
	superscript
	formulas
	symbol    // in a formula
	annotated // with how it is read
	shadow    // a template
	emphasis  // bold, italic, struck or code in Markdown
)

// roleNames are the roles as elements.txt calls them.
const roleNames = "inline line block heading quotation rule object image button skipped dropped lineBreak list item table row cell " +
	"verbatim anchor frame quote superscript formulas symbol annotated shadow emphasis"

//go:embed elements.txt
var elementTable string

// element is what is known of an element.
type element struct {
	role
	void       bool // it has no content and no end tag
	formatting bool // browsers open it again in each block until it is closed
	implied    int  // its end tag may be left out: the higher the more such elements it ends; 0 if not
}

// elements are those that are more than a part of a line, by name. Each line of elements.txt names what its elements have in common.
var elements = sync.OnceValue(func() map[string]element {
	all, roles := make(map[string]element), strings.Fields(roleNames)
	for line := range strings.Lines(elementTable) {
		words := strings.Fields(line)
		for _, name := range words[1:] {
			e := all[name]
			e.void, e.formatting = e.void || words[0] == "void", e.formatting || words[0] == "formatting"
			if i := slices.Index(roles, words[0]); i > 0 {
				e.role = role(i)
			} else if n, err := strconv.Atoi(words[0]); err == nil {
				e.implied = n
			}
			all[name] = e
		}
	}
	return all
})

func roleOf(name string) role { return elements()[name].role }
func void(name string) bool   { return elements()[name].void }
func implied(name string) int { return elements()[name].implied }

// breaksOut reports whether an element ends a drawing (svg) that it is found in, as in browsers, for drawings that are not closed.
func (r role) breaksOut() bool {
	switch r {
	case line, block, heading, quotation, rule, list, item, table, verbatim, lineBreak:
		return true
	}
	return false
}

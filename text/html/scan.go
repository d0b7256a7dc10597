package html

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
)

// scanner reads the tokens of a document. It is x/net's tokenizer, which follows the standard, except for documents that were cut
// off or badly written: there the standard lets one unclosed comment or title hide all that follows, and the scanner does not.
type scanner struct {
	z      *html.Tokenizer
	src    string
	offset int // in src, behind the current token

	kind  html.TokenType
	name  string // of the tag in small letters, or ""
	is    element
	read  bool // found are the tag's attributes
	found []attribute

	elements map[string]element
	ends     map[string]int // by name, where an end tag begins, or -1
	// heavy says that the last tag was of uncommon size. The tokenizer keeps a map of attributes that never shrinks, and clears it
	// for every tag; after such a tag it is replaced by a new one.
	heavy  bool
	within string // the name of that tag, if what follows may be raw text

	xml    bool   // an empty tag closes its element; see empty
	strict bool   // a comment that is never closed hides all that follows
	cut    []byte // an unfinished tag at the end that is text after all
}

// heavyTag is the size of a tag with more attributes than documents need.
const heavyTag = 16 << 10

func newScanner(src string) *scanner {
	s := &scanner{ends: make(map[string]int), elements: elements()}
	s.reset(src, "")
	s.xml = strings.HasPrefix(strings.TrimSpace(src[:min(len(src), 100)]), "<?xml")
	return s
}

// reset begins to read src, the content of an element of that name if it is one with raw text.
func (s *scanner) reset(src, element string) {
	s.src, s.offset, s.cut, s.heavy = src, 0, nil, false
	s.z = html.NewTokenizerFragment(strings.NewReader(src), element)
	s.z.AllowCDATA(true)
	clear(s.ends)
}

// next reads a token other than a comment or a declaration, and reports whether there was one.
func (s *scanner) next() bool {
	if s.heavy {
		s.reset(s.src[s.offset:], s.within)
	}
	s.read = false
	for {
		s.kind = s.z.Next()
		raw := s.z.Raw()
		s.offset += len(raw)
		s.name = ""
		switch s.kind {
		case html.ErrorToken:
			return s.rest(raw)
		case html.CommentToken:
			if s.strict || s.offset < len(s.src) || !unclosed(raw) {
				continue
			}
			if !bytes.HasPrefix(raw, []byte("<!--")) { // nothing that follows is markup
				s.kind, s.cut = html.TextToken, bytes.Clone(raw)
				return true
			}
			// What an unclosed comment has swallowed is read again. There is no end of a comment in it, so no other comment is closed
			// either; all of them become empty ones, and this happens once.
			s.reset(strings.ReplaceAll(s.src[len(s.src)-len(raw):], "<!--", "<!>"), "")
		case html.DoctypeToken:
		case html.TextToken:
			return true
		default:
			s.name = tagName(raw)
			s.is = s.elements[s.name]
			s.heavy, s.within = len(raw) > heavyTag, s.name
			if s.cooked() {
				s.z.NextIsNotRawText()
				s.within = ""
			}
			return true
		}
	}
}

// nesting returns how many more elements are open behind the tag: 1, 0 or -1.
func (s *scanner) nesting() int {
	switch s.kind {
	case html.StartTagToken:
		return 1
	case html.EndTagToken:
		return -1
	}
	return 0
}

// rest makes text of a tag that the document ends in, unless that was likely cut off: "a <b" is not markup.
func (s *scanner) rest(raw []byte) bool {
	if len(raw) < 2 || raw[1] == '/' || strings.ContainsAny(string(raw), `="'`) {
		return false
	}
	s.kind, s.cut = html.TextToken, bytes.Clone(raw)
	s.offset = len(s.src)
	return true
}

// unclosed reports whether a comment reaches to the end of the document because nothing closes it.
func unclosed(raw []byte) bool {
	c := string(raw)
	if !strings.HasPrefix(c, "<!--") {
		return !strings.HasSuffix(c, ">")
	}
	return c != "<!-->" && c != "<!--->" && !(len(c) >= 7 && strings.HasSuffix(c, "-->")) && !strings.HasSuffix(c, "--!>")
}

// cooked reports whether the content of the element whose tag was read is markup to us where it is text by the standard: if we
// show it, or if it never ends.
func (s *scanner) cooked() bool {
	switch s.name {
	case "noscript", "noframes", "noembed":
		return true
	case "title", "textarea", "iframe", "xmp", "script", "style":
		if s.empty() {
			return true
		}
		return s.name != "script" && s.name != "style" && !s.closes(s.name)
	}
	return false
}

// empty reports whether the current tag is all there is of its element: one such as <script/> is in XML, and elsewhere if the rest
// of the document would be its content.
func (s *scanner) empty() bool {
	return s.kind == html.SelfClosingTagToken && (s.xml || !s.closes(s.name))
}

// content returns the text of a text token, entities decoded. It is good until the next token.
func (s *scanner) content() []byte {
	if s.cut != nil {
		return s.cut
	}
	return s.z.Text()
}

// attribute is one of a start tag, with its name in small letters.
type attribute struct{ name, value []byte }

// attributes returns those of the current start tag. They are good until the next token.
func (s *scanner) attributes() []attribute {
	if s.read {
		return s.found
	}
	s.read, s.found = true, s.found[:0]
	for more := true; more; {
		var a attribute
		if a.name, a.value, more = s.z.TagAttr(); len(a.name) > 0 {
			s.found = append(s.found, a)
		}
	}
	return s.found
}

// attr returns the value of an attribute of the current start tag.
func (s *scanner) attr(name string) string {
	for _, a := range s.attributes() {
		if string(a.name) == name && len(a.value) > 0 {
			return string(a.value)
		}
	}
	return ""
}

// closes reports whether an end tag of that name is still to come. Where one was found is kept, so that the document is searched
// once for each name at most.
func (s *scanner) closes(name string) bool {
	at, searched := s.ends[name]
	if !searched || at >= 0 && at < s.offset {
		at = endTag(s.src, s.offset, name)
		s.ends[name] = at
	}
	return at >= 0
}

// endTag returns where the next end tag of that name begins, or -1.
func endTag(src string, from int, name string) int {
	for {
		i := strings.Index(src[from:], "</")
		if i < 0 {
			return -1
		}
		from += i + 2
		if tail := src[from:]; len(tail) >= len(name) && strings.EqualFold(tail[:len(name)], name) {
			return from - 2
		}
	}
}

// FromXHTML returns XHTML as HTML: an empty tag such as <script src="x"/> closes its element in the one and opens it in the other.
func FromXHTML(src string) string {
	var out strings.Builder
	from, offset := 0, 0
	z := html.NewTokenizer(strings.NewReader(src))
	z.AllowCDATA(true)
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		raw := z.Raw()
		offset += len(raw)
		if kind != html.SelfClosingTagToken {
			continue
		}
		z.NextIsNotRawText()
		if name, _ := z.TagName(); !void(string(name)) {
			out.WriteString(src[from : offset-len("/>")])
			out.WriteString("></" + string(name) + ">")
			from = offset
		}
	}
	if from == 0 {
		return src
	}
	out.WriteString(src[from:])
	return out.String()
}

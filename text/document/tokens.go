package document

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
)

// maxToken bounds a tag or a run of text, because encoding/xml holds it
// whole, and its attributes in many times their size.
const maxToken = 2 << 20

// element is the start of an XML element. Names are without their prefixes:
// the formats read here use no name in two meanings in one place.
type element struct {
	name  string
	attrs []xml.Attr
}

func (e element) attr(local string) string {
	for _, a := range e.attrs {
		if a.Name.Local == local {
			return a.Value
		}
	}
	return ""
}

// relation returns the id of the relationship that the element names in r:id, which is not
// its own id.
func (e element) relation() string {
	for _, a := range e.attrs {
		if a.Name.Local == "id" && a.Name.Space != "" {
			return a.Value
		}
	}
	return ""
}

// on tells whether an on/off property is on: it is when it is there and its
// value does not say otherwise (ECMA-376 part 1, 17.17.4).
func (e element) on() bool {
	switch e.attr("val") {
	case "0", "false", "off", "none":
		return false
	}
	return true
}

// tokens reads the XML of one part. It is read with RawToken, which leaves
// namespaces and the pairing of tags alone and is much cheaper for it.
type tokens struct {
	d     *xml.Decoder
	part  *partReader
	name  string
	depth int
	max   int
}

func newTokens(content io.Reader, name string, maxDepth int) *tokens {
	p := &partReader{Reader: bufio.NewReaderSize(content, 16<<10)}
	return &tokens{d: xml.NewDecoder(p), part: p, name: name, max: maxDepth}
}

// next returns the next token: an element, an xml.EndElement, an xml.CharData
// that is valid until the next call, or something of no interest.
func (t *tokens) next() (any, error) {
	t.part.token = 0
	tok, err := t.d.RawToken()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	switch tok := tok.(type) {
	case xml.StartElement:
		if t.depth++; t.depth > t.max {
			return nil, &LimitError{What: "nested XML elements", Max: int64(t.max)}
		}
		return element{tok.Name.Local, tok.Attr}, nil
	case xml.EndElement:
		if t.depth--; t.depth < 0 {
			return nil, fmt.Errorf("%s: unexpected end of %s", t.name, tok.Name.Local)
		}
	}
	return tok, nil
}

// root passes over the start of the outermost element, and returns it.
func (t *tokens) root() (element, error) {
	for {
		tok, err := t.next()
		if err != nil {
			return element{}, err
		}
		if e, ok := tok.(element); ok {
			return e, nil
		}
	}
}

// children calls fn for each element inside the one just begun, and returns
// after its end. What fn leaves of an element is skipped.
func (t *tokens) children(fn func(e element) error) error {
	return t.content(func([]byte) {}, fn)
}

// descend calls fn for each element anywhere inside the one just begun, in the order of
// the text, except for what is inside elements that are skipped.
func (t *tokens) descend(fn func(e element)) error {
	return t.children(func(e element) error {
		fn(e)
		if skipped(e.name) {
			return nil
		}
		return t.descend(fn)
	})
}

// descendInto calls fn for each element of a name anywhere inside the one just begun.
func (t *tokens) descendInto(name string, fn func() error) error {
	return t.children(func(e element) error {
		if e.name == name {
			return fn()
		}
		return t.descendInto(name, fn)
	})
}

// text appends the text of the element just begun to b, without that of
// elements inside it.
func (t *tokens) text(b []byte) ([]byte, error) {
	err := t.content(func(s []byte) { b = append(b, s...) }, func(element) error { return nil })
	return b, err
}

// content calls write for each text and fn for each element inside the one just begun, and
// returns after its end. What fn leaves of an element is skipped.
func (t *tokens) content(write func(s []byte), fn func(e element) error) error {
	for {
		tok, err := t.next()
		if err != nil {
			return err
		}
		switch tok := tok.(type) {
		case xml.CharData:
			write(tok)
		case element:
			depth := t.depth
			for err := fn(tok); err != nil || t.depth >= depth; _, err = t.next() {
				if err != nil {
					return err
				}
			}
		case xml.EndElement:
			return nil
		}
	}
}

// partReader is what a part unpacks to, byte by byte as encoding/xml takes it.
type partReader struct {
	*bufio.Reader
	token int // bytes since the last token
}

// ReadByte implements [io.ByteReader].
func (p *partReader) ReadByte() (byte, error) {
	if p.token++; p.token > maxToken {
		return 0, &LimitError{What: "bytes in one XML tag or text", Max: maxToken}
	}
	return p.Reader.ReadByte()
}

// allowance draws what it reads on the allowance of the archive. A little of the file
// may unpack to very much, so the file is asked each time whether to go on.
type allowance struct {
	io.Reader
	a *archive
}

func (r *allowance) Read(b []byte) (int, error) {
	if _, err := r.a.file.ReadAt(nil, 0); err != nil && err != io.EOF {
		return 0, err
	}
	n, err := r.Reader.Read(b)
	if r.a.packed -= int64(n); r.a.packed < 0 {
		return 0, &LimitError{What: "bytes unpacked", Max: r.a.limits.Unpacked}
	}
	return n, err
}

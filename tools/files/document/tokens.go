package document

import (
	"encoding/xml"
	"fmt"
	"io"
)

const (
	// maxToken bounds a tag or a run of text, because encoding/xml holds it
	// whole, and its attributes in many times their size.
	maxToken = 2 << 20
	readSize = 16 << 10
)

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
	bytes *partBytes
	name  string
	depth int
	max   int
}

func newTokens(a *archive, name string, rc io.ReadCloser) *tokens {
	p := &partBytes{rc: rc, a: a}
	return &tokens{d: xml.NewDecoder(p), bytes: p, name: name, max: a.limits.Depth}
}

func (t *tokens) close() { t.bytes.rc.Close() }

// next returns the next token: an element, an xml.EndElement, an xml.CharData
// that is valid until the next call, or something of no interest.
func (t *tokens) next() (any, error) {
	t.bytes.token = 0
	tok, err := t.d.RawToken()
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
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
		return tok, nil
	}
	return tok, nil
}

// root returns the outermost element.
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
func (t *tokens) children(fn func(t *tokens, e element) error) error {
	for {
		tok, err := t.next()
		if err != nil {
			return err
		}
		switch tok := tok.(type) {
		case element:
			depth := t.depth
			if err := fn(t, tok); err != nil {
				return err
			}
			if err := t.skipTo(depth - 1); err != nil {
				return err
			}
		case xml.EndElement:
			return nil
		}
	}
}

// skip passes over the rest of the element just begun.
func (t *tokens) skip() error { return t.skipTo(t.depth - 1) }

func (t *tokens) skipTo(depth int) error {
	for t.depth > depth {
		if _, err := t.next(); err != nil {
			return err
		}
	}
	return nil
}

// text appends the text of the element just begun to b, without that of
// elements inside it.
func (t *tokens) text(b []byte) ([]byte, error) {
	for {
		tok, err := t.next()
		if err != nil {
			return b, err
		}
		switch tok := tok.(type) {
		case xml.CharData:
			b = append(b, tok...)
		case element:
			if err := t.skip(); err != nil {
				return b, err
			}
		case xml.EndElement:
			return b, nil
		}
	}
}

// partBytes is what a part unpacks to, byte by byte as encoding/xml takes it.
// It draws on the allowance of the archive.
type partBytes struct {
	rc    io.ReadCloser
	a     *archive
	buf   [readSize]byte
	r, w  int
	token int // bytes since the last token
	err   error
}

// ReadByte implements [io.ByteReader].
func (p *partBytes) ReadByte() (byte, error) {
	if p.token++; p.token > maxToken {
		return 0, &LimitError{What: "bytes in one XML tag or text", Max: maxToken}
	}
	if p.r == p.w {
		if err := p.fill(); err != nil {
			return 0, err
		}
	}
	c := p.buf[p.r]
	p.r++
	return c, nil
}

// Read implements [io.Reader], which [xml.NewDecoder] wants though it then
// calls ReadByte.
func (p *partBytes) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	c, err := p.ReadByte()
	if err != nil {
		return 0, err
	}
	b[0] = c
	return 1, nil
}

func (p *partBytes) fill() error {
	for range 100 {
		if p.err != nil {
			return p.err
		}
		var n int
		n, p.err = p.rc.Read(p.buf[:])
		if p.a.left -= int64(n); p.a.left < 0 {
			p.err = &LimitError{What: "bytes unpacked", Max: p.a.limits.Unpacked}
			return p.err
		}
		if n > 0 {
			p.r, p.w = 0, n
			return nil
		}
	}
	return io.ErrNoProgress
}

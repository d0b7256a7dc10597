package document

import (
	"archive/zip"
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

var errOLE = errors.New("it is protected by a password or in the binary format of before 2007")

// archive is a zip archive of XML parts: an Office Open XML package, an OpenDocument file or
// a book. All parts draw on one allowance of unpacked bytes, and one of text.
type archive struct {
	budget
	file   io.ReaderAt
	parts  map[string]*zip.File // by partKey
	limits Limits
	packed int64 // bytes that may still be unpacked
	missed error // a part of the text is not in the archive
}

// budget is how much text may still be made.
type budget struct {
	text, most int   // bytes, still and in all
	full       error // nothing more may
}

func newBudget(limits Limits) budget { return budget{text: limits.Text, most: limits.Text} }

// take draws n bytes of text. Once they are used up, it reports false and sets full.
func (b *budget) take(n int) bool {
	if b.text -= n; b.text < 0 {
		b.text = 0
		b.full = &LimitError{What: "bytes of text", Max: int64(b.most)}
	}
	return b.full == nil
}

func openArchive(r io.ReaderAt, size int64, limits Limits) (*archive, error) {
	limits = limits.orDefault()
	if size > limits.File {
		return nil, &LimitError{What: "bytes in the file", Max: limits.File}
	}
	var magic [len(oleMagic)]byte
	if n, err := r.ReadAt(magic[:], 0); n == len(magic) && string(magic[:]) == oleMagic {
		return nil, errOLE
	} else if err != nil && err != io.EOF {
		return nil, err
	}
	// The directory of the archive is read before its entries can be counted,
	// so the reading itself is bounded: an entry takes 46 bytes and its name.
	meter := &meteredReader{r: r, left: 256<<10 + int64(limits.Entries)*160,
		err: &LimitError{What: "files in the archive", Max: int64(limits.Entries)}}
	z, err := zip.NewReader(meter, size)
	if err != nil {
		return nil, err
	}
	if len(z.File) > limits.Entries {
		return nil, meter.err
	}
	meter.left = -1
	a := &archive{budget: newBudget(limits), file: r, parts: make(map[string]*zip.File, len(z.File)), limits: limits, packed: limits.Unpacked}
	for _, f := range z.File {
		key := partKey(f.Name)
		if _, ok := a.parts[key]; !ok {
			a.parts[key] = f
		}
	}
	return a, nil
}

// partKey makes part names comparable: their case does not count (ECMA-376
// part 2, 6.2.2.3), and some programs write backslashes.
func partKey(name string) string {
	return strings.ToLower(strings.TrimPrefix(strings.ReplaceAll(name, `\`, "/"), "/"))
}

// allowRows allows for four times as much to be unpacked: rows of sheets, of which nothing is kept but their text.
func (a *archive) allowRows() {
	a.packed += 3 * a.limits.Unpacked
	a.limits.Unpacked *= 4
}

// miss notes that a part of the text is not there, if so.
func (a *archive) miss(name string) {
	if !a.has(name) {
		a.missed = lacking(name)
	}
}

// has reports whether there is a part of that name.
func (a *archive) has(name string) bool { return a.parts[partKey(name)] != nil }

// unpack calls fn with what a part unpacks to, if there is one.
func (a *archive) unpack(name string, fn func(content io.Reader) error) error {
	f := a.parts[partKey(name)]
	if f == nil {
		return nil
	}
	content, err := f.Open()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer content.Close()
	return fn(&allowance{content, a})
}

// part reads a part, if there is one: fn gets its root.
func (a *archive) part(name string, fn func(t *tokens, root element) error) error {
	return a.unpack(name, func(content io.Reader) error {
		t := newTokens(content, name, a.limits.Depth)
		root, err := t.root()
		if err != nil {
			return err
		}
		return fn(t, root)
	})
}

// each calls fn for each element inside the root of a part, if there is one. What fn
// leaves of the element is skipped.
func (a *archive) each(name string, fn func(t *tokens, e element) error) error {
	return a.part(name, func(t *tokens, _ element) error {
		return t.children(func(e element) error { return fn(t, e) })
	})
}

// elements calls fn for all elements of a part below its root, in the order of the text.
func (a *archive) elements(name string, fn func(e element)) error {
	return a.each(name, func(t *tokens, e element) error {
		fn(e)
		return t.descend(fn)
	})
}

// meteredReader returns err once more than left bytes were read. A negative
// left means no bound.
type meteredReader struct {
	r    io.ReaderAt
	left int64
	err  error
}

func (m *meteredReader) ReadAt(p []byte, off int64) (int, error) {
	if m.left < 0 {
		return m.r.ReadAt(p, off)
	}
	if int64(len(p)) > m.left {
		return 0, m.err
	}
	m.left -= int64(len(p))
	return m.r.ReadAt(p, off)
}

// relation is an entry of a .rels part: what an r:id stands for.
type relation struct {
	kind     string // last element of the type URI, such as "hyperlink"
	target   string // part name, or a URL if external
	external bool
}

// relations returns the relationships of a part by id, none if it has none.
func (a *archive) relations(part string) (map[string]relation, error) {
	rels := map[string]relation{}
	dir, base := path.Split(part)
	err := a.elements(dir+"_rels/"+base+".rels", func(e element) {
		if e.name != "Relationship" {
			return
		}
		rel := relation{path.Base(e.attr("Type")), e.attr("Target"), strings.EqualFold(e.attr("TargetMode"), "External")}
		switch {
		case rel.external:
		case strings.HasPrefix(rel.target, "/"):
			rel.target = path.Clean(rel.target)[1:]
		default:
			rel.target = path.Join(dir, rel.target)
		}
		rels[e.attr("Id")] = rel
	})
	return rels, err
}

func lacking(part string) error { return fmt.Errorf("the archive lacks a part: %s", part) }

// mainPart returns the part that the package is about, or otherwise, and its relationships.
func (a *archive) mainPart(otherwise string) (string, map[string]relation, error) {
	rels, err := a.relations("")
	if err != nil {
		return "", nil, err
	}
	main := otherwise
	for _, rel := range rels {
		if rel.kind == "officeDocument" && a.has(rel.target) {
			main = rel.target
		}
	}
	if !a.has(main) {
		return "", nil, lacking(main)
	}
	rels, err = a.relations(main)
	return main, rels, err
}

// related returns the part that is related in the given way, or "".
func related(rels map[string]relation, kind string) string {
	found := ""
	for _, rel := range rels {
		if rel.kind == kind && !rel.external && (found == "" || rel.target < found) {
			found = rel.target
		}
	}
	return found
}

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

package document

import "strings"

// maxInstruction bounds how much of a field's instruction is kept.
const maxInstruction = 4 << 10

// field is a complex field (ECMA-376 part 1, 17.16.18): an instruction, which
// is not text, and its result, which is.
type field struct {
	instruction []byte
	result      bool       // the instruction is over
	in          *paragraph // where the result began
	from        int
}

// inInstruction tells whether text read now belongs to an instruction.
func (d *docx) inInstruction() bool {
	for i := range d.fields {
		if !d.fields[i].result {
			return true
		}
	}
	return false
}

// maxFields bounds how deep fields nest.
const maxFields = 64

func (d *docx) fieldMark(kind string, p *paragraph) {
	last := len(d.fields) - 1
	switch {
	case kind == "begin" && len(d.fields) < maxFields:
		d.fields = append(d.fields, field{})
	case kind == "separate" && last >= 0:
		f := &d.fields[last]
		f.result, f.in, f.from = true, p, len(p.text)
	case kind == "end" && last >= 0:
		f := d.fields[last]
		d.fields = d.fields[:last]
		if url := linkTarget(string(f.instruction)); url != "" {
			from := f.from
			if f.in != p {
				from = 0
			}
			d.linkEnd(p, from, url)
		}
	}
}

// instruction reads w:instrText.
func (d *docx) instruction(t *tokens) error {
	if len(d.fields) == 0 {
		return nil
	}
	text, err := t.text(nil)
	f := &d.fields[len(d.fields)-1]
	if len(f.instruction)+len(text) <= maxInstruction {
		f.instruction = append(f.instruction, text...)
	}
	return err
}

// simpleField reads w:fldSimple, whose instruction is an attribute.
func (d *docx) simpleField(t *tokens, e element, p *paragraph) error {
	from := len(p.text)
	if err := d.inlines(t, p); err != nil {
		return err
	}
	d.linkEnd(p, from, linkTarget(e.attr("instr")))
	return d.out.err
}

// linkTarget returns the address in an instruction such as
// HYPERLINK "https://example.org" \o "tip", or "".
func linkTarget(instruction string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(instruction), "HYPERLINK")
	rest = strings.TrimSpace(rest)
	if !ok || !strings.HasPrefix(rest, `"`) {
		return ""
	}
	url, _, _ := strings.Cut(rest[1:], `"`)
	return url
}

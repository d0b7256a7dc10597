package document

import "strconv"

// noteKind is a kind of text kept apart from the body.
type noteKind struct {
	reference string // the element that refers to one
	relation  string // kind of the part that holds them
	element   string // what holds one there
	prefix    string // of the mark
}

func noteKinds() [3]noteKind {
	return [...]noteKind{
		{"footnoteReference", "footnotes", "footnote", ""},
		{"endnoteReference", "endnotes", "endnote", "e"},
		{"commentReference", "comments", "comment", "c"},
	}
}

// noteRef is a note by the element that refers to it and its w:id.
type noteRef struct{ reference, id string }

// noteRefs is the notes referred to so far, in order.
type noteRefs struct {
	order []noteRef
	marks map[noteRef]string
	count map[string]int // by the element that refers to them
}

// mark returns the mark of a note, numbering it if it is new.
func (n *noteRefs) mark(reference, id string) string {
	ref := noteRef{reference, id}
	if mark, ok := n.marks[ref]; ok {
		return mark
	}
	if n.marks == nil {
		n.marks, n.count = map[noteRef]string{}, map[string]int{}
	}
	prefix := ""
	for _, kind := range noteKinds() {
		if kind.reference == reference {
			prefix = kind.prefix
		}
	}
	n.count[reference]++
	mark := "[^" + prefix + strconv.Itoa(n.count[reference]) + "]"
	n.order = append(n.order, ref)
	n.marks[ref] = mark
	return mark
}

// readNotes reads the notes that were referred to and puts them in the order
// of their marks. A note may refer to one of a later kind.
func (d *docx) readNotes() error {
	for _, kind := range noteKinds() {
		part := related(d.mainRels, kind.relation)
		if part == "" || d.refs.count[kind.reference] == 0 {
			continue
		}
		texts, err := d.noteTexts(part, kind)
		for _, ref := range d.refs.order {
			if text := texts[ref.id]; ref.reference == kind.reference && len(text) > 0 {
				mark := d.refs.marks[ref]
				if !d.out.take(len(mark) + 3) {
					break
				}
				d.notes.line([]byte(mark+": "), text)
			}
		}
		if err == nil {
			err = d.out.err
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// noteTexts returns the texts of the notes in a part by id.
func (d *docx) noteTexts(part string, kind noteKind) (map[string][]byte, error) {
	texts := map[string][]byte{}
	rels, err := d.a.relations(part)
	if err != nil {
		return texts, err
	}
	d.rels = rels
	err = d.a.each(part, func(t *tokens, e element) error {
		ref := noteRef{kind.reference, e.attr("id")}
		if _, wanted := d.refs.marks[ref]; !wanted || e.name != kind.element || texts[ref.id] != nil {
			return nil
		}
		var b block
		d.fields = nil
		err := d.blocks(t, &b)
		b.flush()
		text := trimSpace(b.text)
		if author := e.attr("author"); author != "" && d.out.take(len(author)+2) {
			text = append([]byte(author+": "), text...)
		}
		texts[ref.id] = text
		return err
	})
	return texts, err
}

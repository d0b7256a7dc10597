package document

import (
	"bytes"
	"strings"
)

// style is what of a paragraph style bears on the text.
type style struct {
	name, basedOn        string
	outline, list, level string
}

// styles are the paragraph styles of a document by id.
type styles map[string]style

// maxBase bounds how far a style is followed to what it is based on, which a
// bad document can make a circle.
const maxBase = 20

func readStyles(a *archive, part string) (styles, error) {
	all := styles{}
	err := a.each(part, func(t *tokens, e element) error {
		if e.name != "style" {
			return nil
		}
		id, s := e.attr("styleId"), style{}
		err := t.children(func(t *tokens, e element) error {
			switch e.name {
			case "name":
				s.name = strings.ToLower(e.attr("val"))
			case "basedOn":
				s.basedOn = e.attr("val")
			case "pPr":
				var p paragraph
				err := (&docx{}).properties(t, &p)
				s.outline, s.list, s.level = p.outline, p.list, p.level
				return err
			}
			return nil
		})
		all[id] = s
		return err
	})
	return all, err
}

// heading returns the level of a heading, 1 to 9, or 0.
func (all styles) heading(p *paragraph) int {
	if level := outlineLevel(p.outline); level != 0 {
		return max(level, 0)
	}
	id := p.style
	for range maxBase {
		s, known := all[id]
		if !known {
			s.name = strings.ToLower(id) // without styles.xml the id has to do
		}
		name := strings.ReplaceAll(s.name, " ", "")
		if n, ok := strings.CutPrefix(name, "heading"); ok && len(n) == 1 && n[0] >= '1' && n[0] <= '9' {
			return int(n[0] - '0')
		}
		if name == "title" {
			return 1
		}
		if level := outlineLevel(s.outline); level != 0 {
			return max(level, 0)
		}
		if id = s.basedOn; id == "" {
			break
		}
	}
	return 0
}

// outlineLevel returns the level of a heading for w:outlineLvl: 1 to 9, -1 for
// body text, and 0 if it is not set.
func outlineLevel(val string) int {
	switch {
	case len(val) != 1 || val[0] < '0' || val[0] > '9':
		return 0
	case val == "9":
		return -1
	}
	return int(val[0]-'0') + 1
}

// list returns the list of a paragraph, "" if it is in none, and its level.
func (all styles) list(p *paragraph) (list string, level int) {
	list, lvl := p.list, p.level
	id := p.style
	for range maxBase {
		s := all[id]
		if list == "" {
			list = s.list
		}
		if lvl == "" {
			lvl = s.level
		}
		if id = s.basedOn; id == "" || list != "" {
			break
		}
	}
	if list == "0" {
		return "", 0
	}
	return list, min(max(atoi(lvl), 0), maxLevel)
}

// trimSpace is bytes.TrimSpace into memory that can be appended to.
func trimSpace(b []byte) []byte { return bytes.Clone(bytes.TrimSpace(b)) }

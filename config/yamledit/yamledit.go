// Package yamledit changes one entry of a YAML file and leaves all other lines as they are.
package yamledit

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Section is what an entry is one of: the members of a mapping that is a value at the top of a
// file, or the items of a list.
type Section struct {
	Key string
	ID  string // the key of an item that has its name; empty if the section is a mapping
}

// Find returns the value of an entry, nil if there is none.
func Find(text []byte, s Section, name string) (*yaml.Node, error) {
	f, err := s.parse(text, name)
	if err != nil || f.at < 0 {
		return nil, err
	}
	return f.value.Content[f.at+f.step-1], nil
}

// Set returns the text with an entry added, or replaced. Only the lines of the entry change, unless
// the section is written in braces.
func Set(text []byte, s Section, name string, entry *yaml.Node) ([]byte, error) {
	f, err := s.parse(text, name)
	if err != nil {
		return nil, err
	}
	content := []*yaml.Node{Scalar(name), entry}[2-f.step:]
	end := len(f.lines) + 1
	switch {
	case f.value == nil:
		added := render(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{Scalar(s.Key), {Kind: f.kind, Content: content}}}, f.indent)
		if len(f.lines) > 0 {
			added = append([]string{""}, added...)
		}
		return f.splice(end, end, added), nil
	case f.value.Tag == "!!null" && f.value.Value == "" && f.value.Line == f.key.Line && !strings.Contains(f.lines[f.key.Line-1], "&"):
		at := f.end(f.key.Line, f.behind(), f.indent+3) // behind comments that would be taken for a part of the entry
		return f.splice(at, at, render(&yaml.Node{Kind: f.kind, Content: content}, f.indent+2)), nil
	case f.value.Kind != f.kind:
		return nil, fmt.Errorf("%s is not %s", s.Key, map[yaml.Kind]string{yaml.SequenceNode: "a list", yaml.MappingNode: "a mapping"}[f.kind])
	case f.braces() && f.at >= 0:
		f.value.Content[f.at+f.step-1] = entry
		return f.rewritten(), nil
	case f.braces():
		f.value.Content = append(f.value.Content, content...)
		return f.rewritten(), nil
	}
	from, to := f.span(f.at)
	if f.at < 0 { // behind the last
		_, to = f.span(len(f.value.Content) - f.step)
		from = to
	}
	return f.splice(from, to, render(&yaml.Node{Kind: f.kind, Content: content}, f.column()-1)), nil
}

// Remove returns the text without an entry, which must be there.
func Remove(text []byte, s Section, name string) ([]byte, error) {
	f, err := s.parse(text, name)
	switch {
	case err != nil:
		return nil, err
	case f.at < 0:
		return nil, fmt.Errorf("there is no %s.%s", s.Key, name)
	case f.braces():
		f.value.Content = slices.Delete(f.value.Content, f.at, f.at+f.step)
		return f.rewritten(), nil
	}
	from, to := f.span(f.at)
	if len(f.value.Content) == f.step {
		empty := map[yaml.Kind]string{yaml.SequenceNode: " []", yaml.MappingNode: " {}"}[f.kind]
		line := f.lines[f.key.Line-1]
		text, _, _ := strings.Cut(strings.ReplaceAll(line, "\t", " "), " #")
		text = line[:len(strings.TrimRight(text, " \r\n"))] // with a tag or an anchor, if there is one
		f.lines[f.key.Line-1] = text + empty + line[len(text):]
	}
	return f.splice(from, to, nil), nil
}

// file is a file with a section and an entry in it. Lines are counted from 1.
type file struct {
	lines  []string // with their ends
	ending string   // of lines that are added
	kind   yaml.Kind
	step   int // how many nodes an entry has among those of the section
	indent int // of the keys at the top

	root, key, value *yaml.Node // of the section; nil if there is none
	at               int        // of the entry among the nodes of the section; -1 if there is none
}

// parse finds an entry.
func (s Section) parse(text []byte, name string) (*file, error) {
	if bytes.ContainsAny(bytes.ReplaceAll(text, []byte("\r\n"), nil), "\r\u0085\u2028\u2029") { // which count as lines, too
		return nil, errors.New("it has line breaks that are no newlines, such as a carriage return alone")
	}
	f := &file{ending: "\n", kind: yaml.MappingNode, step: 2, at: -1}
	if s.ID != "" {
		f.kind, f.step = yaml.SequenceNode, 1
	}
	if bytes.Contains(text, []byte("\r\n")) {
		f.ending = "\r\n"
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasSuffix(line, "\n") {
			line += f.ending
		}
		f.lines = append(f.lines, line)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil || len(document.Content) == 0 {
		return f, err
	}
	root := document.Content[0]
	switch {
	case root.Kind == yaml.ScalarNode && root.Tag == "!!null":
		return f, nil
	case root.Kind != yaml.MappingNode || root.Style&yaml.FlowStyle != 0:
		return nil, errors.New("the file is written in braces, or is no mapping")
	case len(root.Content) == 0:
		return f, nil
	}
	f.root, f.indent = root, root.Content[0].Column-1
	i, err := index(root, s.Key)
	if err != nil || i < 0 {
		return f, err
	}
	f.key, f.value = root.Content[i], root.Content[i+1]
	switch {
	case f.value.Kind != f.kind:
		return f, nil
	case !f.braces() && f.line(0) <= f.key.Line:
		return nil, fmt.Errorf("line %d: the first entry of %s is not on a line of its own", f.key.Line, s.Key)
	case !f.braces() && slices.ContainsFunc(f.lines[f.key.Line:max(f.key.Line, f.line(0)-1)], func(line string) bool {
		line = strings.TrimSpace(line)
		return line != "" && line[0] != '#'
	}):
		return nil, fmt.Errorf("line %d: a tag or an anchor of %s is on a line of its own; write it behind the colon", f.key.Line+1, s.Key)
	case s.ID == "":
		f.at, err = index(f.value, name)
		return f, err
	}
	for i, item := range f.value.Content {
		if id, _ := index(item, s.ID); item.Kind != yaml.MappingNode || id < 0 || item.Content[id+1].Value != name {
			continue
		}
		if f.at >= 0 {
			return nil, fmt.Errorf("line %d: %s has two items called %s; remove one", item.Line, s.Key, name)
		}
		f.at = i
	}
	return f, nil
}

// index returns where a mapping has a key, -1 if nowhere.
func index(mapping *yaml.Node, key string) (at int, err error) {
	at = -1
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		switch k := mapping.Content[i]; {
		case k.Value != key:
		case at >= 0:
			return -1, fmt.Errorf("line %d, column %d: duplicate key %q; remove one", k.Line, k.Column, key)
		default:
			at = i
		}
	}
	return at, nil
}

// braces reports whether the section is written in braces.
func (f *file) braces() bool { return f.value.Style&yaml.FlowStyle != 0 }

// column returns where the entries of the section begin. The section itself may begin with a tag, elsewhere.
func (f *file) column() int {
	if f.kind == yaml.SequenceNode {
		return strings.IndexByte(f.lines[f.line(0)-1], '-') + 1
	}
	return f.value.Content[0].Column
}

// span returns the first line of an entry, and the one behind its last.
func (f *file) span(at int) (from, to int) {
	if at < 0 {
		return 0, 0
	}
	next := f.behind()
	if at+f.step < len(f.value.Content) {
		next = f.line(at + f.step)
	}
	return f.line(at), f.end(f.line(at), next, f.column())
}

// line returns the first line of an entry: for an item that of its dash, which may be alone.
func (f *file) line(at int) int {
	line := f.value.Content[at].Line
	for f.kind == yaml.SequenceNode && line > 1 && !strings.HasPrefix(strings.TrimLeft(f.lines[line-1], " "), "-") {
		line--
	}
	return line
}

// behind returns the line of what follows the section, which may be another document.
func (f *file) behind() int {
	if i := slices.Index(f.root.Content, f.key); i+2 < len(f.root.Content) {
		return f.root.Content[i+2].Line
	}
	if i := slices.IndexFunc(f.lines[f.key.Line:], func(l string) bool { return strings.HasPrefix(l, "...") || strings.HasPrefix(l, "---") }); i >= 0 {
		return f.key.Line + 1 + i
	}
	return len(f.lines) + 1
}

// end returns the line behind what begins on a line, at a column, and ends before next: comments that
// are not indented more belong to what follows.
func (f *file) end(start, next, column int) int {
	for ; next > start+1; next-- {
		line := strings.TrimLeft(f.lines[next-2], " \t")
		if strings.TrimRight(line, "\r\n") != "" && (line[0] != '#' || len(f.lines[next-2])-len(line) >= column) {
			break
		}
	}
	return next
}

// splice returns the text with other lines from a line up to another.
func (f *file) splice(from, to int, with []string) []byte {
	for i := range with {
		with[i] += f.ending
	}
	return []byte(strings.Join(slices.Concat(f.lines[:from-1], with, f.lines[to-1:]), ""))
}

// rewritten returns the text with the section, which was written in braces, in lines.
func (f *file) rewritten() []byte {
	end := f.end(f.key.Line, f.behind(), math.MaxInt) // no comment is part of it
	k := Scalar(f.key.Value)
	if len(f.value.Content) > 0 {
		k.LineComment, f.value.LineComment = cmp.Or(f.key.LineComment, f.value.LineComment), ""
		f.value.Style = 0
	}
	f.value.HeadComment, f.value.FootComment = "", "" // their lines stay
	return f.splice(f.key.Line, end, render(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{k, f.value}}, f.indent))
}

// Scalar returns a text as a node.
func Scalar(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}

// render returns the lines of a node, each indented.
func render(n *yaml.Node, indent int) []string {
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		panic(fmt.Sprintf("yamledit: %v", err)) // nodes of ours, and those that were parsed, can be written
	}
	all := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	for i, line := range all {
		if line != "" {
			all[i] = strings.Repeat(" ", indent) + line
		}
	}
	return all
}

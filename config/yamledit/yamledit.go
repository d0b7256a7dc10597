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
	_, _, value, at, err := s.find(text, name)
	if err != nil || at < 0 {
		return nil, err
	}
	return value.Content[at+s.step()-1], nil
}

// Set returns the text with an entry added, or replaced. Only the lines of the entry change, unless
// the section is written in braces.
func Set(text []byte, s Section, name string, entry *yaml.Node) ([]byte, error) {
	root, key, value, at, err := s.find(text, name)
	if err != nil {
		return nil, err
	}
	content := []*yaml.Node{scalar(name), entry}
	if s.ID != "" {
		content = content[1:]
	}
	t := newLines(text)
	base := 0
	if root != nil {
		base = root.Content[0].Column - 1
	}
	switch {
	case value == nil:
		whole := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{scalar(s.Key), s.node(content)}}
		added := render(whole, base)
		if len(t.lines) > 0 {
			added = append([]string{""}, added...)
		}
		return t.splice(len(t.lines)+1, len(t.lines)+1, added), nil
	case value.Tag == "!!null" && value.Value == "" && !strings.Contains(t.lines[key.Line-1], "&"):
		return t.splice(key.Line+1, key.Line+1, render(s.node(content), base+2)), nil
	case value.Kind == s.kind() && value.Style&yaml.FlowStyle == 0:
		column := s.column(value)
		if at >= 0 {
			end := t.end(s.line(t, value, at), s.nextLine(t, root, key, value, at), column)
			return t.splice(s.line(t, value, at), end+1, render(s.node(content), column-1)), nil
		}
		last := len(value.Content) - s.step()
		end := t.end(s.line(t, value, last), s.nextLine(t, root, key, value, last), column)
		return t.splice(end+1, end+1, render(s.node(content), column-1)), nil
	case value.Kind == s.kind():
		if at >= 0 {
			value.Content[at+s.step()-1] = entry
		} else {
			value.Content = append(value.Content, content...)
		}
		return t.section(root, key, value, base), nil
	}
	return nil, fmt.Errorf("%s is not %s", s.Key, s.what())
}

// Remove returns the text without an entry, which must be there.
func Remove(text []byte, s Section, name string) ([]byte, error) {
	root, key, value, at, err := s.find(text, name)
	if err != nil {
		return nil, err
	}
	if at < 0 {
		return nil, fmt.Errorf("there is no %s.%s", s.Key, name)
	}
	t := newLines(text)
	first, last := s.line(t, value, at), s.nextLine(t, root, key, value, at)
	flow := value.Style&yaml.FlowStyle != 0
	column := s.column(value)
	value.Content = slices.Delete(value.Content, at, at+s.step())
	switch {
	case flow:
		return t.section(root, key, value, root.Content[0].Column-1), nil
	case len(value.Content) == 0:
		t.lines[key.Line-1] = strings.Replace(t.lines[key.Line-1], ":", ": "+map[bool]string{true: "[]", false: "{}"}[s.ID != ""], 1)
	}
	return t.splice(first, t.end(first, last, column)+1, nil), nil
}

// find parses a file. Value is nil if it has no such section, root if it has nothing at all, and at
// is the index of the entry in the section, -1 if there is none.
func (s Section) find(text []byte, name string) (root, key, value *yaml.Node, at int, err error) {
	if otherBreaks(text) { // which count as lines, too
		return nil, nil, nil, -1, errors.New("it has line breaks that are no newlines, such as a carriage return alone")
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, nil, nil, -1, err
	}
	if len(document.Content) == 0 {
		return nil, nil, nil, -1, nil
	}
	root = document.Content[0]
	switch {
	case root.Kind == yaml.ScalarNode && root.Tag == "!!null":
		return nil, nil, nil, -1, nil
	case root.Kind != yaml.MappingNode || root.Style&yaml.FlowStyle != 0:
		return nil, nil, nil, -1, errors.New("the file is written in braces, or is no mapping")
	case len(root.Content) == 0:
		return nil, nil, nil, -1, nil
	}
	i, err := index(root, s.Key)
	if err != nil || i < 0 {
		return root, nil, nil, -1, err
	}
	key, value, at = root.Content[i], root.Content[i+1], -1
	if value.Kind != s.kind() {
		return root, key, value, -1, nil
	}
	if s.ID == "" {
		at, err = index(value, name)
		return root, key, value, at, err
	}
	for i, item := range value.Content {
		if id, _ := index(item, s.ID); item.Kind != yaml.MappingNode || id < 0 || item.Content[id+1].Value != name {
			continue
		}
		if at >= 0 {
			return nil, nil, nil, -1, fmt.Errorf("line %d: %s has two items called %s; remove one", item.Line, s.Key, name)
		}
		at = i
	}
	return root, key, value, at, nil
}

func otherBreaks(text []byte) bool {
	return bytes.ContainsAny(bytes.ReplaceAll(text, []byte("\r\n"), nil), "\r\u0085\u2028\u2029")
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

func (s Section) kind() yaml.Kind {
	if s.ID != "" {
		return yaml.SequenceNode
	}
	return yaml.MappingNode
}

func (s Section) what() string {
	if s.ID != "" {
		return "a list"
	}
	return "a mapping"
}

// step is how many nodes an entry has among those of its section.
func (s Section) step() int {
	if s.ID != "" {
		return 1
	}
	return 2
}

// column returns where the entries of a section begin.
func (s Section) column(value *yaml.Node) int {
	if s.ID != "" {
		return value.Column
	}
	return value.Content[0].Column
}

// line returns the first line of an entry: for an item that of its dash, which may be alone.
func (s Section) line(t *lines, value *yaml.Node, at int) int {
	line := value.Content[at].Line
	if s.ID == "" || value.Style&yaml.FlowStyle != 0 {
		return line
	}
	for dash := value.Column - 1; line > 1 && (len(t.lines[line-1]) <= dash || t.lines[line-1][dash] != '-'); {
		line--
	}
	return line
}

// node returns the nodes of an entry as a section with nothing else.
func (s Section) node(content []*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: s.kind(), Content: content}
}

// nextLine returns the line of what follows the entry at an index of the section.
func (s Section) nextLine(t *lines, root, key, value *yaml.Node, at int) int {
	if at+s.step() < len(value.Content) {
		return s.line(t, value, at+s.step())
	}
	return afterSection(root, key, len(t.lines))
}

func afterSection(root, key *yaml.Node, lines int) int {
	if i := slices.Index(root.Content, key); i+2 < len(root.Content) {
		return root.Content[i+2].Line
	}
	return lines + 1
}

// lines is a file by its lines, which are counted from 1.
type lines struct {
	lines   []string // without their ends
	endings []string
	ending  string // of lines that are added
}

func newLines(text []byte) *lines {
	l := &lines{ending: "\n"}
	if bytes.Contains(text, []byte("\r\n")) {
		l.ending = "\r\n"
	}
	for line := range strings.Lines(string(text)) {
		bare := strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		l.lines, l.endings = append(l.lines, bare), append(l.endings, cmp.Or(line[len(bare):], l.ending))
	}
	return l
}

// end returns the last line of what begins on a line, at a column, and ends before next:
// comments that are not indented more belong to what follows.
func (l *lines) end(start, next, column int) int {
	end := next - 1
	for ; end > start; end-- {
		line := strings.TrimLeft(l.lines[end-1], " \t")
		if line != "" && (line[0] != '#' || len(l.lines[end-1])-len(line) >= column) {
			break
		}
	}
	return end
}

// splice returns the text with other lines from a line up to another.
func (l *lines) splice(from, to int, with []string) []byte {
	var out bytes.Buffer
	for i, line := range l.lines[:from-1] {
		out.WriteString(line + l.endings[i])
	}
	for _, line := range with {
		out.WriteString(line + l.ending)
	}
	for i, line := range l.lines[to-1:] {
		out.WriteString(line + l.endings[to-1+i])
	}
	return out.Bytes()
}

// section returns the text with a section that was written in braces.
func (l *lines) section(root, key, value *yaml.Node, base int) []byte {
	end := l.end(key.Line, afterSection(root, key, len(l.lines)), math.MaxInt) // no comment is part of it
	k := scalar(key.Value)
	if len(value.Content) > 0 {
		k.LineComment, value.LineComment = cmp.Or(key.LineComment, value.LineComment), ""
		value.Style = 0
	}
	value.HeadComment, value.FootComment = "", "" // their lines stay
	return l.splice(key.Line, end+1, render(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{k, value}}, base))
}

func scalar(text string) *yaml.Node {
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

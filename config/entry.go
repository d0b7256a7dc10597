package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// section is the key of the entries that are edited.
const section = "mcp_servers"

// setEntry returns the text of a configuration file with an entry of the section added, or
// replaced. Only the lines of the entry change, unless the section is written in braces.
func setEntry(text []byte, e Entry, replace bool) ([]byte, error) {
	root, key, value, err := findSection(text)
	if err != nil {
		return nil, err
	}
	entry := []*yaml.Node{scalar(e.Name), settingsNode(reflect.ValueOf(e.Settings))}
	at := -1
	if value != nil {
		at = indexOf(value, e.Name)
	}
	if at >= 0 && !replace {
		return nil, fmt.Errorf("%s.%s exists already; use --replace to replace it", section, e.Name)
	}
	t := newLines(text)
	base := 0
	if root != nil {
		base = root.Content[0].Column - 1
	}
	switch {
	case value == nil:
		whole := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{scalar(section), {Kind: yaml.MappingNode, Content: entry}}}
		added := render(whole, base)
		if len(t.lines) > 0 {
			added = append([]string{""}, added...)
		}
		return t.splice(len(t.lines)+1, len(t.lines)+1, added), nil
	case value.Tag == "!!null" && value.Value == "" && !strings.Contains(t.lines[key.Line-1], "&"):
		return t.splice(key.Line+1, key.Line+1, render(mapping(entry), base+2)), nil
	case value.Kind == yaml.MappingNode && value.Style&yaml.FlowStyle == 0:
		column := value.Content[0].Column
		if at >= 0 {
			end := t.end(value.Content[at].Line, nextLine(root, key, value, at, len(t.lines)), column)
			return t.splice(value.Content[at].Line, end+1, render(mapping(entry), column-1)), nil
		}
		last := len(value.Content) - 2
		end := t.end(value.Content[last].Line, nextLine(root, key, value, last, len(t.lines)), column)
		return t.splice(end+1, end+1, render(mapping(entry), column-1)), nil
	case value.Kind == yaml.MappingNode:
		if at >= 0 {
			value.Content[at+1] = entry[1]
		} else {
			value.Content = append(value.Content, entry...)
		}
		return t.section(root, key, value, base), nil
	}
	return nil, fmt.Errorf("%s is not a mapping", section)
}

// removeEntry returns the text of a configuration file without an entry of the section.
func removeEntry(text []byte, name string) ([]byte, error) {
	root, key, value, err := findSection(text)
	if err != nil {
		return nil, err
	}
	at := -1
	if value != nil {
		at = indexOf(value, name)
	}
	if at < 0 {
		return nil, fmt.Errorf("there is no %s.%s", section, name)
	}
	t := newLines(text)
	first, last := value.Content[at].Line, nextLine(root, key, value, at, len(t.lines))
	flow := value.Style&yaml.FlowStyle != 0
	column := value.Content[at].Column
	value.Content = slices.Delete(value.Content, at, at+2)
	switch {
	case flow:
		return t.section(root, key, value, root.Content[0].Column-1), nil
	case len(value.Content) == 0:
		t.lines[key.Line-1] = strings.Replace(t.lines[key.Line-1], ":", ": {}", 1)
	}
	return t.splice(first, t.end(first, last, column)+1, nil), nil
}

// findSection parses a configuration file. Value is nil if it has no such section, root if it
// has nothing at all.
func findSection(text []byte) (root, key, value *yaml.Node, err error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, nil, nil, err
	}
	if len(document.Content) == 0 {
		return nil, nil, nil, nil
	}
	root = document.Content[0]
	switch {
	case root.Kind == yaml.ScalarNode && root.Tag == "!!null":
		return nil, nil, nil, nil
	case root.Kind != yaml.MappingNode || root.Style&yaml.FlowStyle != 0:
		return nil, nil, nil, errors.New("the file is written in braces, or is no mapping")
	case len(root.Content) == 0:
		return nil, nil, nil, nil
	}
	if i := indexOf(root, section); i >= 0 {
		key, value = root.Content[i], root.Content[i+1]
	}
	return root, key, value, nil
}

func indexOf(mapping *yaml.Node, key string) int {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// nextLine returns the line of what follows the entry at an index of the section.
func nextLine(root, key, value *yaml.Node, at, lines int) int {
	if at+2 < len(value.Content) {
		return value.Content[at+2].Line
	}
	return afterSection(root, key, lines)
}

func afterSection(root, key *yaml.Node, lines int) int {
	if i := slices.Index(root.Content, key); i+2 < len(root.Content) {
		return root.Content[i+2].Line
	}
	return lines + 1
}

// lines is a file by its lines, which are counted from 1.
type lines struct {
	lines  []string // without their ends
	ending string   // of each
}

func newLines(text []byte) *lines {
	l := &lines{ending: "\n"}
	if bytes.Contains(text, []byte("\r\n")) {
		l.ending = "\r\n"
	}
	if len(text) > 0 {
		l.lines = strings.Split(strings.TrimSuffix(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n"), "\n")
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
	all := slices.Concat(l.lines[:from-1], with, l.lines[to-1:])
	return []byte(strings.Join(all, l.ending) + l.ending)
}

// section returns the text with a section that was written in braces.
func (l *lines) section(root, key, value *yaml.Node, base int) []byte {
	end := l.end(key.Line, afterSection(root, key, len(l.lines)), math.MaxInt) // no comment is part of it
	k := scalar(section)
	if len(value.Content) > 0 {
		k.LineComment, value.LineComment = cmp.Or(key.LineComment, value.LineComment), ""
		value.Style = 0
	}
	value.HeadComment, value.FootComment = "", "" // their lines stay
	return l.splice(key.Line, end+1, render(mapping([]*yaml.Node{k, value}), base))
}

func mapping(content []*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Content: content}
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
		panic(fmt.Sprintf("config: %v", err)) // nodes of ours, and those that were parsed, can be written
	}
	all := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	for i, line := range all {
		if line != "" {
			all[i] = strings.Repeat(" ", indent) + line
		}
	}
	return all
}

// settingsNode returns what is set of a struct, by the names of its fields in files.
func settingsNode(v reflect.Value) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for f, value := range v.Fields() {
		name := f.Tag.Get("yaml")
		if !f.IsExported() || name == "" || value.IsZero() {
			continue
		}
		n.Content = append(n.Content, scalar(name), valueNode(value, f.Tag.Get("one") != ""))
	}
	return n
}

func valueNode(v reflect.Value, one bool) *yaml.Node {
	if d, ok := v.Interface().(time.Duration); ok {
		return scalar(d.String())
	}
	switch v.Kind() {
	case reflect.Pointer:
		return valueNode(v.Elem(), false)
	case reflect.Struct:
		return settingsNode(v)
	}
	if list, ok := v.Interface().([]string); ok && one && len(list) == 1 {
		return scalar(list[0])
	}
	n := &yaml.Node{}
	if err := n.Encode(v.Interface()); err != nil {
		panic(fmt.Sprintf("config: %v", err)) // settings are texts, numbers, lists and maps of them
	}
	if n.Kind == yaml.SequenceNode {
		n.Style = yaml.FlowStyle
	}
	return n
}

// onlyEntries reports whether anything but the named entries differs between two texts of a
// file.
func onlyEntries(before, after []byte, names []string) error {
	rest := func(text []byte) (map[string]any, error) {
		var all map[string]any
		if err := yaml.Unmarshal(text, &all); err != nil {
			return nil, err
		}
		servers, _ := all[section].(map[string]any)
		for _, name := range names {
			delete(servers, name)
		}
		if len(servers) == 0 {
			delete(all, section)
		}
		if len(all) == 0 {
			all = nil
		}
		return all, nil
	}
	x, err := rest(before)
	if err != nil {
		return err
	}
	y, err := rest(after)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(x, y) {
		return errors.New("other settings would change, too")
	}
	return nil
}

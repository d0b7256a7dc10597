package edit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

func decodeTOML(text []byte) (any, error) {
	var top map[string]any
	err := toml.Unmarshal(text, &top)
	if e := (*toml.DecodeError)(nil); errors.As(err, &e) {
		line, column := e.Position()
		return nil, fmt.Errorf("it is no TOML: line %d, column %d: %s", line, column, strings.TrimPrefix(e.Error(), "toml: "))
	}
	if err != nil {
		return nil, fmt.Errorf("it is no TOML: %w", err)
	}
	if len(top) == 0 {
		return nil, nil
	}
	return map[string]any(top), nil
}

// span is a part of a text.
type span struct{ from, to int }

// tables returns where the table of an entry is, and those in it: from the line of each header to
// the last line that belongs to it. Comments before the next header belong to that.
func tables(text []byte, path []string) (found []span, err error) {
	var p unstable.Parser
	p.Reset(text)
	ours := false
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.Table && e.Kind != unstable.ArrayTable {
			continue
		}
		var keys []string
		at := -1
		for k := e.Key(); k.Next(); {
			if keys = append(keys, string(k.Node().Data)); at < 0 {
				at = int(k.Node().Raw.Offset)
			}
		}
		line := bytes.LastIndexByte(text[:at], '\n') + 1
		if ours {
			found[len(found)-1].to = line
		}
		if ours = len(keys) >= len(path) && slices.Equal(keys[:len(path)], path); ours {
			found = append(found, span{line, len(text)})
		}
	}
	if err := p.Error(); err != nil {
		return nil, fmt.Errorf("it is no TOML: %w", err)
	}
	for i := range found {
		found[i].to = found[i].from + len(trimComments(text[found[i].from:found[i].to]))
	}
	return found, nil
}

// trimComments returns a text without the blank lines and comments at its end.
func trimComments(text []byte) []byte {
	for {
		body := bytes.TrimRight(text, "\r\n")
		start := bytes.LastIndexByte(body, '\n') + 1
		if line := bytes.TrimSpace(body[start:]); start == 0 || len(line) > 0 && line[0] != '#' {
			end := len(body)
			if rest := text[end:]; len(rest) > 0 {
				end += bytes.IndexByte(rest, '\n') + 1
			}
			return text[:end]
		}
		text = text[:start]
	}
}

// editTOML returns the text with another entry, or without it if that is nil.
func editTOML(text []byte, p Place, entry Object) ([]byte, error) {
	path := append(slices.Clone(p.Keys), p.Name)
	found, err := tables(text, path)
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0 && entry == nil:
		return nil, fmt.Errorf("there is no table %s.%s", where(p.Keys), p.Name)
	}
	end := lineEnd(text)
	table := strings.ReplaceAll(tomlTable(path, entry), "\n", end)
	if len(found) == 0 {
		if len(text) > 0 {
			table = end + table
		}
		if len(text) > 0 && text[len(text)-1] != '\n' {
			table = end + table
		}
		return slices.Concat(text, []byte(table)), nil
	}
	for _, s := range slices.Backward(found[1:]) {
		text = cutTable(text, s)
	}
	if entry == nil {
		return cutTable(text, found[0]), nil
	}
	return slices.Concat(text[:found[0].from], []byte(table), text[found[0].to:]), nil
}

// cutTable returns a text without a table, and without the blank line before it.
func cutTable(text []byte, s span) []byte {
	for _, end := range []string{"\r\n", "\n"} {
		if head := text[:s.from]; bytes.HasSuffix(head, []byte("\n"+end)) || string(head) == end {
			s.from -= len(end)
			break
		}
	}
	return slices.Concat(text[:s.from], text[s.to:])
}

// tomlTable returns an entry, and what of it are tables behind the rest.
func tomlTable(path []string, entry Object) string {
	var keys []string
	for _, key := range path {
		keys = append(keys, tomlKey(key))
	}
	table, inner := "["+strings.Join(keys, ".")+"]\n", ""
	for _, m := range entry {
		if v, ok := m.Value.(Object); ok {
			inner += "\n" + tomlTable(append(slices.Clone(path), m.Name), v)
		} else {
			table += tomlKey(m.Name) + " = " + flat(m.Value) + "\n"
		}
	}
	return table + inner
}

// bareKey is a key that takes no quotes.
var bareKey = lazyregexp.New(`^[A-Za-z0-9_-]+$`)

func tomlKey(key string) string {
	if bareKey().MatchString(key) {
		return key
	}
	return quoted(key)
}

// Package edit changes one entry in the configuration file of another program, and no byte more than
// that takes: comments, order, numbers and line ends of the rest stay as they are.
package edit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/wire/rawjson"
)

// Object is the members of an entry in their order.
type Object []Member

// Member is a member of an entry. Its value is a string, a bool, an int, a list of them or an Object.
type Member struct {
	Name  string
	Value any
}

// Place is where a file has an entry.
type Place struct {
	Keys []string // of the section that the entry is in, from the top
	ID   string   // if the section is a list: the member of an item that has its name
	Name string
}

// Format is a format of files.
type Format string

// The formats. JSON may have comments and trailing commas.
const (
	JSON Format = ""
	TOML Format = "toml"
	YAML Format = "yaml"
)

// FormatOf returns the format of a file, which its name says.
func FormatOf(file string) Format {
	return map[string]Format{".toml": TOML, ".yaml": YAML, ".yml": YAML}[filepath.Ext(file)]
}

// bom is what some editors begin a file with.
const bom = "\ufeff"

// MaxFile bounds a file that is edited, in bytes.
const MaxFile = 16 << 20

// Get returns the entry at a place as plain values, nil if there is none.
func (f Format) Get(text []byte, p Place) (any, error) {
	_, found, err := f.parts(text, p)
	return found, err
}

// Decode returns what a text says as plain values.
func (f Format) Decode(text []byte) (any, error) {
	text = bytes.TrimPrefix(text, []byte(bom))
	if start := text[:min(len(text), 2)]; bytes.Contains(start, []byte{0}) || string(start) == "\xff\xfe" || string(start) == "\xfe\xff" {
		return nil, errors.New("it is UTF-16, which few programs read; save it as UTF-8")
	}
	top, err := f.codec().decode(text)
	if err != nil && (strings.Contains(err.Error(), "escape") || strings.Contains(err.Error(), `:\`)) {
		err = fmt.Errorf(`%w; a path of Windows needs \\ or / in double quotes`, err)
	}
	return top, err
}

// Begin returns a text with the lines of a head whose keys it does not have before all else.
func (f Format) Begin(text []byte, head string) ([]byte, error) {
	top, err := f.Decode(text)
	members, _ := top.(map[string]any)
	missing, n := "", len(members)
	for line := range strings.Lines(head) {
		if key, _, _ := strings.Cut(line, ":"); err == nil && members[key] == nil {
			missing, n = missing+line, n+1
		}
	}
	if missing == "" {
		return text, nil
	}
	text = slices.Concat([]byte(strings.ReplaceAll(missing, "\n", lineEnd(text))), bytes.TrimPrefix(text, []byte(bom)))
	top, err = f.Decode(text)
	if now, _ := top.(map[string]any); err != nil || len(now) != n {
		return nil, fmt.Errorf("it must have these lines at its top, where they cannot be added: %q", missing)
	}
	return text, nil
}

// Has reports whether a file has a section.
func (f Format) Has(text []byte, keys []string) bool {
	top, err := f.Decode(text)
	for _, key := range keys {
		members, _ := top.(map[string]any)
		top = members[key]
	}
	return err == nil && top != nil
}

// Remove returns the text without an entry. The section stays, even if nothing is left in it.
func (f Format) Remove(text []byte, p Place) ([]byte, error) { return f.Set(text, p, nil) }

// Set returns the text with an entry added, or replaced, or without it if that is nil. It proves that
// nothing else has changed, except that there is no byte order mark any more, which some programs take for a mistake.
func (f Format) Set(text []byte, p Place, entry Object) ([]byte, error) {
	if len(text) > MaxFile {
		return nil, fmt.Errorf("it has more than %d bytes", MaxFile)
	}
	text = bytes.TrimPrefix(text, []byte(bom))
	before, found, err := f.parts(text, p)
	if err != nil || entry != nil && Same(found, entry) {
		return text, err
	}
	changed, err := f.codec().edit(text, p, entry)
	if err != nil {
		return nil, err
	}
	after, now, err := f.parts(changed, p)
	switch {
	case err != nil:
		return nil, fmt.Errorf("it cannot be edited by a program (%w); edit it by hand", err)
	case !reflect.DeepEqual(before, after) || !Same(now, entry):
		return nil, errors.New("it cannot be edited by a program, since other settings would change, too; edit it by hand")
	}
	return changed, nil
}

// parts returns what a text says without the entry, and the entry. Sections with nothing in them
// count as missing.
func (f Format) parts(text []byte, p Place) (rest, entry any, err error) {
	top, err := f.Decode(text)
	if err != nil {
		return nil, nil, err
	}
	top, entry = cut(top, p.Keys, p)
	return top, entry, nil
}

// cut takes an entry out of the section that keys lead to.
func cut(value any, keys []string, p Place) (rest, entry any) {
	switch v := value.(type) {
	case map[string]any:
		if len(keys) > 0 {
			inner, has := v[keys[0]]
			if v[keys[0]], entry = cut(inner, keys[1:], p); !has || isEmpty(v[keys[0]]) {
				delete(v, keys[0])
			}
		} else if p.ID == "" {
			if inner, has := v[p.Name]; has {
				entry = inner
				if inner == nil {
					entry = json.RawMessage("null") // is there
				}
			}
			delete(v, p.Name)
		}
		if len(v) == 0 {
			return nil, entry
		}
	case []any:
		for i, item := range v {
			if m, _ := item.(map[string]any); len(keys) == 0 && p.ID != "" && m[p.ID] == p.Name {
				return append(append([]any{}, v[:i]...), v[i+1:]...), item
			}
		}
	}
	return value, entry
}

// isEmpty reports whether a section has nothing in it.
func isEmpty(value any) bool {
	list, ok := value.([]any)
	return value == nil || ok && len(list) == 0
}

// Same reports whether an entry that was read says what another one would write.
func Same(found any, entry Object) bool {
	if found == nil || entry == nil {
		return found == nil && entry == nil
	}
	written, err := decodeJSON(Line(entry))
	if err != nil {
		return false
	}
	x, err := json.Marshal(found) // which fails for kinds that entries of ours have not
	y, failed := json.Marshal(written)
	return err == nil && failed == nil && bytes.Equal(x, y)
}

// quoted returns a text as a JSON string, which is one of TOML, too, where DEL must be escaped.
func quoted(text string) string {
	return strings.ReplaceAll(string(rawjson.AppendString(nil, text)), "\x7f", `\u007f`)
}

// flat returns a value that is no object as JSON in one line, which is TOML, too.
func flat(value any) string {
	if text, ok := value.(string); ok {
		return quoted(text)
	}
	if list := reflect.ValueOf(value); list.Kind() == reflect.Slice {
		var all []string
		for _, item := range list.Seq2() {
			all = append(all, flat(item.Interface()))
		}
		return "[" + strings.Join(all, ", ") + "]"
	}
	return fmt.Sprint(value)
}

// lineEnd returns how the lines of a text end.
func lineEnd(text []byte) string {
	if bytes.Contains(text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// codec is what differs between formats.
type codec struct {
	decode func(text []byte) (any, error)
	edit   func(text []byte, p Place, entry Object) ([]byte, error) // removes the entry if it is nil
}

func (f Format) codec() codec {
	return map[Format]codec{JSON: {decodeJSON, editJSON}, TOML: {decodeTOML, editTOML}, YAML: {decodeYAML, editYAML}}[f]
}

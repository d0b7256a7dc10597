// Package frontmatter reads the YAML at the beginning of a Markdown file as JSON.
package frontmatter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// Bounds of what is read.
const (
	maxBytes = 64 << 10
	maxDepth = 20
)

// Of returns the frontmatter of a file as a JSON object with the members in their order.
// What parsers of YAML do not agree on is an error, since clients compare their reading of
// the file with ours (SEP-2640, Frontmatter Verification).
func Of(file []byte) (_ json.RawMessage, err error) {
	defer func() { // the parser reports some of its own faults by panicking
		if r := recover(); r != nil {
			err = fmt.Errorf("its frontmatter is not valid YAML: %v", r)
		}
	}()
	switch {
	case bytes.HasPrefix(file, []byte("\xef\xbb\xbf")):
		return nil, errors.New("it begins with a byte order mark; save it without one")
	case !utf8.Valid(file):
		return nil, errors.New("it is not UTF-8")
	}
	text := strings.ReplaceAll(string(file[:min(len(file), maxBytes)]), "\r\n", "\n")
	text, begins := strings.CutPrefix(text, "---\n")
	end := closing().FindStringIndex(text)
	switch {
	case !begins:
		return nil, errors.New("it does not begin with a line --- and YAML")
	case end == nil:
		return nil, fmt.Errorf("its frontmatter does not end with a line --- in the first %d KiB", maxBytes>>10)
	}
	decoder := yaml.NewDecoder(strings.NewReader(text[:end[0]]))
	var document, more yaml.Node
	if err := decoder.Decode(&document); err != nil {
		if err == io.EOF {
			err = errors.New("it is empty")
		}
		return nil, fmt.Errorf("its frontmatter is not valid YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if decoder.Decode(&more) != io.EOF {
		return nil, errors.New("its frontmatter has more than one document")
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("its frontmatter is no mapping")
	}
	return appendNode(nil, document.Content[0], 0)
}

// Same reports whether two values are equal but for the order of members, as readers of JSON see them.
func Same(a, b json.RawMessage) bool {
	x, errX := canonical(a)
	y, errY := canonical(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

func canonical(raw json.RawMessage) ([]byte, error) {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

var (
	closing = lazyregexp.New(`(?m)^---[ \t]*$`)
	number  = lazyregexp.New(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
)

func appendNode(b []byte, n *yaml.Node, depth int) ([]byte, error) {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("line %d of its frontmatter "+format, append([]any{n.Line + 1}, args...)...)
	}
	var err error
	switch tag := n.ShortTag(); {
	case depth > maxDepth:
		return nil, wrong("is nested too deep")
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return nil, wrong("has an anchor or alias; write the value out")
	case n.Kind == yaml.MappingNode && tag == "!!map":
		b = append(b, '{')
		known := map[string]bool{}
		for i := 0; i < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" {
				return nil, wrong("has a key that is no text; quote it")
			}
			if known[key.Value] {
				return nil, wrong("has the key %.50q twice", key.Value)
			}
			if known[key.Value] = true; i > 0 {
				b = append(b, ',')
			}
			b = append(rawjson.AppendString(b, key.Value), ':')
			if b, err = appendNode(b, n.Content[i+1], depth+1); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	case n.Kind == yaml.SequenceNode && tag == "!!seq":
		b = append(b, '[')
		for i, item := range n.Content {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendNode(b, item, depth+1); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case tag == "!!str", tag == "!!timestamp" && n.Style&yaml.TaggedStyle == 0: // which YAML 1.2 has no type for
		return rawjson.AppendString(b, n.Value), nil
	case tag == "!!null":
		return append(b, "null"...), nil
	case tag == "!!bool":
		return append(b, strings.ToLower(n.Value)...), nil
	case (tag == "!!int" || tag == "!!float") && number().MatchString(n.Value):
		return append(b, n.Value...), nil
	case tag == "!!int", tag == "!!float":
		return nil, wrong("has %.50q, which parsers of YAML do not agree on; quote it, or write it as a plain decimal number", n.Value)
	}
	return nil, wrong("has a value of a kind that JSON does not have")
}

// Package frontmatter reads the YAML at the beginning of a Markdown file as JSON.
package frontmatter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

// Bounds of what is read.
const (
	maxBytes = 64 << 10
	maxDepth = 20
	maxItems = 2000 // of one value: the parser compares each key with all others
)

// Of returns the frontmatter of a file as a JSON object.
// What parsers of YAML do not agree on is an error, since clients compare their reading of
// the file with ours (SEP-2640, Frontmatter Verification).
func Of(file []byte) (_ json.RawMessage, err error) {
	defer func() { // the parser reports some of its own faults by panicking
		if r := recover(); r != nil {
			err = fmt.Errorf("its frontmatter is not valid YAML: %v", r)
		}
	}()
	text := strings.ReplaceAll(string(file[:min(len(file), maxBytes)]), "\r\n", "\n")
	text, begins := strings.CutPrefix(text, "---\n")
	end := closing().FindStringIndex(text)
	switch {
	case bytes.HasPrefix(file, []byte("\xef\xbb\xbf")):
		return nil, errors.New("it begins with a byte order mark; save it without one")
	case !utf8.Valid(file):
		return nil, errors.New("it is not UTF-8")
	case !begins:
		return nil, errors.New("it does not begin with a line --- and YAML")
	case end == nil:
		return nil, fmt.Errorf("its frontmatter does not end with a line --- in the first %d KiB", maxBytes>>10)
	}
	decoder := yaml.NewDecoder(strings.NewReader(text[:end[0]]))
	var document, more yaml.Node
	var value map[string]any
	if err = decoder.Decode(&document); err == io.EOF {
		return nil, errors.New("its frontmatter is empty")
	} else if err == nil && decoder.Decode(&more) != io.EOF {
		return nil, errors.New("its frontmatter has more than one document")
	} else if err == nil && document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("its frontmatter is no mapping")
	} else if err == nil {
		if err := check(document.Content[0], 0); err != nil {
			return nil, err
		}
		err = document.Decode(&value)
	}
	if err != nil {
		return nil, fmt.Errorf("its frontmatter is not valid YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	return json.Marshal(value)
}

// Same reports whether two values are equal but for the order of members, as readers of JSON see them.
func Same(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

var (
	closing = lazyregexp.New(`(?m)^---[ \t]*$`)
	number  = lazyregexp.New(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
)

// check rejects what parsers of YAML or JSON would read as something else. Dates become
// texts, since YAML 1.2 has no type for them.
func check(n *yaml.Node, depth int) error {
	problem := ""
	switch tag := n.ShortTag(); {
	case depth > maxDepth:
		problem = "is nested too deep"
	case len(n.Content) > maxItems:
		problem = "has too many items"
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		problem = "has an anchor or alias; write the value out"
	case tag == "!!timestamp" && n.Style&yaml.TaggedStyle == 0:
		n.Tag = "!!str"
	case (tag == "!!int" || tag == "!!float") && !number().MatchString(n.Value):
		problem = fmt.Sprintf("has %.50q, which parsers of YAML do not agree on; quote it, or write it as a plain decimal number", n.Value)
	case !slices.Contains([]string{"!!map", "!!seq", "!!str", "!!null", "!!bool", "!!int", "!!float"}, tag):
		problem = "has a value of a kind that JSON does not have"
	}
	for i, item := range n.Content {
		if problem == "" && n.Kind == yaml.MappingNode && i%2 == 0 && item.ShortTag() != "!!str" {
			problem = "has a key that is no text; quote it"
		}
		if problem == "" {
			if err := check(item, depth+1); err != nil {
				return err
			}
		}
	}
	if problem != "" {
		return fmt.Errorf("line %d of its frontmatter %s", n.Line+1, problem)
	}
	return nil
}

package yamlconf

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// expectation says what a value of the shape looks like, after "must be".
func (s *shape) expectation() string {
	switch s.kind {
	case kindString:
		return "text"
	case kindText:
		return "a single value"
	case kindBool:
		return "true or false"
	case kindInt, kindUint:
		return "a whole number"
	case kindFloat:
		return "a number"
	case kindDuration:
		return "a number of seconds or a duration such as 30s"
	case kindBytes:
		return "a number of bytes or a size such as 10MiB"
	case kindPointer:
		return s.elem.expectation()
	case kindList:
		return "a list such as [a, b]"
	}
	return "a mapping of keys to values"
}

// limits are the bounds of the Go type itself, after "must be".
func (s *shape) limits() string {
	bits := 64
	switch s.kind {
	case kindBytes:
		return "from 0 to " + strconv.FormatInt(math.MaxInt64, 10) + " bytes"
	case kindDuration:
		return "at most 292 years"
	case kindFloat:
		return fmt.Sprintf("a number that fits in %d bits", s.typ.Bits())
	case kindUint:
		return fmt.Sprintf("from 0 to %d", uint64(math.MaxInt64)&(math.MaxUint64>>(bits-s.typ.Bits())))
	}
	top := int64(math.MaxInt64) >> (bits - s.typ.Bits())
	return fmt.Sprintf("from %d to %d", -top-1, top)
}

// counted is what the tags min and max count in the shape.
func (s *shape) counted() string {
	switch s.kind {
	case kindList:
		return "items"
	case kindMap:
		return "keys"
	}
	return "characters"
}

// describe names what n is.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	if isNull(n) {
		return "null"
	}
	return "a single value"
}

// shown is the value n as a message may show it: as it stands in the file, so
// that what a reference stands for stays unseen.
func shown(n *yaml.Node, r rules) string {
	switch {
	case n.Kind != yaml.ScalarNode:
		return describe(n)
	case r.secret:
		return "the value given"
	case n.ShortTag() != "!!str":
		return clip(oneLine(n.Value))
	case strings.Contains(n.Value, "${"):
		return "the value of " + strconv.Quote(clip(n.Value))
	}
	return strconv.Quote(clip(n.Value))
}

// oneOf lists the alternatives of an enum.
func oneOf(enum []string) string {
	words := make([]string, len(enum))
	for i, word := range enum {
		words[i] = word
		if word == "" {
			words[i] = `""`
		}
	}
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

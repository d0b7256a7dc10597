package yamlconf

import (
	"bytes"
	"strings"

	"gopkg.in/yaml.v3"

	"toolserver/structschema"
)

// Changes returns a line such as "sandbox.network: all" for each value that the file
// of source sets in v to something else than what it is in defaults, in declared
// order. Both are structs or pointers to them, and secrets are masked.
func Changes(v, defaults any, source *Source) (lines []string) {
	w := &writer{types: structschema.NewTypes("yaml"), source: source}
	node := func(v any) *yaml.Node {
		value, t := rootOf(w.types, v)
		return w.node(value, value, t, structschema.Rules{}, "")
	}
	var compare func(path string, now, was *yaml.Node)
	compare = func(path string, now, was *yaml.Node) {
		if _, set := source.places[path]; !set {
			return
		}
		if now.Kind == yaml.MappingNode && len(now.Content) > 0 {
			for i := 0; i < len(now.Content); i += 2 {
				key := now.Content[i].Value
				compare(join(path, key), now.Content[i+1], valueOf(was, key))
			}
			return
		}
		if text := marshal(now); was == nil || !bytes.Equal(text, marshal(was)) {
			now.Style |= yaml.FlowStyle
			line := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: path}, now}}
			lines = append(lines, strings.TrimSpace(string(marshal(line))))
		}
	}
	compare("", node(v), node(defaults))
	return lines
}

// valueOf returns the value of a key in a mapping, nil if there is none.
func valueOf(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

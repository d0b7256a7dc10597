package edit

import (
	"errors"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/toolserver/toolserver/config/yamledit"
)

func decodeYAML(text []byte) (top any, err error) {
	if err := yaml.Unmarshal(text, &top); err != nil {
		return nil, fmt.Errorf("it is no YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	return top, nil
}

// editYAML returns the text with another entry, or without it if that is nil.
func editYAML(text []byte, p Place, entry Object) ([]byte, error) {
	if len(p.Keys) != 1 {
		return nil, errors.New("sections in sections are not supported")
	}
	s := yamledit.Section{Key: p.Keys[0], ID: p.ID}
	if entry == nil {
		return yamledit.Remove(text, s, p.Name)
	}
	return yamledit.Set(text, s, p.Name, yamlNode(entry))
}

func yamlNode(value any) *yaml.Node {
	object, ok := value.(Object)
	if !ok {
		n := &yaml.Node{}
		if err := n.Encode(value); err != nil {
			panic(fmt.Sprintf("edit: %v", err)) // values of ours can be encoded
		}
		if n.Kind == yaml.SequenceNode {
			n.Style = yaml.FlowStyle
		}
		return n
	}
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, m := range object {
		n.Content = append(n.Content, yamlNode(m.Name), yamlNode(m.Value))
	}
	return n
}

package mcpshape

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolserver/toolserver/wire/rawjson"
)

// What an item of a list can be, beside a tool.
const (
	Resource = "resource"
	Template = "template"
	Prompt   = "prompt"
)

// Item repairs an entry of resources/list, resources/templates/list or prompts/list, and
// returns what was wrong with it.
func Item(kind string, raw []byte) (fitting []byte, notes []string, err error) {
	s, r := shapes()[kind], &repair{}
	out, ok := r.fit(s, raw)
	if !ok || out[0] != '{' {
		return nil, nil, errors.New("it is no object with a " + s.required[0])
	}
	return out, r.told(), nil
}

// Tool is a tool as clients can have it.
type Tool struct {
	Raw       []byte            // the entry of tools/list
	Arguments map[string]string // those that clients know by another name, with the server's own; nil for none
	Notes     []string          // what was wrong with it
}

// NewTool repairs an entry of tools/list. The schema of its structured results is left
// out if it cannot be repaired; without that of its arguments there is no tool.
func NewTool(raw []byte) (Tool, error) {
	r := &repair{}
	out, ok := r.fit(shapes()["tool"], raw)
	if !ok || out[0] != '{' {
		return Tool{}, errors.New("it is no object with a name")
	}
	own := rawjson.Member(out, "inputSchema")
	input, arguments, err := r.schema(own, false)
	if err != nil {
		return Tool{}, fmt.Errorf("its input schema %w", err)
	}
	if own == nil || &own[0] != &input[0] {
		out = rawjson.With(out, "inputSchema", input)
	}
	if own = rawjson.Member(out, "outputSchema"); own != nil {
		output, _, err := r.schema(own, true)
		switch {
		case err != nil:
			r.note("outputSchema", err.Error()+"; it is left out")
			out = rawjson.Without(out, "outputSchema")
		case &own[0] != &output[0]:
			out = rawjson.With(out, "outputSchema", output)
		}
	}
	return Tool{out, arguments, r.told()}, nil
}

// maxName is how long a name may be that all APIs of models accept.
const maxName = 64

// renamed gives arguments names that all APIs of models accept, and returns what they
// stand for. What else names arguments at the root is left to the server then.
func (r *repair) renamed(schema []byte) (_ []byte, arguments map[string]string) {
	properties := rawjson.Member(schema, "properties")
	taken, offered := map[string]bool{}, map[string]string{} // names, and those instead of own ones
	_ = rawjson.Object(properties, func(key, _ []byte) error {
		taken[string(key)] = true
		return nil
	})
	out := []byte("{")
	_ = rawjson.Object(properties, func(key, value []byte) error {
		own, name := string(key), acceptable(string(key))
		if name != own && taken[name] {
			sum := sha256.Sum256(key)
			name = name[:min(len(name), maxName-9)] + "_" + hex.EncodeToString(sum[:4])
		}
		if name != own && taken[name] {
			r.note("argument "+strconv.Quote(own), "is left out: its name cannot be told from that of another")
			return nil
		}
		if name != own {
			taken[name], offered[own] = true, name
			r.note("argument "+strconv.Quote(own), "is offered as "+name)
		}
		out = appendMember(out, []byte(name), value)
		return nil
	})
	if len(offered) == 0 {
		return schema, nil
	}
	schema, arguments = rawjson.With(schema, "properties", append(out, '}')), map[string]string{}
	for own, name := range offered {
		arguments[name] = own
	}
	required := elements(rawjson.Member(schema, "required"))
	for i, raw := range required {
		own, _ := rawjson.String(raw)
		if name, ok := offered[own]; ok {
			required[i] = rawjson.AppendString(nil, name)
		}
	}
	if required != nil {
		schema = rawjson.With(schema, "required", list(required))
	}
	for _, keyword := range []string{"allOf", "if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies"} {
		if rawjson.Member(schema, keyword) != nil {
			schema = rawjson.Without(schema, keyword)
			r.note(keyword, "is left to the server to check")
		}
	}
	return schema, arguments
}

// acceptable returns a name without what APIs of models do not accept.
func acceptable(name string) string {
	name = strings.Map(func(c rune) rune {
		if c == '_' || c == '-' || c == '.' || c < utf8.RuneSelf && (unicode.IsLetter(c) || unicode.IsDigit(c)) {
			return c
		}
		return '_'
	}, name)
	if name == "" {
		return "_"
	}
	return name[:min(len(name), maxName)]
}

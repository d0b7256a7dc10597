package cli

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// maxDescription is what OpenAI takes of a function's description.
const maxDescription = 1024

// openAIForm is a tool as the Chat Completions API takes it, with the strict form of
// its arguments if they have one (https://platform.openai.com/docs/guides/function-calling).
func openAIForm(t *domain.Tool) any {
	description := t.Description
	if runes := []rune(description); len(runes) > maxDescription {
		description = string(runes[:maxDescription])
	}
	function := map[string]any{"name": t.Name, "description": description, "parameters": t.Input}
	if schema, err := t.Input.MarshalJSON(); err == nil {
		if strict, err := strictSchema(nil, schema, false); err == nil {
			function["parameters"], function["strict"] = json.RawMessage(strict), true
		}
	}
	return map[string]any{"type": "function", "function": function}
}

// anthropicForm is a tool as the Messages API takes it
// (https://docs.anthropic.com/en/docs/agents-and-tools/tool-use).
func anthropicForm(t *domain.Tool) any {
	return map[string]any{"name": t.Name, "description": t.Description, "input_schema": t.Input}
}

// geminiForm is a tool as a function declaration of the Gemini API
// (https://ai.google.dev/api/caching#FunctionDeclaration).
func geminiForm(t *domain.Tool) any {
	return map[string]any{"name": t.Name, "description": t.Description, "parametersJsonSchema": t.Input}
}

// errNotStrict is the error of a schema that has no strict form.
var errNotStrict = errors.New("the schema has no strict form")

// strictSchema appends a schema to b in the form that models can be held to: all
// members are required, those that were not may be null, which calls take for absent,
// and what cannot be enforced is left out. A default goes into the description.
func strictSchema(b []byte, schema []byte, optional bool) ([]byte, error) {
	var typ, description, fallback string
	var required []string
	properties, closed := []string{}, false
	b = append(b, '{')
	member := func(name string, value []byte) {
		b = append(append(rawjson.AppendString(separated(b), name), ':'), value...)
	}
	if raw := rawjson.Member(schema, "required"); raw != nil && json.Unmarshal(raw, &required) != nil {
		return nil, errNotStrict
	}
	err := rawjson.Object(schema, func(key, value []byte) (err error) {
		switch name := string(key); name {
		case "type":
			if typ, err = rawjson.String(value); err != nil {
				return err
			}
			if optional {
				value = append(append([]byte("["), value...), `,"null"]`...)
			}
			member(name, value)
		case "description":
			description, err = rawjson.String(value)
		case "default":
			fallback = string(value)
		case "enum":
			if optional {
				value = append(slices.Clone(value[:len(value)-1]), ",null]"...)
			}
			member(name, value)
		case "properties":
			b = append(separated(b), `"properties":{`...)
			err = rawjson.Object(value, func(name, value []byte) (err error) {
				properties = append(properties, string(name))
				b = append(rawjson.AppendString(separated(b), string(name)), ':')
				b, err = strictSchema(b, value, !slices.Contains(required, string(name)))
				return err
			})
			b = append(b, '}')
		case "items":
			b = append(separated(b), `"items":`...)
			b, err = strictSchema(b, value, false)
		case "additionalProperties":
			closed = string(value) == "false"
		case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "pattern", "format":
			member(name, value)
		case "required", "minLength", "maxLength", "title", "$schema", "examples":
		default:
			err = errNotStrict
		}
		return err
	})
	if err != nil || typ == "" || (typ == "object") != closed {
		return nil, errNotStrict
	}
	if fallback != "" {
		if description != "" {
			description += " "
		}
		description += "Default: " + fallback + "."
	}
	if description != "" {
		member("description", rawjson.AppendString(nil, description))
	}
	if typ == "object" {
		all, err := json.Marshal(properties)
		if err != nil {
			return nil, err
		}
		member("required", all)
		member("additionalProperties", []byte("false"))
	}
	return append(b, '}'), nil
}

// separated appends a comma to b unless it ends with what opens a container.
func separated(b []byte) []byte {
	if last := b[len(b)-1]; last == '{' || last == '[' {
		return b
	}
	return append(b, ',')
}

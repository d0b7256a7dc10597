package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

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
		if strict, err := strictSchema(schema, false); err == nil {
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

// strictSchema returns a schema in the form that models can be held to: all
// members are required, those that were not may be null, which calls take for absent,
// and what cannot be enforced is left out. A default goes into the description.
func strictSchema(schema []byte, optional bool) ([]byte, error) {
	var typ, description, fallback string
	var required []string
	properties, closed := []string{}, false
	if raw := rawjson.Member(schema, "required"); raw != nil && json.Unmarshal(raw, &required) != nil {
		return nil, errNotStrict
	}
	var failed error
	strict, err := rawjson.Edit(schema, func(key, value []byte) []byte {
		var err error
		switch string(key) {
		case "type":
			if typ, err = rawjson.String(value); optional {
				value = fmt.Appendf(nil, `[%s,"null"]`, value)
			}
		case "description":
			description, err = rawjson.String(value)
			value = nil
		case "default":
			fallback, value = string(value), nil
		case "enum":
			if optional {
				value = fmt.Appendf(nil, "%s,null]", value[:len(value)-1])
			}
		case "properties":
			value, err = rawjson.Edit(value, func(name, value []byte) []byte {
				properties = append(properties, string(name))
				inner, err := strictSchema(value, !slices.Contains(required, string(name)))
				failed = cmp.Or(failed, err)
				return inner
			})
		case "items":
			value, err = strictSchema(value, false)
		case "additionalProperties":
			closed, value = string(value) == "false", nil
		case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "pattern", "format":
		case "required", "minLength", "maxLength", "title", "$schema", "examples":
			value = nil
		default:
			err = errNotStrict
		}
		failed = cmp.Or(failed, err)
		return value
	})
	if cmp.Or(failed, err) != nil || typ == "" || (typ == "object") != closed {
		return nil, errNotStrict
	}
	if fallback != "" {
		description = strings.TrimPrefix(description+" Default: "+fallback+".", " ")
	}
	if description != "" {
		strict = rawjson.With(strict, "description", rawjson.AppendString(nil, description))
	}
	if typ == "object" {
		all, err := json.Marshal(properties)
		if err != nil {
			return nil, err
		}
		strict = rawjson.With(rawjson.With(strict, "required", all), "additionalProperties", []byte("false"))
	}
	return strict, nil
}

package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/schema"
)

// argument is the flag of one parameter of a tool.
type argument struct {
	param schema.Param
	line  *toolLine
}

// Set notes one value of the flag.
func (a *argument) Set(text string) error {
	a.line.given = append(a.line.given, given{a.param, text})
	return nil
}

// String returns the default, which help shows.
func (a *argument) String() string {
	if a.param.Default == nil {
		return ""
	}
	return fmt.Sprint(a.param.Default)
}

// Type names the kind of value in help.
func (a *argument) Type() string {
	if a.param.Type == "boolean" {
		return "bool" // pflag writes such a flag without a value
	}
	return a.param.Type
}

// set adds the value to those of a call. A string is taken verbatim; any other value is parsed
// as JSON if it is valid JSON. An array is a repeated flag or a JSON array, an object is a
// repeated NAME=VALUE or a JSON object.
func (g given) set(values map[string]any) {
	name, text := g.param.Name, g.text
	isJSON := json.Valid([]byte(text))
	switch g.param.Type {
	case "string":
		values[name] = text
	case "array":
		if isJSON && strings.HasPrefix(strings.TrimSpace(text), "[") {
			values[name] = json.RawMessage(text)
			return
		}
		list, _ := values[name].([]any)
		values[name] = append(list, g.element(isJSON))
	case "object":
		member, value, ok := strings.Cut(text, "=")
		if isJSON || !ok {
			values[name] = jsonOr(text, isJSON)
			return
		}
		object, _ := values[name].(map[string]any)
		if object == nil {
			object = map[string]any{}
		}
		object[member] = value
		values[name] = object
	default:
		values[name] = jsonOr(text, isJSON)
	}
}

// element returns one element of an array.
func (g given) element(isJSON bool) any {
	if g.param.Items != nil && g.param.Items.Type == "string" {
		return g.text
	}
	return jsonOr(g.text, isJSON)
}

// jsonOr leaves text that is not JSON to the schema, whose error is clear.
func jsonOr(text string, isJSON bool) any {
	if isJSON {
		return json.RawMessage(text)
	}
	return text
}

func flagHelp(p schema.Param) string {
	text := domain.Visible(strings.Join(strings.Fields(strings.ReplaceAll(p.Doc, "`", "'")), " ")) // pflag takes `this` for the name of the value
	if p.Required {
		text += " (required)"
	}
	if len(p.Enum) > 0 {
		var values []string
		for _, v := range p.Enum {
			values = append(values, fmt.Sprint(v))
		}
		text += " One of " + strings.Join(values, ", ") + "."
	}
	return text
}

// flagName returns the name of the flag of a parameter.
func flagName(p schema.Param) string { return strings.ReplaceAll(p.Name, "_", "-") }

// underscores accepts flags with the underscores of the parameter.
func underscores(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
}

// visibleLines returns a text that others may have written as it can be shown, line by line.
func visibleLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		rest := strings.TrimLeft(line, " ")
		b.WriteString(line[:len(line)-len(rest)])
		b.WriteString(domain.Visible(strings.TrimSuffix(rest, "\n")) + "\n")
	}
	return b.String()
}

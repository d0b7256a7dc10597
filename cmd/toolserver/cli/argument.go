package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"toolserver/domain"
)

// maxStdin bounds a value that is read from standard input.
const maxStdin = 64 << 20

// argument is one argument of a tool as a flag. Text is taken as it is; anything
// else is read as JSON if it is any. An array is a flag given again or a JSON
// array, an object NAME=VALUE given again or a JSON object.
type argument struct {
	param  domain.Param
	values map[string]any
	in     io.Reader
}

// Set takes one value of the flag.
func (a *argument) Set(text string) error {
	if text == "-" {
		b, err := io.ReadAll(io.LimitReader(a.in, maxStdin+1))
		if err != nil {
			return fmt.Errorf("reading %s from standard input: %w", a.param.Name, err)
		}
		if len(b) > maxStdin {
			return fmt.Errorf("%s on standard input is longer than %d bytes", a.param.Name, maxStdin)
		}
		text = string(b)
	}
	name := a.param.Name
	isJSON := json.Valid([]byte(text))
	switch a.param.Type {
	case "string":
		a.values[name] = text
	case "array":
		if isJSON && strings.HasPrefix(strings.TrimSpace(text), "[") {
			a.values[name] = json.RawMessage(text)
			return nil
		}
		list, _ := a.values[name].([]any)
		a.values[name] = append(list, a.element(text, isJSON))
	case "object":
		member, value, ok := strings.Cut(text, "=")
		if isJSON || !ok {
			a.values[name] = jsonOr(text, isJSON)
			return nil
		}
		object, _ := a.values[name].(map[string]any)
		if object == nil {
			object = map[string]any{}
		}
		object[member] = value
		a.values[name] = object
	default:
		a.values[name] = jsonOr(text, isJSON)
	}
	return nil
}

// element returns one element of an array.
func (a *argument) element(text string, isJSON bool) any {
	if a.param.Items != nil && a.param.Items.Type == "string" {
		return text
	}
	return jsonOr(text, isJSON)
}

// jsonOr leaves what is not JSON to the schema, which says what is wrong.
func jsonOr(text string, isJSON bool) any {
	if isJSON {
		return json.RawMessage(text)
	}
	return text
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

func flagHelp(p domain.Param) string {
	text := p.Doc
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

// underscores lets a flag be written as the argument is.
func underscores(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
}

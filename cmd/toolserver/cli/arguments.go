package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"toolserver/cmd/toolserver/app"
	"toolserver/domain"
)

// commandLine is the parsed command line of a tool.
type commandLine struct {
	arguments json.RawMessage
	json      bool
	help      bool
}

// parseArguments parses a tool's arguments: required ones in order, any as flags.
// It leaves validation to the tool's schema, so that messages are those of MCP.
func parseArguments(tool *domain.Tool, args []string, std app.Streams) (commandLine, error) {
	var line commandLine
	values := map[string]any{}
	cmd := &cobra.Command{
		Use:           usageLine(tool),
		Short:         domain.Visible(tool.Title),
		Long:          visibleLines(tool.Description),
		SilenceErrors: true, SilenceUsage: true,
		RunE: func(_ *cobra.Command, positional []string) error {
			line.help = false
			return takePositionals(tool, positional, values, std.In)
		},
	}
	cmd.SetOut(std.Out)
	line.help = true // unless the command runs
	cmd.Flags().BoolVar(&line.json, "json", false, "print the result as JSON, as an MCP client gets it")
	for _, p := range tool.Input.Params() {
		f := &argument{param: p, values: values, in: std.In}
		flag := cmd.Flags().VarPF(f, strings.ReplaceAll(p.Name, "_", "-"), "", flagHelp(p))
		if p.Type == "boolean" {
			flag.NoOptDefVal = "true"
		}
	}
	cmd.Flags().SetNormalizeFunc(underscores)
	cmd.SetArgs(args)
	if args == nil {
		cmd.SetArgs([]string{})
	}
	if err := cmd.Execute(); err != nil {
		return line, usage(fmt.Errorf("%s: %w", tool.Name, err))
	}
	raw, err := json.Marshal(values)
	if err != nil {
		return line, usage(err)
	}
	line.arguments = raw
	return line, nil
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

func usageLine(tool *domain.Tool) string {
	words := []string{tool.Name}
	for _, p := range tool.Input.Params() {
		if p.Required {
			words = append(words, strings.ToUpper(p.Name))
		}
	}
	return strings.Join(append(words, "[flags]"), " ")
}

// takePositionals assigns positional arguments to the required parameters that
// have no flag, in declared order.
func takePositionals(tool *domain.Tool, positional []string, values map[string]any, in io.Reader) error {
	for _, p := range tool.Input.Params() {
		if _, given := values[p.Name]; given || !p.Required || len(positional) == 0 {
			continue
		}
		take := positional[:1]
		if p.Type == "array" && !slices.ContainsFunc(tool.Input.Params(), func(o domain.Param) bool { return o.Required && o.Name != p.Name && values[o.Name] == nil }) {
			take = positional // the last one takes them all
		}
		a := &argument{param: p, values: values, in: in}
		for _, text := range take {
			if err := a.Set(text); err != nil {
				return err
			}
		}
		positional = positional[len(take):]
	}
	if len(positional) > 0 {
		return fmt.Errorf("unexpected argument %q; usage: %s", positional[0], usageLine(tool))
	}
	return nil
}

// maxStdin bounds a value that is read from standard input.
const maxStdin = 64 << 20

// argument is the flag of one parameter. A string is taken verbatim; any other
// value is parsed as JSON if it is valid JSON. An array is a repeated flag or a
// JSON array, an object is a repeated NAME=VALUE or a JSON object.
type argument struct {
	param  domain.Param
	values map[string]any
	in     io.Reader
}

// Set adds one value of the flag.
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

// jsonOr leaves text that is not JSON to the schema, whose error is clear.
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

// underscores accepts flags with the underscores of the parameter.
func underscores(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
}

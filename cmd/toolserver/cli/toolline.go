package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/schema"
)

// toolLine is the command line of a tool: the part after its name.
type toolLine struct {
	*cobra.Command
	tool     *domain.Tool
	given    []given // in the order of the command line
	help     bool
	exitCode bool   // exit with the exit code of the command that the tool ran
	newline  string // the flag whose value is a line that was read from standard input
}

// given is the text that a parameter was given.
type given struct {
	param schema.Param
	text  string
}

// newToolLine makes the command for a tool, below the one that its name is an argument of, which
// has the flags of the program. The tool runs unless it is only explained.
func newToolLine(parent *cobra.Command, word string, tool *domain.Tool, runs bool) *toolLine {
	line := &toolLine{tool: tool}
	line.Command = &cobra.Command{
		Use: word, Short: call.Visible(tool.Title), Long: visibleLines(tool.Description),
		Run: func(*cobra.Command, []string) {}, // so that help has a usage line
	}
	for _, p := range positionals(tool) {
		name := strings.ToUpper(p.Name)
		if p.Type == "array" {
			name += "..."
		}
		if !p.Required {
			name = "[" + name + "]"
		}
		line.Use += " " + name
	}
	flags := line.Flags()
	flags.SortFlags = false
	flags.SetNormalizeFunc(underscores)
	for _, p := range tool.Input.Params() {
		if flags.Lookup(p.Name) != nil { // a-b and a_b
			continue
		}
		flag := flags.VarPF(&argument{param: p, line: line}, p.Name, "", flagHelp(p))
		if p.Type == "boolean" {
			flag.NoOptDefVal = "true"
		}
	}
	parent.AddCommand(line.Command)
	if runs && (tool.Runs || tool.RunRaw != nil) && flags.Lookup("exit-code") == nil {
		flags.BoolVar(&line.exitCode, "exit-code", false, "exit with the exit code of the command that the tool runs")
	}
	parent.InheritedFlags().VisitAll(line.noteHidden)
	parent.PersistentFlags().VisitAll(line.noteHidden)
	if flags.Lookup("help") == nil {
		flags.BoolVarP(&line.help, "help", "h", false, "help for "+tool.Name)
	}
	return line
}

// noteHidden says in help that a flag of the program has the name of an argument.
func (l *toolLine) noteHidden(f *pflag.Flag) {
	if l.Flags().Lookup(f.Name) != nil {
		l.Long += fmt.Sprintf("\n--%s after %s is an argument of the tool; that of toolserver goes before %[2]s.\n", f.Name, l.Name())
	}
}

// parse reads the command line. Validation is left to the schema of the tool, so that
// messages are those of MCP.
func (l *toolLine) parse(args []string) error {
	err := l.ParseFlags(args)
	if errors.Is(err, pflag.ErrHelp) { // -h, where --help is an argument of the tool
		l.help = true
		return nil
	}
	if err == nil {
		err = l.takePositionals(l.Flags().Args())
	} else {
		err = flagError(l.Command, err)
	}
	if err != nil && !l.help {
		return usage(fmt.Errorf("%s: %w", l.tool.Name, err))
	}
	return nil
}

// positionals returns the parameters that arguments without a flag are for, in this order: those
// that are required, and the first other one if it is text, as in grep TODO src.
func positionals(tool *domain.Tool) (all []schema.Param) {
	var optional *schema.Param
	for _, p := range tool.Input.Params() {
		switch {
		case p.Required:
			all = append(all, p)
		case optional == nil:
			optional = &p
		}
	}
	if optional == nil || optional.Type != "string" || len(all) > 0 && all[len(all)-1].Type == "array" {
		return all
	}
	return append(all, *optional)
}

// open returns the positional parameters that have no flag.
func (l *toolLine) open() []schema.Param {
	return slices.DeleteFunc(positionals(l.tool), func(p schema.Param) bool {
		return slices.ContainsFunc(l.given, func(g given) bool { return g.param.Name == p.Name })
	})
}

// takePositionals assigns arguments without a flag. The last parameter takes all that remain
// if it is a list.
func (l *toolLine) takePositionals(args []string) error {
	for open := l.open(); len(open) > 0 && len(args) > 0; open = open[1:] {
		n := 1
		if open[0].Type == "array" && len(open) == 1 {
			n = len(args)
		}
		for _, text := range args[:n] {
			l.given = append(l.given, given{open[0], text})
		}
		args = args[n:]
	}
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q; put quotes around an argument with spaces; usage: %s", args[0], l.UseLine())
	}
	return nil
}

// arguments returns the arguments of the call. A value that is - is read from standard input.
func (l *toolLine) arguments(ctx context.Context, person *terminal) (json.RawMessage, error) {
	values := map[string]any{}
	for _, g := range l.given {
		if g.text == "-" {
			text, err := person.text(ctx)
			if err != nil {
				return nil, fmt.Errorf("reading --%s from standard input: %w", flagName(g.param), err)
			}
			if strings.Count(text, "\n") == 1 && strings.HasSuffix(text, "\n") {
				l.newline = flagName(g.param)
			}
			g.text = text
		}
		g.set(values)
	}
	raw, err := json.Marshal(values)
	if err != nil {
		return nil, usage(err)
	}
	return raw, nil
}

// explained returns the error of a call with what it means on the command line: arguments that are
// not valid have the names of their flags.
func (l *toolLine) explained(err error) error {
	invalid, ok := errors.AsType[*schema.InvalidArguments](err)
	if !ok {
		return err
	}
	var fields []schema.InvalidField
	for _, f := range invalid.Fields {
		if flag := l.Flags().Lookup(f.Field); flag != nil {
			f.Field = "--" + flag.Name
		}
		fields = append(fields, f)
	}
	message := l.tool.Name + ": " + (&schema.InvalidArguments{Fields: fields}).Error()
	return usage(errors.New(message + "; usage: " + l.UseLine()))
}

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
	text := call.Visible(strings.Join(strings.Fields(strings.ReplaceAll(p.Doc, "`", "'")), " ")) // pflag takes `this` for the name of the value
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

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"toolserver/domain"
)

// commandLine is what the arguments of a tool's command say.
type commandLine struct {
	arguments json.RawMessage
	json      bool
	help      bool
}

// parseArguments reads a tool's arguments: required ones in order, any as
// flags. What it does not understand is left to the tool's schema to judge, so
// that messages are those of MCP.
func parseArguments(tool *domain.Tool, args []string, std Streams) (commandLine, error) {
	var line commandLine
	values := map[string]any{}
	cmd := &cobra.Command{
		Use:           usageLine(tool),
		Short:         tool.Title,
		Long:          tool.Description,
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

func usageLine(tool *domain.Tool) string {
	words := []string{tool.Name}
	for _, p := range tool.Input.Params() {
		if p.Required {
			words = append(words, strings.ToUpper(p.Name))
		}
	}
	return strings.Join(append(words, "[flags]"), " ")
}

// takePositionals gives the arguments without a flag to the required ones that
// have none, in declared order.
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
		return fmt.Errorf("%q is one argument too many; usage: %s", positional[0], usageLine(tool))
	}
	return nil
}

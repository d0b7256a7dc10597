package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/nearest"
	"github.com/toolserver/toolserver/server"
	"github.com/toolserver/toolserver/tools"
	"github.com/toolserver/toolserver/tools/discovery"
	"github.com/toolserver/toolserver/upstream"
	"github.com/toolserver/toolserver/upstream/search"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// toolsCommand shows the tools, to people or in the forms model APIs take.
func toolsCommand(g *globals) *cobra.Command {
	var openAI, anthropic, gemini, all, forFiles bool
	var category string
	cmd := &cobra.Command{
		Use: "tools [--for FILE...]",
		Args: func(cmd *cobra.Command, args []string) error {
			if given := slices.DeleteFunc([]string{"--json", "--openai", "--anthropic", "--gemini"}, func(name string) bool {
				return !cmd.Flags().Changed(name[2:])
			}); len(given) > 1 {
				return usage(fmt.Errorf("%s cannot be combined; usage: %s", strings.Join(given, " and "), cmd.UseLine()))
			}
			if !forFiles {
				return takes(0, 0)(cmd, args)
			}
			return takes(1, -1)(cmd, args)
		},
		RunE: g.interruptible(func(ctx context.Context, files []string) error {
			return g.withServers(nil, func(a *app.App, servers []*upstream.Server) error {
				ctx, cancel := context.WithTimeout(ctx, overall)
				defer cancel()
				stop := g.sayWaiting(a)
				a.Servers.Know(ctx, servers, false)
				stop()
				list, missing := a.Executor().Registry.List(""), a.Executor().Registry.Catalog().Missing()
				if !all {
					list = a.Callable(a.User())
				}
				if forFiles {
					list = suited(list, files)
				}
				if category != "" {
					known := append(tools.Categories(), slices.Sorted(maps.Keys(a.Config().Servers))...)
					if !slices.Contains(known, category) {
						return usage(fmt.Errorf("there is no category %q; known: %s", brief.Name(category), strings.Join(known, ", ")))
					}
					list = slices.DeleteFunc(slices.Clone(list), func(t *domain.Tool) bool { return t.Category != category })
					missing = slices.DeleteFunc(slices.Clone(missing), func(m domain.Missing) bool { return m.Category != category })
				}
				out := g.std.Out
				switch {
				case forFiles && len(list) == 0:
					return errors.New("no tool has a name that fits such files")
				case g.json:
					return printTools(out, list)
				case openAI:
					return printJSON(out, each(list, openAIForm))
				case anthropic:
					return printJSON(out, each(list, plainForm("input_schema")))
				case gemini:
					return printJSON(out, each(list, plainForm("parametersJsonSchema")))
				}
				if err := printTable(out, list); err != nil || !all {
					return err
				}
				if err := printMissing(out, missing); err != nil {
					return err
				}
				for _, l := range reports(a, overall) {
					if l.Protocol == "" && l.Reason != "" {
						fmt.Fprintf(out, "server %s: %s\n", l.Name, call.Visible(l.Reason))
					}
				}
				return nil
			})
		}),
	}
	cmd.Flags().BoolVar(&openAI, "openai", false, "print the form of OpenAI's function calling, strict where possible")
	cmd.Flags().BoolVar(&anthropic, "anthropic", false, "print the form of Anthropic's Messages API")
	cmd.Flags().BoolVar(&gemini, "gemini", false, "print the form of Gemini's function declarations")
	cmd.Flags().BoolVar(&all, "all", false, "include tools that are disabled, restricted to others, or unavailable")
	cmd.Flags().StringVar(&category, "category", "", "list only tools of this category; those of another server are of its name")
	named(cmd.Flags(), "category", "NAME")
	completes(cmd, "category", tools.Categories()...)
	cmd.Flags().BoolVar(&forFiles, "for", false, "list only tools whose names fit the types of the files that follow, as report.pdf does read_pdf")
	cmd.AddCommand(enableCommand(g, "enable"), enableCommand(g, "disable"))
	return cmd
}

// enableCommand has the configuration file say whether a tool is offered.
func enableCommand(g *globals, verb string) *cobra.Command {
	c := &toolCommand{g: g}
	c.Command = command(verb+" NAME", c.complete, func(cmd *cobra.Command, args []string) error {
		name, enabled := args[0], verb == "enable"
		if err := g.with(func(a *app.App) error {
			a.Servers.Kept()
			names := slices.Collect(maps.Keys(a.Config().Tools)) // those of a server that is not known yet, too
			for _, t := range a.Executor().Registry.List("") {
				if names = append(names, t.Name); t.Name == name {
					name = cmp.Or(t.Offered, name)
					return nil
				}
			}
			for _, m := range a.Executor().Registry.Catalog().Missing() {
				names = append(names, m.Name)
			}
			if slices.Contains(names, name) {
				return nil
			}
			hint := "toolserver tools --all lists them"
			if near, ok := nearest.Word(name, names); ok {
				hint = "did you mean " + near + "?"
			}
			return usage(fmt.Errorf("there is no tool %q; %s", brief.Name(name), hint))
		}); err != nil {
			return err
		}
		done, err := config.EnableTool(g.overrides(), name, enabled)
		if err != nil {
			return err
		}
		return g.printEdited(done, verb+"d", fmt.Sprintf("%s: tools.%[1]s.enabled is %t", name, enabled), name)
	})
	return c.Command
}

// suited returns the tools whose names fit the types of files, the best first.
func suited(tools []*domain.Tool, files []string) (fit []*domain.Tool) {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
		if t.Origin.Tool != "" {
			names[i] = t.Origin.Tool
		}
	}
	for _, s := range search.ForFiles(files, names) {
		fit = append(fit, tools[s.Tool])
	}
	return fit
}

// printTools prints tools in the form of MCP.
func printTools(w io.Writer, tools []*domain.Tool) error {
	return printJSON(w, map[string]any{"tools": each(tools, func(t *domain.Tool) any { return server.MarshalTool(t) })})
}

func printTable(w io.Writer, tools []*domain.Tool) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "TOOL\tCATEGORY\tWHAT IT DOES")
	for _, tool := range tools {
		does := call.Visible(discovery.Summary(tool.Description))
		if tool.Disabled {
			does += " (disabled in the configuration)"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", tool.Name, tool.Category, does)
	}
	return t.Flush()
}

// printMissing says what is unavailable, and why.
func printMissing(w io.Writer, missing []domain.Missing) error {
	for i, m := range missing {
		if i == 0 {
			fmt.Fprintln(w, "\nUnavailable:")
		}
		if _, err := fmt.Fprintf(w, "%s (%s) %s\n", m.Name, cmp.Or(m.Category, string(m.Kind)), m.Reason); err != nil {
			return err
		}
	}
	return nil
}

func each(tools []*domain.Tool, form func(*domain.Tool) any) []any {
	list := make([]any, len(tools))
	for i, t := range tools {
		list[i] = form(t)
	}
	return list
}

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

// plainForm is a tool as the Messages API (https://docs.anthropic.com/en/docs/agents-and-tools/tool-use) and the Gemini API
// (https://ai.google.dev/api/caching#FunctionDeclaration) take it, with the schema of its arguments in a member of each one's own.
func plainForm(schema string) func(*domain.Tool) any {
	return func(t *domain.Tool) any {
		return map[string]any{"name": t.Name, "description": t.Description, schema: t.Input}
	}
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

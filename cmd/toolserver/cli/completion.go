package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/schema"
)

// completionCommand prints what a shell needs to complete command lines of the program.
func completionCommand() *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use: "completion SHELL", Args: takes(1, 1), ValidArgs: shells,
		Annotations: map[string]string{noJSON: ""},
		RunE: func(cmd *cobra.Command, args []string) error {
			root, out := cmd.Root(), cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(out)
			}
			return usage(fmt.Errorf("unknown shell %q; the shells are %s", args[0], strings.Join(shells, ", ")))
		},
	}
}

// complete completes the name of a tool of the menu, and what follows it. It starts no server.
func (c *toolCommand) complete(_ *cobra.Command, args []string, word string) (words []string, directive cobra.ShellCompDirective) {
	if len(args) > 0 {
		c.g.selection = c.g.after(args[1:])
	}
	directive = cobra.ShellCompDirectiveError
	_ = c.g.with(func(a *app.App) error {
		a.Servers.Kept()
		catalog := a.Executor().Registry.Catalog()
		if len(args) == 0 {
			directive = cobra.ShellCompDirectiveNoFileComp
			for _, t := range c.tools(a.Executor().Registry) {
				if catalog.Why(a.User(), t.Name) == "" {
					words = append(words, call.Visible(c.word(t))+"\t"+call.Visible(t.Title))
				}
			}
			return nil
		}
		for _, name := range c.names(args[0]) {
			if tool, ok := catalog.Tool(name); ok && catalog.Why(a.User(), name) == "" {
				words, directive = newToolLine(c.Command, args[0], tool, c.runs).complete(args[1:], word)
				break
			}
		}
		return nil
	})
	return words, directive
}

// complete completes the last word of the command line of a tool.
func (l *toolLine) complete(args []string, word string) (names []string, _ cobra.ShellCompDirective) {
	_ = l.ParseFlags(nil) // adds the flags of the program
	name, _, hasValue := strings.Cut(word, "=")
	switch {
	case slices.Contains(args, "--"):
	case hasValue && strings.HasPrefix(name, "--"):
		return completeFlag(l.lookup(name))
	case strings.HasPrefix(word, "-"):
		l.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name+"\t"+f.Usage) })
		return names, cobra.ShellCompDirectiveNoFileComp
	case len(args) > 0:
		if f := l.lookup(args[len(args)-1]); f != nil && f.NoOptDefVal == "" {
			return completeFlag(f)
		}
	}
	_ = l.ParseFlags(args) // what is not valid yet may become so
	open := l.open()
	last, n := len(open)-1, len(l.Flags().Args())
	if n <= last || last >= 0 && open[last].Type == "array" {
		return values(open[min(n, last)])
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// lookup returns the flag that a word names, or nil.
func (l *toolLine) lookup(word string) *pflag.Flag {
	if name, ok := strings.CutPrefix(word, "--"); ok {
		return l.Flags().Lookup(name)
	}
	if len(word) == 2 && word[0] == '-' {
		return l.Flags().ShorthandLookup(word[1:])
	}
	return nil
}

// completeFlag completes the value of a flag.
func completeFlag(f *pflag.Flag) ([]string, cobra.ShellCompDirective) {
	if f == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if a, ok := f.Value.(*argument); ok {
		return values(a.param)
	}
	if f.Name == "dir" {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// values returns what a parameter can be: one of a list, or a path for all that is text.
func values(p schema.Param) (words []string, directive cobra.ShellCompDirective) {
	if p.Type == "array" && p.Items != nil {
		p = *p.Items
	}
	for _, v := range p.Enum {
		words = append(words, call.Visible(fmt.Sprint(v)))
	}
	switch {
	case len(words) > 0:
	case p.Type == "boolean":
		words = []string{"true", "false"}
	case p.Type == "string" || p.Type == "":
		return nil, cobra.ShellCompDirectiveDefault
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// completeServer completes the names of servers for the shell. It starts none.
func (g *globals) completeServer(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	cfg, err := g.load()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return slices.Sorted(maps.Keys(cfg.Servers)), cobra.ShellCompDirectiveNoFileComp
}

// completeServerTool completes the name of a server of the configuration, which is a command, and
// the command line of its tools.
func (g *globals) completeServerTool(root *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return g.completeServer(root, args, word)
	}
	return g.ofServer(root, args[0]).complete(nil, args[1:], word)
}

// completeHelp completes what help takes: a command with its sub-commands, or a tool.
func (g *globals) completeHelp(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	found, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, c := range found.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name()+"\t"+c.Short)
		}
	}
	if c, ok := g.menus[found]; ok {
		tools, directive := c.complete(found, nil, word)
		return append(names, tools...), directive
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/domain"
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

// completeTool completes the name of a tool of a menu, and what follows it.
func (g *globals) completeTool(m menu) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return g.completeLine(cmd, m, args, word)
		}
		var names []string
		err := g.with(func(a *app.App) error {
			a.KeptServers()
			for _, t := range a.Callable(a.User()) {
				if slices.Contains(m.tools(a.Executor().Registry), t) {
					names = append(names, domain.Visible(m.word(t))+"\t"+domain.Visible(t.Title))
				}
			}
			return nil
		})
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeLine completes the command line of a tool. It starts no server.
func (g *globals) completeLine(cmd *cobra.Command, m menu, args []string, word string) (words []string, directive cobra.ShellCompDirective) {
	directive = cobra.ShellCompDirectiveError
	g.selection = g.after(args[1:])
	_ = g.with(func(a *app.App) error {
		a.KeptServers()
		for _, name := range m.names(args[0]) {
			if tool, ok := a.Executor().Registry.Catalog().Tool(name); ok && a.Executor().Registry.Catalog().Why(a.User(), name) == "" {
				words, directive = newToolLine(cmd, args[0], tool, m.runs).complete(args[1:], word)
				break
			}
		}
		return nil
	})
	return words, directive
}

// complete completes the last word of the command line of a tool.
func (l *toolLine) complete(args []string, word string) (names []string, _ cobra.ShellCompDirective) {
	if !slices.Contains(args, "--") {
		name, _, hasValue := strings.Cut(word, "=")
		switch {
		case hasValue && strings.HasPrefix(name, "--"):
			return l.completeFlag(l.lookup(name))
		case strings.HasPrefix(word, "-"):
			_ = l.ParseFlags(nil) // adds the flags of the program
			l.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name+"\t"+f.Usage) })
			return names, cobra.ShellCompDirectiveNoFileComp
		}
		if len(args) > 0 {
			if f := l.lookup(args[len(args)-1]); f != nil && f.NoOptDefVal == "" {
				return l.completeFlag(f)
			}
		}
	}
	_ = l.ParseFlags(args) // what is not valid yet may become so
	open := l.open()
	n := len(l.Flags().Args())
	switch {
	case n < len(open):
		return values(open[n])
	case len(open) > 0 && open[len(open)-1].Type == "array":
		return values(open[len(open)-1])
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// lookup returns the flag that a word names, or nil.
func (l *toolLine) lookup(word string) *pflag.Flag {
	_ = l.ParseFlags(nil) // adds the flags of the program
	if name, ok := strings.CutPrefix(word, "--"); ok {
		return l.Flags().Lookup(name)
	}
	if name, ok := strings.CutPrefix(word, "-"); ok && len(name) == 1 {
		return l.Flags().ShorthandLookup(name)
	}
	return nil
}

// completeFlag completes the value of a flag.
func (l *toolLine) completeFlag(f *pflag.Flag) ([]string, cobra.ShellCompDirective) {
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
		words = append(words, domain.Visible(fmt.Sprint(v)))
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

// completeServerTool completes the name of a server of the configuration, which is a command, and
// the command line of its tools.
func (g *globals) completeServerTool(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return g.completeServer(cmd, args, word)
	}
	return g.completeTool(menu{category: args[0], server: true})(cmd, args[1:], word)
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
	if m, ok := g.menus[found]; ok {
		tools, directive := g.completeTool(m)(found, nil, word)
		return append(names, tools...), directive
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

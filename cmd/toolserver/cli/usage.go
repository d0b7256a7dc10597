package cli

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolserver/toolserver/domain/nearest"
)

// command returns a command that takes the arguments of its usage line: those in brackets may be left out.
func command(use string, complete cobra.CompletionFunc, run func(*cobra.Command, []string) error) *cobra.Command {
	least, most := 0, 0
	for _, word := range strings.Fields(use)[1:] {
		most++
		if word[0] != '[' {
			least++
		}
	}
	switch {
	case most == 0:
		complete = cobra.NoFileCompletions
	case strings.Contains(use, "..."):
		most = -1
	}
	return &cobra.Command{Use: use, Args: takes(least, most), ValidArgsFunction: complete, RunE: run}
}

// takes returns a check of how many arguments a command has. A negative most is any number.
func takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usage(fmt.Errorf("%s is required; usage: %s", placeholder(cmd, len(args)), cmd.UseLine()))
		case most >= 0 && len(args) > most:
			return usage(fmt.Errorf("unexpected argument %q; usage: %s", args[most], cmd.UseLine()))
		}
		return nil
	}
}

// placeholder returns what the usage line of a command calls an argument.
func placeholder(cmd *cobra.Command, i int) string {
	if words := strings.Fields(cmd.Use); i+1 < len(words) {
		return strings.Trim(words[i+1], "[].")
	}
	return "an argument"
}

//go:embed help.txt
var help string

// describe has each command show what help.txt says of it.
func describe(root *cobra.Command) {
	for _, block := range strings.Split(strings.TrimSpace(help), "\n\n# ")[1:] { // behind what the file says of itself
		path, text, _ := strings.Cut(block, "\n")
		cmd, _, _ := root.Find(strings.Fields(path)[1:]) // the test says that each is there
		text, cmd.Example, _ = strings.Cut(text, "\nExamples:\n")
		cmd.Short, cmd.Long, _ = strings.Cut(text, "\n\n")
	}
}

// group returns a command that only has sub-commands.
func group(name string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: name, ValidArgsFunction: cobra.NoFileCompletions}
	cmd.AddCommand(commands...)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0], nil)
		}
		return cmd.Help()
	}
	return cmd
}

// unknownCommand returns the error of a word that is no sub-command, with what was probably meant: a
// sub-command, or one of other words with the command line that each stands for.
func unknownCommand(cmd *cobra.Command, word string, others map[string]string) error {
	meant := map[string]string{}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			for _, name := range append(c.Aliases, c.Name()) {
				meant[name] = c.CommandPath()
				names = append(names, name)
			}
		}
	}
	near, ok := nearest.Word(word, names)
	if !ok {
		meant = others
		near, ok = nearest.Word(word, slices.Sorted(maps.Keys(others)))
	}
	unknown := fmt.Sprintf("unknown command %q", word)
	if cmd.HasParent() {
		unknown += " of " + cmd.CommandPath()
	}
	if ok {
		return usage(fmt.Errorf("%s; did you mean %s?", unknown, meant[near]))
	}
	return usage(fmt.Errorf("%s; %s --help lists the commands", unknown, cmd.CommandPath()))
}

// flagError returns an error of flags as wrong use, with the flag that was probably meant.
func flagError(cmd *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return usage(fmt.Errorf("%w; usage: %s", err, cmd.UseLine()))
	}
	name := unknown.GetSpecifiedName()
	if letters := unknown.GetSpecifiedShortnames(); len(letters) > 1 {
		name = letters // as in -recursive
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near, ok := nearest.Word(name, names); ok {
		return usage(fmt.Errorf("%w; did you mean --%s?", err, near))
	}
	for _, c := range cmd.Commands() {
		if c.Flags().Lookup(name) != nil {
			return usage(fmt.Errorf("%w; did you mean %s --%s?", err, c.CommandPath(), name))
		}
	}
	return usage(fmt.Errorf("%w; %s --help lists the flags", err, cmd.CommandPath()))
}

// metavar is the value of a flag, with a name for help.
type metavar struct {
	pflag.Value
	name string
}

// Type returns the name.
func (m metavar) Type() string { return m.name }

// named has help show the value of a flag by a name.
func named(flags *pflag.FlagSet, flag, name string) {
	f := flags.Lookup(flag)
	f.Value, f.DefValue = metavar{f.Value, name}, "" // no flag with a name for its value has a default
}

// noJSON marks commands that print nothing --json applies to.
const noJSON = "no-json"

// completes has the shell complete the value of a flag.
func completes(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
}

// withExitCodes has the help of the program end with its exit codes.
func withExitCodes(root *cobra.Command) {
	show := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		show(cmd, args)
		if cmd == root {
			fmt.Fprint(cmd.OutOrStdout(), exitCodes)
		}
	})
}

// helpCommand shows the help of a command or of a tool.
func helpCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND | TOOL]", Short: "Show the help of a command or a tool",
		ValidArgsFunction: g.completeHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			found, rest, err := root.Find(args)
			if err != nil {
				return err
			}
			found.SetContext(cmd.Context())
			_, takesTool := g.menus[found]
			switch {
			case len(rest) == 0:
				found.InitDefaultHelpFlag()
				return found.Help()
			case found == root:
				return g.helpOnWord(root, rest[0])
			case takesTool:
				return found.RunE(found, []string{rest[0], "--help"})
			case found.HasSubCommands():
				return unknownCommand(found, rest[0], nil)
			}
			return takes(0, len(args)-len(rest))(cmd, args)
		},
	}
}

// helpOnWord shows the help of what is no command: a server of the configuration, or a tool.
func (g *globals) helpOnWord(root *cobra.Command, word string) error {
	call, _, err := root.Find([]string{"call"})
	if err != nil {
		return err
	}
	call.SetContext(root.Context())
	if line := []string{word, "--help"}; g.hasServer(word) || call.RunE(call, line) != nil {
		return g.runServer(root, line)
	}
	return nil
}

// release says which program this is.
type release struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"`     // of the commit
	Modified bool   `json:"modified,omitempty"` // the tree had changes that are not in the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func versionCommand(g *globals) *cobra.Command {
	return command("version", nil, func(cmd *cobra.Command, _ []string) error {
		p, out := g.program, cmd.OutOrStdout()
		r := release{p.Version, p.Commit, p.Date, false, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
		if info, ok := debug.ReadBuildInfo(); ok && r.Commit == "" { // the linker was not told
			built := map[string]string{}
			for _, s := range info.Settings {
				built[s.Key] = s.Value
			}
			r.Commit, r.Date, r.Modified = built["vcs.revision"], built["vcs.time"], built["vcs.modified"] == "true"
		}
		if g.json {
			return printJSON(out, r)
		}
		if r.Modified {
			r.Commit += " (modified)"
		}
		fmt.Fprintln(out, "toolserver", r.Version)
		for _, row := range [][2]string{{"commit", r.Commit}, {"date", r.Date}, {"go", r.Go}, {"platform", r.Platform}} {
			if row[1] != "" {
				fmt.Fprintf(out, "%-9s %s\n", row[0], row[1])
			}
		}
		return nil
	})
}

package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// withExitCodes has the help of the program end with its exit codes.
func withExitCodes(root *cobra.Command) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		help(cmd, args)
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
	if g.hasServer(word) {
		return g.listServer(root, word)
	}
	call, _, err := root.Find([]string{"call"})
	if err != nil {
		return err
	}
	call.SetContext(root.Context())
	if err := g.run(call, g.menus[call], []string{word, "--help"}); err != nil {
		return g.unknownWord(root, word)
	}
	return nil
}

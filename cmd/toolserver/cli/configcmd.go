package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"toolserver/cmd/toolserver/app"
	"toolserver/config"
	"toolserver/server"
)

func configCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Create, describe, show and import configuration"}
	cmd.AddCommand(
		&cobra.Command{
			Use: "init [FILE]", Short: "Write a commented configuration to start from", Args: cobra.MaximumNArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				path := "toolserver.yaml"
				if len(args) == 1 {
					path = args[0]
				}
				if path == "-" {
					_, err := cmd.OutOrStdout().Write(config.Template())
					return err
				}
				f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
				if errors.Is(err, fs.ErrExist) {
					return fmt.Errorf("%s already exists and was not changed; use another name, or - to print", path)
				}
				if err != nil {
					return err
				}
				if _, err := f.Write(config.Template()); err != nil {
					f.Close()
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "wrote %s; once it says what you want, start the server with --config %[1]s, or run toolserver trust %[1]s\n", path)
				return f.Close()
			},
		},
		&cobra.Command{
			Use: "schema", Short: "Print the JSON Schema of the configuration, for editors", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), string(config.Schema()))
				return err
			},
		},
		&cobra.Command{
			Use: "show", Short: "Print the configuration in force, secrets masked", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				cfg, err := g.load(g.dirs)
				if err != nil {
					return err
				}
				g.sayUnused(cfg)
				fmt.Fprintln(cmd.ErrOrStderr(), "# from", cfg.Described())
				_, err = cmd.OutOrStdout().Write(cfg.Show())
				return err
			},
		},
		importCommand(g),
	)
	return cmd
}

// tokenCommand makes bearer tokens.
func tokenCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "token", Short: "Make bearer tokens for HTTP clients"}
	var asJSON bool
	create := &cobra.Command{
		Use: "new NAME", Short: "Make a token and the configuration entry for it",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || strings.TrimSpace(args[0]) == "" {
				return usage(errors.New("new requires the name of the token's user; usage: " + cmd.UseLine()))
			}
			token := app.NewToken()
			entry := map[string]string{"name": args[0], "hash": server.HashToken(token)}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), map[string]any{"token": token, "config": entry})
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "token: %s\n\nIt is not shown again. Configure its hash:\n\nserver:\n  tokens:\n    - name: %q\n      hash: %s\n", token, entry["name"], entry["hash"])
			return err
		},
	}
	create.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(create)
	return cmd
}

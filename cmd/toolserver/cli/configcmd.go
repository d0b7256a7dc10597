package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/server"
)

func configCommand(g *globals) *cobra.Command {
	return group("config",
		&cobra.Command{
			Use: "init [FILE]", Args: takes(0, 1),
			RunE: func(cmd *cobra.Command, args []string) error {
				path := "toolserver.yaml"
				if len(args) == 1 {
					path = args[0]
				}
				switch {
				case path == "-" && g.json:
					return usage(errors.New("the configuration to start from is YAML with comments, which --json cannot print"))
				case path == "-":
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
				if g.json {
					return cmp.Or(f.Close(), printJSON(cmd.OutOrStdout(), map[string]string{"file": path}))
				}
				fmt.Fprintf(cmd.OutOrStdout(), "wrote %s; once it says what you want, start the server with --config %[1]s, or run toolserver trust %[1]s\n", path)
				return f.Close()
			},
		},
		&cobra.Command{
			Use: "schema", Args: takes(0, 0), ValidArgsFunction: cobra.NoFileCompletions,
			RunE: func(cmd *cobra.Command, _ []string) error {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), string(config.Schema()))
				return err
			},
		},
		&cobra.Command{
			Use: "show", Args: takes(0, 0), ValidArgsFunction: cobra.NoFileCompletions,
			RunE: func(cmd *cobra.Command, _ []string) error {
				cfg, err := g.load(g.dirs)
				if err != nil {
					return usage(err)
				}
				g.sayUnused(cfg)
				if g.json {
					return printYAML(cmd.OutOrStdout(), cfg.Show())
				}
				fmt.Fprintln(cmd.ErrOrStderr(), "# from", cfg.Described())
				_, err = cmd.OutOrStdout().Write(cfg.Show())
				return err
			},
		},
		importCommand(g),
	)
}

// printYAML prints a YAML document of the program as JSON.
func printYAML(w io.Writer, text []byte) error {
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		return err
	}
	return printJSON(w, v)
}

// tokenCommand makes bearer tokens.
func tokenCommand(g *globals) *cobra.Command {
	return group("token", &cobra.Command{
		Use: "new NAME", Args: takes(1, 1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(args[0]) == "" {
				return usage(errors.New("NAME must not be empty; usage: " + cmd.UseLine()))
			}
			token := app.NewToken()
			entry := map[string]string{"name": args[0], "hash": server.HashToken(token)}
			if g.json {
				return printJSON(cmd.OutOrStdout(), map[string]any{"token": token, "config": entry})
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "token: %s\n\nIt is not shown again. Configure its hash:\n\nserver:\n  tokens:\n    - name: %q\n      hash: %s\n", token, entry["name"], entry["hash"])
			return err
		},
	})
}

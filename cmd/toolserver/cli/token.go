package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"toolserver/cmd/toolserver/app"
	"toolserver/server"
)

// tokenCommand makes bearer tokens.
func tokenCommand(_ *globals) *cobra.Command {
	cmd := &cobra.Command{Use: "token", Short: "Make bearer tokens for HTTP clients"}
	var asJSON bool
	create := &cobra.Command{
		Use: "new NAME", Short: "Make a token and the configuration entry for it", Args: exactly(1, "the name of the token's user"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(args[0]) == "" {
				return usage(errors.New("the name is empty"))
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

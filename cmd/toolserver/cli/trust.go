package cli

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolserver/toolserver/config"
)

// trustCommand says that configurations which the server finds may be obeyed.
func trustCommand(g *globals) *cobra.Command {
	var list, revoke bool
	cmd := &cobra.Command{
		Use: "trust [FILE]", Args: takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case list && (revoke || len(args) > 0):
				return usage(errors.New("--list stands alone; usage: toolserver trust --list [--json]"))
			case list:
				return listTrusted(cmd.OutOrStdout(), g.json)
			case revoke:
				return untrust(cmd.OutOrStdout(), args, g.json)
			}
			trust, cfg, err := config.TrustContent(fileToTrust(args), g.dirs)
			if err != nil {
				return err
			}
			if g.json {
				return printJSON(cmd.OutOrStdout(), map[string]any{"trusted": trust, "writable": cfg.Policy().Writable(), "changes": cfg.Changes(), "exposed": cfg.TrustExposed()})
			}
			printTrusted(cmd.OutOrStdout(), trust, cfg)
			return nil
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "list what is trusted")
	cmd.Flags().BoolVar(&revoke, "revoke", false, "take the trust in FILE back")
	return cmd
}

func untrustCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "untrust [FILE]", Args: takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return untrust(cmd.OutOrStdout(), args, g.json) },
	}
}

func fileToTrust(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	return "toolserver.yaml"
}

// printTrusted shows what a file that is trusted from now on lets tools do.
func printTrusted(w io.Writer, trust config.Trust, cfg *config.Loaded) {
	fmt.Fprintf(w, "trusted %s (sha256 %s), until it changes\ntools may write in:\n", trust.File, trust.SHA256)
	for _, path := range cfg.Policy().Writable() {
		fmt.Fprintln(w, " ", path)
	}
	for i, line := range cfg.Changes() {
		if i == 0 {
			fmt.Fprintln(w, "besides the defaults, it says:")
		}
		fmt.Fprintln(w, " ", line)
	}
	if cfg.TrustExposed() {
		fmt.Fprintf(w, "note: tools may write in the directory of %s, where trust is kept, and only the sandbox's protection keeps them from it; --config is safer\n", config.TrustFile())
	}
}

func untrust(w io.Writer, args []string, asJSON bool) error {
	file := fileToTrust(args)
	trusted, err := config.Untrust(file)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(w, map[string]any{"file": file, "was_trusted": trusted})
	}
	state := "no longer trusted; servers that run keep what they have until they are restarted"
	if !trusted {
		state = "was not trusted"
	}
	_, err = fmt.Fprintf(w, "%s: %s\n", file, state)
	return err
}

func listTrusted(w io.Writer, asJSON bool) error {
	all, err := config.TrustedContents()
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(w, map[string]any{"trusted": append([]config.Trust{}, all...)})
	}
	for _, t := range all {
		fmt.Fprintf(w, "%s  %s  %s\n", t.SHA256, t.Since.Format(time.RFC3339), t.File)
	}
	return nil
}

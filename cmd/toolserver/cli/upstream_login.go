package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/outbound/signin"
	"github.com/toolserver/toolserver/upstream"
)

// signIn is a run of upstream login or logout.
type signIn struct {
	app       *app.App
	of        *upstream.Server
	id, title string // of the principal
}

// withSignIn does something about the sign-in of a principal to a server.
func (g *globals) withSignIn(cmd *cobra.Command, name, principal string, do func(context.Context, signIn) error) error {
	return g.withServers(cmd, []string{name}, func(ctx context.Context, a *app.App, chosen []*upstream.Server) (err error) {
		s := signIn{app: a, of: chosen[0]}
		if s.of.OAuth() == nil {
			return usage(fmt.Errorf("nobody signs in to server %s: it is a program, or has an Authorization header in the configuration", name))
		}
		defer s.of.OAuth().Close()
		if s.id, s.title, err = principalOf(a, principal); err != nil {
			return err
		}
		return do(ctx, s)
	})
}

func upstreamLogin(g *globals) *cobra.Command {
	var principal string
	var d dialog
	cmd := &cobra.Command{
		Use: "login NAME", Args: takes(1, 1), ValidArgsFunction: g.completeServer,
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			return g.withSignIn(cmd, args[0], principal, func(ctx context.Context, s signIn) error {
				err := d.run(ctx, g.forPeople(), pastedLines(g.std.In),
					func() (*signin.Flow, error) { return s.of.OAuth().SignIn(ctx, s.id) },
					func() (*signin.Pasted, error) { return s.of.OAuth().Paste(ctx, s.id) })
				if err != nil {
					if ctx.Err() != nil {
						err = errors.New("interrupted")
					}
					return fmt.Errorf("not signed in to server %s: %w", s.of.Server(), hinted(err))
				}
				now, err := s.of.OAuth().Status(s.id)
				if err != nil {
					return err
				}
				s.app.AttachServers([]*upstream.Server{s.of})
				s.of.Settle(ctx, s.id) // so that what it offers is known, also to servers that run
				if g.json {
					return printJSON(out, map[string]any{"server": s.of.Server(), "principal": s.id, "signed_in": true, "shared": now.Shared, "not_granted": append([]string{}, now.Missing...)})
				}
				whose := "for " + s.title
				if now.Shared {
					whose = "for all callers who may use it"
				}
				fmt.Fprintf(out, "signed in to server %s, %s\n", s.of.Server(), whose)
				for _, scope := range now.Missing {
					fmt.Fprintf(out, "  not granted: %s\n", domain.Visible(scope))
				}
				if r := s.of.ReportFor(s.id); r.Status != upstream.StatusReady {
					fmt.Fprintf(out, "  but it is unavailable: %s\n", domain.Visible(app.Why(&r, s.of.Timeout())))
				}
				return nil
			})
		},
	}
	principalFlag(cmd, &principal)
	d.flags(cmd.Flags())
	return cmd
}

func principalFlag(cmd *cobra.Command, principal *string) {
	cmd.Flags().StringVar(principal, "principal", "", "user or token of the configuration who signs in, where each does; default: the user of this command line")
	named(cmd.Flags(), "principal", "NAME")
}

func upstreamLogout(g *globals) *cobra.Command {
	var principal string
	cmd := &cobra.Command{
		Use: "logout NAME", Args: takes(1, 1), ValidArgsFunction: g.completeServer,
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.withSignIn(cmd, args[0], principal, func(ctx context.Context, s signIn) error {
				switch err := s.of.OAuth().Logout(ctx, s.id); {
				case g.json && (err == nil || errors.Is(err, signin.ErrNoGrant)):
					return printJSON(cmd.OutOrStdout(), map[string]any{"server": s.of.Server(), "principal": s.id, "was_signed_in": err == nil})
				case errors.Is(err, signin.ErrNoGrant):
					fmt.Fprintf(cmd.OutOrStdout(), "not signed in to server %s\n", s.of.Server())
				case err != nil:
					return hinted(err)
				default:
					fmt.Fprintf(cmd.OutOrStdout(), "signed out of server %s\n", s.of.Server())
				}
				return nil
			})
		},
	}
	principalFlag(cmd, &principal)
	return cmd
}

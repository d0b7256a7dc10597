package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/identity"
	"github.com/toolserver/toolserver/server"
)

// tokenCommand makes, lists and revokes bearer tokens.
func tokenCommand(g *globals) *cobra.Command {
	return group("token", tokenNew(g), tokenRotate(g), tokenList(g),
		command("revoke NAME [ID]", nil, func(_ *cobra.Command, args []string) error {
			id := ""
			if len(args) > 1 {
				id = args[1]
			}
			done, err := config.RevokeToken(g.overrides(), args[0], id)
			if err != nil {
				return err
			}
			return g.printEdited(done, "revoked", strings.TrimSpace("server.tokens "+args[0]+" "+id), args[0])
		}))
}

func tokenNew(g *globals) *cobra.Command {
	var t server.Token
	var expires string
	var onlyPrint bool
	cmd := command("new NAME", nil, func(cmd *cobra.Command, args []string) (err error) {
		if strings.TrimSpace(args[0]) == "" {
			return usage(errors.New("NAME must not be empty; usage: " + cmd.UseLine()))
		}
		token := app.NewToken()
		t.Name, t.Hash = args[0], server.HashToken(token)
		if t.Expires, err = untilWhen("--expires", expires, time.Now()); err != nil {
			return usage(err)
		}
		if onlyPrint {
			return g.printToken(token, t, config.Edited{})
		}
		done, err := config.AddToken(g.overrides(), t)
		if err != nil {
			return err
		}
		return g.printToken(token, t, done)
	})
	cmd.Flags().StringSliceVar(&t.Groups, "groups", nil, "groups of the principal")
	cmd.Flags().StringSliceVar(&t.Scopes, "scopes", nil, "scopes that the token is good for; default: everything")
	cmd.Flags().StringVar(&expires, "expires", "", "when the token expires: 90d, 12h, 2027-03-31, 2027-03-31T10:00:00Z; default: never")
	cmd.Flags().BoolVar(&onlyPrint, "print", false, "print the entry instead of adding it to the configuration file")
	return cmd
}

func tokenRotate(g *globals) *cobra.Command {
	keep := 24 * time.Hour
	cmd := command("rotate NAME", nil, func(_ *cobra.Command, args []string) error {
		token := app.NewToken()
		t := server.Token{Name: args[0], Hash: server.HashToken(token)}
		done, err := config.RotateToken(g.overrides(), t.Name, t.Hash, time.Now().Add(keep))
		if err != nil {
			return err
		}
		return g.printToken(token, t, done)
	})
	cmd.Flags().DurationVar(&keep, "keep", keep, "how long the tokens that there are may still be used")
	return cmd
}

// printToken shows a token, once, and where no file was edited, its entry.
func (g *globals) printToken(token string, t server.Token, done config.Edited) error {
	if g.json {
		return printJSON(g.std.Out, map[string]any{
			"token": token, "config": tokenJSON(t, "hash", t.Hash), "file": done.File, "created": done.Created, "trusted": done.Trusted,
		})
	}
	said := fmt.Sprintf("token: %s\n\nIt is not shown again. ", token)
	if done.File == "" {
		said += "Configure its hash:\n\n" + string(config.Tokens(t))
	}
	if _, err := io.WriteString(g.std.Out, said); err != nil || done.File == "" {
		return err
	}
	return g.printEdited(done, "Added", "its hash to server.tokens")
}

// tokenJSON returns what an entry of server.tokens says, and one member more.
func tokenJSON(t server.Token, key string, value any) map[string]any {
	entry := map[string]any{"name": t.Name, key: value, "groups": append([]string{}, t.Groups...)}
	if t.Scopes != nil {
		entry["scopes"] = t.Scopes
	}
	if !t.Expires.IsZero() {
		entry["expires"] = t.Expires
	}
	return entry
}

func tokenList(g *globals) *cobra.Command {
	return command("list", nil, func(*cobra.Command, []string) error {
		cfg, err := g.load()
		if err != nil {
			return usage(err)
		}
		g.sayUnused(cfg)
		if g.json {
			all := []map[string]any{}
			for _, t := range cfg.Server.Tokens {
				all = append(all, tokenJSON(t, "id", config.TokenID(t.Hash)))
			}
			return printJSON(g.std.Out, map[string]any{"tokens": all})
		}
		w := tabwriter.NewWriter(g.std.Out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "NAME\tID\tGROUPS\tSCOPES\tEXPIRES")
		for _, t := range cfg.Server.Tokens {
			expires, scopes := "never", "all"
			switch {
			case t.Expires.IsZero():
			case t.Expires.Before(time.Now()):
				expires = "expired " + t.Expires.Local().Format(time.DateOnly)
			default:
				expires = t.Expires.Local().Format(time.DateOnly + " 15:04")
			}
			if t.Scopes != nil {
				scopes = strings.Join(t.Scopes, ",")
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", call.Visible(t.Name), config.TokenID(t.Hash), call.Visible(strings.Join(t.Groups, ",")), scopes, expires)
		}
		return w.Flush()
	})
}

// authCheck says what a token is good for.
func authCheck(g *globals) *cobra.Command {
	return command("check [TOKEN]", nil, func(cmd *cobra.Command, args []string) error {
		text := "-"
		if len(args) > 0 {
			text = args[0]
		}
		if text == "-" {
			b, err := io.ReadAll(io.LimitReader(g.std.In, 1<<20))
			if err != nil {
				return err
			}
			text = string(b)
		}
		scheme, rest, ok := strings.Cut(strings.TrimSpace(text), " ")
		if text = scheme; ok && strings.EqualFold(scheme, "Bearer") {
			text = strings.TrimSpace(rest)
		}
		g.program.HTTP = true // its tokens are asked about
		return g.with(func(a *app.App) error {
			p, why := a.Authenticate(text)
			said := map[string]any{"accepted": why == nil}
			if why != nil {
				said["reason"] = why.Error()
			} else {
				said["principal"], said["name"], said["groups"] = p.ID, p.Name, append([]string{}, p.Groups...)
				if p.Scoped {
					said["scopes"] = append([]string{}, p.Scopes...)
				}
				if p.ComplianceLevel != "" {
					said["compliance_level"] = p.ComplianceLevel
				}
				if !p.Expires.IsZero() {
					said["expires"] = p.Expires.UTC().Format(time.RFC3339)
				}
				cfg := a.Config()
				if profile := cfg.ProfileOf(p); profile != nil {
					said["profile"] = profile.Name
				} else if len(cfg.Profiles) > 0 {
					said["profile"] = "none: the caller's groups are in no profile, so all calls are refused"
				}
			}
			claims := identity.Claims(text)
			if claims != nil {
				said["claims"] = claims
			}
			if g.json {
				if err := printJSON(g.std.Out, said); err != nil || why == nil {
					return err
				}
				return &exitError{exitFailed, nil}
			}
			if claims != nil {
				fmt.Fprintf(g.std.Out, "what it says, whether or not it is true:\n%s\n\n", claims)
			}
			if why != nil {
				return fmt.Errorf("the token is not accepted: %w", why)
			}
			for _, key := range []string{"principal", "name", "groups", "scopes", "compliance_level", "expires", "profile"} {
				if value, ok := said[key]; ok {
					fmt.Fprintf(g.std.Out, "%s: %s\n", key, call.Visible(strings.Trim(fmt.Sprint(value), "[]")))
				}
			}
			return nil
		})
	})
}

// untilWhen reads a time, or a duration from now on; none is never.
func untilWhen(flag, text string, now time.Time) (time.Time, error) {
	at, err := sinceWhen(text, now)
	if err != nil {
		return at, fmt.Errorf("%s %q is neither a duration such as 12h or 90d nor a time such as 2027-03-31 or 2027-03-31T10:00:00Z", flag, text)
	}
	if strings.TrimRight(text, "0123456789dhms.") == "" && text != "" {
		at = now.Add(now.Sub(at))
	}
	switch {
	case text != "" && !at.After(now):
		return at, fmt.Errorf("%s %q is over", flag, text)
	case text == "":
		return time.Time{}, nil
	}
	return at.UTC().Truncate(time.Second), nil
}

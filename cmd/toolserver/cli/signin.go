package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/identity"
	"github.com/toolserver/toolserver/outbound/httpcall"
	pages "github.com/toolserver/toolserver/outbound/signin"
	"github.com/toolserver/toolserver/tools/google/signin"
	"github.com/toolserver/toolserver/upstream"
)

// googleAuth is a run of one of the commands about sign-ins to Google.
type googleAuth struct {
	g         *globals
	accounts  func(*app.App) (*signin.Accounts, error)
	names     []string // of services
	principal string
	accounted []string // names of accounts

	dialog
	again bool

	// What these are for:
	selected []signin.Service
	id       string // of the principal
	title    string // of the principal, for people
	owners   []signin.Owner
	google   *signin.Accounts
	out      io.Writer
}

const (
	signInTime  = 10 * time.Minute // with --paste; a link has its own
	maxPastes   = 5
	indentation = "    "
)

// authCommand signs in to services, for their tools.
func authCommand(g *globals, accounts func(*app.App) (*signin.Accounts, error)) *cobra.Command {
	c := &googleAuth{g: g, accounts: accounts}
	google := command("google", nil, c.run(c.signIn))
	google.PersistentFlags().StringSliceVar(&c.names, "services", nil, "services: gmail, calendar, contacts; default: all that are in use")
	principalFlag(google.PersistentFlags(), &c.principal, "whose account it is, or token:NAME")
	google.PersistentFlags().StringSliceVar(&c.accounted, "account", nil, "names of google.accounts in the configuration; default: all of them")
	completes(google, "services", "gmail", "calendar", "contacts")
	c.dialog.flags(google.Flags())
	google.Flags().BoolVar(&c.again, "again", false, "sign in although there is a sign-in, for another account or after a change of scopes")
	google.AddCommand(command("status", nil, c.run(c.status)), command("revoke", nil, c.run(c.revoke)))
	return group("auth", google, authCheck(g))
}

// run prepares a command and runs it until it is interrupted.
func (c *googleAuth) run(do func(context.Context) error) func(*cobra.Command, []string) error {
	return c.g.interruptible(func(ctx context.Context, _ []string) error {
		for _, name := range c.names {
			s := signin.Service(strings.ToLower(strings.TrimSpace(name)))
			if !slices.Contains(signin.Services(), s) {
				return usage(fmt.Errorf("unknown service %q; the services are gmail, calendar and contacts", name))
			}
			c.selected = append(c.selected, s)
		}
		c.out = c.g.forPeople()
		return c.g.with(func(a *app.App) (err error) {
			if c.id, c.title, err = principalOf(a, c.principal); err != nil {
				return err
			}
			if c.google, err = c.accounts(a); err != nil {
				return err
			}
			defer c.google.Close()
			for _, name := range c.accounted {
				if known := c.google.Names(); !slices.Contains(known, name) {
					has := cmp.Or(strings.Join(known, ", "), "none")
					return usage(fmt.Errorf("there is no account %q: google.accounts in the configuration has %s", name, has))
				}
				c.owners = append(c.owners, c.google.Owner(c.id, name))
			}
			if c.owners == nil {
				c.owners = c.google.Owners(c.id)
			}
			return do(ctx)
		})
	})
}

// principalOf returns the ID of the principal with a name, and the name to show.
func principalOf(a *app.App, name string) (id, title string, err error) {
	user, server := a.User(), a.Config().Server
	source, full, hasSource := strings.Cut(name, ":")
	switch {
	case name == "" || name == user.Name:
		return user.ID, cmp.Or(user.Name, "the user of this machine"), nil
	case hasSource && full != "" && (source == config.SourceUser || source == config.SourceToken):
		return name, full, nil
	}
	for _, i := range a.Config().Auth.Issuers {
		if subject, ok := strings.CutPrefix(name, identity.ID(i.Issuer, "")); ok && subject != "" {
			return name, subject, nil
		}
	}
	for _, t := range server.Tokens {
		if t.Name == name {
			return domain.PrincipalID(config.SourceToken, name), name, nil
		}
	}
	return "", "", usage(fmt.Errorf("there is no principal %q: "+
		"use the name of server.user of one of server.tokens, or ISSUER#SUBJECT of one of auth.issuers", name))
}

// states returns what is known of the services that are selected: by default those that ask for something.
func (c *googleAuth) states() ([]signin.Status, error) {
	all, err := c.google.Status(c.owners...)
	if len(c.selected) > 0 && !slices.ContainsFunc(all, func(s signin.Status) bool { return s.Problem != "" && slices.Contains(c.selected, s.Service) }) {
		err = nil // it is of another service
	}
	return slices.DeleteFunc(all, func(s signin.Status) bool {
		if len(c.selected) == 0 {
			return len(s.Asked) == 0 && !s.SignedIn && s.Problem == ""
		}
		return !slices.Contains(c.selected, s.Service)
	}), err
}

// signIn signs in to one service after the other.
func (c *googleAuth) signIn(ctx context.Context) error {
	states, _ := c.states() // what cannot be read is reported when its sign-in begins
	var failed error
	for _, s := range states {
		if s.SignedIn && len(s.Missing) == 0 && !c.again {
			fmt.Fprintf(c.out, "%s: already signed in as %s, for %s. Use --again to sign in again.\n", s.Title(), account(s), c.title)
			continue
		}
		fmt.Fprintf(c.out, "%s, for %s\n  asks for permission to\n", s.Title(), c.title)
		for _, scope := range s.Asked {
			fmt.Fprintf(c.out, "%s%s (%s)\n", indentation, signin.Reason(scope), scope)
		}
		err := c.dialog.run(ctx, c.g,
			func() (*pages.Flow, error) { return c.google.Begin(s.Owner, s.Service) },
			func() (*pages.Pasted, error) { return c.google.BeginPaste(s.Owner, s.Service) })
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return fmt.Errorf("interrupted: not signed in to %s", s.Title())
		default: // what was not allowed of one may be allowed of the next
			failed = errors.Join(failed, fmt.Errorf("not signed in to %s: %w", s.Title(), hinted(err)))
			continue
		}
		all, _ := c.google.Status(s.Owner)
		for _, now := range all {
			if now.Service == s.Service {
				fmt.Fprintf(c.out, "%s: signed in as %s, for %s; kept in: %s\n", s.Title(), account(now), c.title, now.Kept)
				printNotGranted(c.out, now)
			}
		}
	}
	_, _ = c.printStates() // what cannot be read has been reported
	return failed
}

// printStates prints what is known of the services as JSON, if that is asked for.
func (c *googleAuth) printStates() (states []signin.Status, err error) {
	states, unreadable := c.states()
	if c.g.json {
		err = printJSON(c.g.std.Out, map[string]any{"principal": c.id, "services": states})
	}
	return states, cmp.Or(err, unreadable)
}

// dialog is how a person signs in.
type dialog struct{ noBrowser, paste bool }

// flags adds the flags that say so.
func (d *dialog) flags(to *pflag.FlagSet) {
	to.BoolVar(&d.noBrowser, "no-browser", false, "do not open a browser")
	to.BoolVar(&d.paste, "paste", false, "sign in with a browser on another machine, and paste the address that it ends at")
}

// run has a person sign in, with a browser on this machine or on another one.
func (d *dialog) run(ctx context.Context, g *globals, begin func() (*pages.Flow, error), beginPaste func() (*pages.Pasted, error)) error {
	if d.paste {
		p, err := beginPaste()
		if err != nil {
			return err
		}
		return waitForPaste(ctx, g, p)
	}
	flow, err := begin()
	if err != nil {
		return err
	}
	const text = "  Open this in a browser on this machine:\n%s%s\n  Waiting until %s. Ctrl-C ends it.\n"
	fmt.Fprintf(g.forPeople(), text, indentation, flow.URL, flow.Expires.Format("15:04"))
	if !d.noBrowser {
		app.OpenBrowser(flow.URL)
	}
	select {
	case <-flow.Done():
		return flow.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// waitForPaste has a person sign in with a browser on another machine.
func waitForPaste(ctx context.Context, g *globals, p *pages.Pasted) error {
	out := g.forPeople()
	const text = "  Open this in a browser on any machine:\n%s%s\n" +
		"  It ends at a page that cannot be shown. Paste the whole address of that page here:\n"
	fmt.Fprintf(out, text, indentation, p.URL)
	ctx, cancel := context.WithTimeoutCause(ctx, signInTime, errors.New("no address was pasted in time"))
	defer cancel()
	for range maxPastes {
		line, err := g.person.line(ctx)
		if ctx.Err() != nil {
			return err
		}
		if err != nil {
			return errors.New("no address was pasted")
		}
		if err = p.Finish(ctx, line); !pages.PasteAgain(err) {
			return err
		}
		fmt.Fprintf(out, "  %v\n", err)
	}
	return errors.New("no address that belongs to it was pasted")
}

// status shows which accounts are signed in.
func (c *googleAuth) status(context.Context) error {
	states, unreadable := c.printStates()
	missing := false
	for _, s := range states {
		missing = missing || !s.SignedIn
		switch {
		case c.g.json:
		case s.SignedIn:
			fmt.Fprintf(c.out, "%s: signed in as %s, for %s\n", s.Title(), account(s), c.title)
			fmt.Fprintf(c.out, "  since %s, refreshed %s, access token until %s, kept in: %s\n", stamp(s.Created), stamp(s.Refreshed), stamp(s.Expires), s.Kept)
			for _, scope := range s.Scopes {
				fmt.Fprintf(c.out, "  granted: %s (%s)\n", signin.Reason(scope), scope)
			}
			printNotGranted(c.out, s)
		case s.Problem != "":
			fmt.Fprintf(c.out, "%s: %s\n", s.Title(), s.Problem)
		default:
			fmt.Fprintf(c.out, "%s: not signed in; run toolserver auth google --services %s%s\n", s.Title(), s.Service, c.google.Flag(s.Owner))
		}
	}
	if unreadable != nil && missing && !c.g.json {
		return hinted(unreadable)
	}
	return exitIf(missing)
}

// revoke ends the sign-ins that are selected, all of them by default.
func (c *googleAuth) revoke(ctx context.Context) error {
	selected := c.selected
	if len(selected) == 0 {
		selected = signin.Services()
	}
	var failed error
	for _, o := range c.owners {
		for _, s := range selected {
			switch note, err := c.google.SignOut(ctx, o, s, selected...); {
			case errors.Is(err, signin.ErrNoGrant):
				fmt.Fprintf(c.out, "%s: not signed in\n", o.Of(s))
			case err != nil:
				failed = errors.Join(failed, hinted(err))
			default:
				fmt.Fprintf(c.out, "%s: %s (for %s)\n", o.Of(s), note, c.title)
			}
		}
	}
	_, _ = c.printStates() // what cannot be read is reported by status
	return failed
}

func printNotGranted(w io.Writer, s signin.Status) {
	for _, scope := range s.Missing {
		fmt.Fprintf(w, "  not granted: %s (%s)\n", signin.Reason(scope), scope)
	}
}

func account(s signin.Status) string { return cmp.Or(s.Email, "an account whose address is not known") }

func stamp(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// hinted returns an error with what to do next.
func hinted(err error) error {
	if f, ok := errors.AsType[*httpcall.Failure](err); ok && f.Hint != "" {
		return fmt.Errorf("%s. %s", f.Message, f.Hint)
	}
	return err
}

// serverSignIn is a run of upstream login or logout.
type serverSignIn struct {
	g         *globals
	principal string // as it is given

	app       *app.App
	of        *upstream.Server
	id, title string // of the principal
	out       io.Writer
}

// command returns a command about the sign-in of a principal to a server.
func (s *serverSignIn) command(name string, do func(context.Context) error) *cobra.Command {
	cmd := command(name+" NAME", s.g.completeServer, s.g.aboutServers(func(ctx context.Context, a *app.App, chosen []*upstream.Server) (err error) {
		s.app, s.of, s.out = a, chosen[0], s.g.std.Out
		if s.of.OAuth() == nil {
			return usage(fmt.Errorf("nobody signs in to server %s: it is a program, or has an Authorization header in the configuration", s.of.Server()))
		}
		defer s.of.OAuth().Close()
		if s.id, s.title, err = principalOf(a, s.principal); err != nil {
			return err
		}
		return do(ctx)
	}))
	principalFlag(cmd.Flags(), &s.principal, "who signs in, where each does")
	return cmd
}

func principalFlag(to *pflag.FlagSet, principal *string, what string) {
	to.StringVar(principal, "principal", "", "user or token of the configuration "+what+"; default: the user of this command line")
	named(to, "principal", "NAME")
}

func upstreamLogin(g *globals) *cobra.Command {
	s := &serverSignIn{g: g}
	var d dialog
	cmd := s.command("login", func(ctx context.Context) error {
		err := d.run(ctx, g,
			func() (*pages.Flow, error) { return s.of.OAuth().SignIn(ctx, s.id) },
			func() (*pages.Pasted, error) { return s.of.OAuth().Paste(ctx, s.id) })
		if err != nil {
			if ctx.Err() != nil {
				err = errors.New("interrupted")
			}
			return fmt.Errorf("not signed in to server %s: %w", s.of.Server(), hinted(err))
		}
		return s.settle(ctx)
	})
	d.flags(cmd.Flags())
	return cmd
}

// settle has what a server offers known after a sign-in, also to servers that run, and prints what the sign-in has led to.
func (s *serverSignIn) settle(ctx context.Context) error {
	now, err := s.of.OAuth().Status(s.id)
	if err != nil {
		return err
	}
	s.app.Servers.Attach([]*upstream.Server{s.of}, true)
	s.of.Settle(ctx, s.id)
	if s.g.json {
		return printJSON(s.out, map[string]any{
			"server": s.of.Server(), "principal": s.id, "signed_in": true, "shared": now.Shared, "not_granted": append([]string{}, now.Missing...),
		})
	}
	whose := "for " + s.title
	if now.Shared {
		whose = "for all callers who may use it"
	}
	fmt.Fprintf(s.out, "signed in to server %s, %s\n", s.of.Server(), whose)
	for _, scope := range now.Missing {
		fmt.Fprintf(s.out, "  not granted: %s\n", call.Visible(scope))
	}
	if r := s.of.ReportFor(s.id); r.Status != upstream.StatusReady {
		fmt.Fprintf(s.out, "  but it is unavailable: %s\n", call.Visible(app.Why(&r, s.of.Timeout())))
	}
	return nil
}

func upstreamLogout(g *globals) *cobra.Command {
	s := &serverSignIn{g: g}
	return s.command("logout", func(ctx context.Context) error {
		switch err := s.of.OAuth().Logout(ctx, s.id); {
		case g.json && (err == nil || errors.Is(err, pages.ErrNoGrant)):
			return printJSON(s.out, map[string]any{"server": s.of.Server(), "principal": s.id, "was_signed_in": err == nil})
		case errors.Is(err, pages.ErrNoGrant):
			fmt.Fprintf(s.out, "not signed in to server %s\n", s.of.Server())
		case err != nil:
			return hinted(err)
		default:
			fmt.Fprintf(s.out, "signed out of server %s\n", s.of.Server())
		}
		return nil
	})
}

package cli

import (
	"bufio"
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
	"github.com/toolserver/toolserver/outbound/httpcall"
	pages "github.com/toolserver/toolserver/outbound/signin"
	"github.com/toolserver/toolserver/tools/google/signin"
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
	maxPasted   = 64 << 10 // bytes
	indentation = "    "
)

// authCommand signs in to services, for their tools.
func authCommand(g *globals, accounts func(*app.App) (*signin.Accounts, error)) *cobra.Command {
	c := &googleAuth{g: g, accounts: accounts}
	google := &cobra.Command{Use: "google", Args: takes(0, 0), ValidArgsFunction: cobra.NoFileCompletions, RunE: c.run(c.signIn)}
	google.PersistentFlags().StringSliceVar(&c.names, "services", nil, "services: gmail, calendar, contacts; default: all that are in use")
	google.PersistentFlags().StringVar(&c.principal, "principal", "", "user or token of the configuration whose account it is, or token:NAME; default: the user of this command line")
	named(google.PersistentFlags(), "principal", "NAME")
	google.PersistentFlags().StringSliceVar(&c.accounted, "account", nil, "names of google.accounts in the configuration; default: all of them")
	completes(google, "services", "gmail", "calendar", "contacts")
	c.dialog.flags(google.Flags())
	google.Flags().BoolVar(&c.again, "again", false, "sign in although there is a sign-in, for another account or after a change of scopes")
	google.AddCommand(
		&cobra.Command{Use: "status", Args: takes(0, 0), ValidArgsFunction: cobra.NoFileCompletions, RunE: c.run(c.status)},
		&cobra.Command{Use: "revoke", Args: takes(0, 0), ValidArgsFunction: cobra.NoFileCompletions, RunE: c.run(c.revoke)})
	return group("auth", google)
}

// run prepares a command and runs it until it is interrupted.
func (c *googleAuth) run(do func(context.Context) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
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
					return usage(fmt.Errorf("there is no account %q: google.accounts in the configuration has %s", name, cmp.Or(strings.Join(known, ", "), "none")))
				}
				c.owners = append(c.owners, c.google.Owner(c.id, name))
			}
			if c.owners == nil {
				c.owners = c.google.Owners(c.id)
			}
			ctx, stop := c.g.interruptible(cmd.Context())
			defer stop()
			return do(ctx)
		})
	}
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
	for _, t := range server.Tokens {
		if t.Name == name {
			return domain.PrincipalID(config.SourceToken, name), name, nil
		}
	}
	return "", "", usage(fmt.Errorf("there is no principal %q: use the name of server.user or of one of server.tokens", name))
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
	lines := pastedLines(c.g.std.In)
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
		err := c.dialog.run(ctx, c.out, lines,
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
		c.confirm(s)
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
func (d *dialog) run(ctx context.Context, out io.Writer, lines func(context.Context) (string, error), begin func() (*pages.Flow, error), beginPaste func() (*pages.Pasted, error)) error {
	if d.paste {
		p, err := beginPaste()
		if err != nil {
			return err
		}
		return waitForPaste(ctx, out, p, lines)
	}
	flow, err := begin()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "  Open this in a browser on this machine:\n%s%s\n  Waiting until %s. Ctrl-C ends it.\n", indentation, flow.URL, flow.Expires.Format("15:04"))
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
func waitForPaste(ctx context.Context, out io.Writer, p *pages.Pasted, lines func(context.Context) (string, error)) error {
	fmt.Fprintf(out, "  Open this in a browser on any machine:\n%s%s\n  It ends at a page that cannot be shown. Paste the whole address of that page here:\n", indentation, p.URL)
	ctx, cancel := context.WithTimeoutCause(ctx, signInTime, errors.New("no address was pasted in time"))
	defer cancel()
	for range maxPastes {
		line, err := lines(ctx)
		if err != nil {
			return err
		}
		if err = p.Finish(ctx, line); !pages.PasteAgain(err) {
			return err
		}
		fmt.Fprintf(out, "  %v\n", err)
	}
	return errors.New("no address that belongs to it was pasted")
}

// pastedLines returns a function that reads the next line.
func pastedLines(in io.Reader) func(context.Context) (string, error) {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, maxPasted)
	return func(ctx context.Context) (string, error) {
		return awaited(ctx, func() (string, error) {
			if scanner.Scan() {
				return scanner.Text(), nil
			}
			return "", errors.New("no address was pasted")
		})
	}
}

// confirm prints what a sign-in has led to.
func (c *googleAuth) confirm(s signin.Status) {
	all, _ := c.google.Status(s.Owner)
	for _, now := range all {
		if now.Service == s.Service {
			fmt.Fprintf(c.out, "%s: signed in as %s, for %s; kept in: %s\n", s.Title(), account(now), c.title, now.Kept)
			printNotGranted(c.out, now)
		}
	}
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
	if missing {
		return &exitError{code: exitFailed}
	}
	return nil
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

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/user"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/toolserver/toolserver/approval"
	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/text/textdiff"
	"github.com/toolserver/toolserver/upstream"
)

// answers are what a person may say of a call, and what that means.
func answers() [][2]string {
	return [][2]string{
		{approval.Once, "let this call run"}, {approval.Session, "let it run, and others of its kind until the session ends"},
		{approval.No, "refuse it"}, {approval.Never, "refuse it and others of its kind, without being asked again"},
	}
}

// forget is what may be said besides, of any request.
const forget = "forget"

// approveCommand decides about calls that wait for a person.
func approveCommand(g *globals) *cobra.Command {
	given := map[string]*bool{}
	cmd := command("approve [ID]", nil, g.interruptible(func(ctx context.Context, args []string) error {
		return g.with(func(a *app.App) error {
			if !a.Config().Approvals.Enabled && !g.json {
				fmt.Fprintln(g.std.Err, "toolserver: calls do not wait for people here: approvals.enabled is not set")
			}
			answer := ""
			for name, yes := range given {
				if *yes && answer != "" {
					return usage(fmt.Errorf("--%s cannot be combined with --%s", answer, name))
				} else if *yes {
					answer = name
				}
			}
			if len(args) == 0 && answer != "" {
				return usage(errors.New("ID is required; toolserver approve lists what waits"))
			}
			desk, leave, err := app.OpenDesk(a.Config(), nil)
			if err != nil {
				return err
			}
			defer leave()
			all, err := desk.List(ctx)
			switch {
			case err != nil:
				return err
			case len(args) == 0:
				return g.listApprovals(all)
			}
			return g.decide(ctx, a, desk, all, strings.ToLower(strings.TrimSpace(args[0])), answer)
		})
	}))
	for _, one := range append(answers(), [2]string{forget, "withdraw what was decided or asked"}) {
		given[one[0]] = cmd.Flags().Bool(one[0], false, one[1])
	}
	return cmd
}

// listApprovals lists what waits, and what was decided.
func (g *globals) listApprovals(all []approval.Request) error {
	if g.json {
		return printJSON(g.std.Out, map[string]any{"approvals": append([]approval.Request{}, all...)})
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(g.std.Out, "No call waits for a person.")
		return err
	}
	w := tabwriter.NewWriter(g.std.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tTOOL\tABOUT\tPRINCIPAL\tUNTIL\tSTATE")
	for _, r := range all {
		until, state := r.Expires.Local().Format(time.TimeOnly), "waits"
		switch {
		case r.Decision != nil:
			state = r.Decision.Answer + ", by " + call.Visible(r.Decision.By)
		case r.Second:
			state = "waits for a second person"
		}
		if r.Decision != nil && r.Decision.Answer == approval.Never {
			until = "forgotten"
		} else if time.Until(r.Expires) > 12*time.Hour {
			until = stamp(r.Expires)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.ID, call.Visible(r.Tool), brief.Clip(call.Visible(r.About), 60), call.Visible(r.Principal), until, state)
	}
	return w.Flush()
}

// decide shows one of all requests and decides it, or asks the person at the terminal how.
func (g *globals) decide(ctx context.Context, a *app.App, desk *approval.Desk, all []approval.Request, id, answer string) (err error) {
	i := slices.IndexFunc(all, func(r approval.Request) bool { return r.ID == id })
	if i < 0 {
		return fmt.Errorf("%s: %w", brief.Name(id), approval.ErrUnknown)
	}
	r, by := all[i], machineUser()
	if answer == forget {
		err = desk.Forget(ctx, id)
	} else {
		if answer == "" && g.json {
			return printJSON(g.std.Out, r)
		}
		if answer == "" {
			if answer, err = g.askAnswer(ctx, r); err != nil {
				return err
			}
		}
		err = desk.Decide(ctx, id, answer, by)
	}
	if err != nil {
		return fmt.Errorf("approval %s: %w", id, err)
	}
	a.Note("approval", by, zap.String("reason", id+" about "+r.Tool+": "+answer))
	if g.json {
		return printJSON(g.std.Out, map[string]string{"approval": id, "answer": answer, "by": by})
	}
	_, err = fmt.Fprintf(g.std.Out, "approval %s: %s\n", id, answer)
	return err
}

// askAnswer shows a request, and has the person at the terminal answer it.
func (g *globals) askAnswer(ctx context.Context, r approval.Request) (string, error) {
	fmt.Fprintf(g.std.Out, "%s asks to call %s (client %s), until %s.\n\n%s\n", call.Visible(r.Principal), call.Visible(r.Tool),
		call.Visible(cmp.Or(r.Client, "unknown")), stamp(r.Expires), visibleLines(r.Text))
	if r.Decision != nil {
		return "", fmt.Errorf("approval %s: %w: %s, by %s", r.ID, approval.ErrDecided, r.Decision.Answer, call.Visible(r.Decision.By))
	}
	if !g.answers() {
		return "", errors.New("nothing is decided: there is no terminal to ask on; repeat the command with --once, --session, --no or --never")
	}
	for _, one := range answers() {
		fmt.Fprintf(g.std.Err, "%-8s %s\n", one[0], one[1])
	}
	fmt.Fprint(g.std.Err, "Answer: ")
	line, err := g.person.line(ctx)
	return strings.ToLower(strings.TrimSpace(line)), err
}

// machineUser returns the principal that the user of this process is, which nothing in the environment changes.
func machineUser() string {
	u, err := user.LookupId(strconv.Itoa(os.Getuid()))
	if runtime.GOOS == "windows" {
		u, err = user.Current()
	}
	if err != nil {
		return config.SourceUser + ":" + strconv.Itoa(os.Getuid())
	}
	return config.SourceUser + ":" + u.Username
}

func upstreamApprove(g *globals) *cobra.Command {
	var yes bool
	cmd := command("approve NAME [TOOL...]", g.completeServer, g.interruptible(func(ctx context.Context, args []string) error {
		return g.withServers(args[:1], func(a *app.App, chosen []*upstream.Server) error {
			return g.approve(ctx, a, chosen[0], args[1:], yes)
		})
	}))
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "pin the tools without asking")
	return cmd
}

func (g *globals) approve(ctx context.Context, a *app.App, s *upstream.Server, names []string, yes bool) error {
	out := g.std.Out
	if !s.Known() {
		return fmt.Errorf("server %s has never been connected to, so nothing of it is pinned; toolserver upstream ping %[1]s connects", s.Server())
	}
	changed, err := changedTools(s, names)
	if err != nil {
		return err
	}
	if len(changed) == 0 && !g.json {
		_, err := fmt.Fprintf(out, "No tool of server %s differs from its pin.\n", s.Server())
		return err
	}
	var tools []string
	kind := "tool"
	for _, d := range changed {
		if d.Skill {
			kind = "item"
		}
		tools = append(tools, d.Tool)
		if !g.json {
			if err := printDifference(out, s, d); err != nil {
				return err
			}
		}
	}
	if !yes && !g.json {
		if !g.answers() {
			return errors.New("nothing is approved: there is no terminal to ask on; review the changes above, then repeat the command with --yes")
		}
		if yes, err = g.person.confirm(ctx, "Pin "+counted(len(tools), kind)+" as shown?"); err != nil {
			return err
		}
		if !yes {
			return errors.New("nothing is approved")
		}
	}
	if yes && len(tools) > 0 {
		if err = s.Approve(tools); err == nil {
			a.Note("approve", a.User().ID, zap.String("server", s.Server()), zap.String("reason", "tools are pinned: "+strings.Join(tools, ", ")))
		}
	}
	if g.json {
		return cmp.Or(err, printJSON(out, map[string]any{"server": s.Server(), "changed": append([]upstream.Difference{}, changed...), "pinned": yes}))
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "pinned %s of server %s; servers that run notice it within seconds\n", counted(len(tools), kind), s.Server())
	return err
}

// changedTools returns how the named tools differ from their pins, or all. A name is that of
// the server, or the one that clients see.
func changedTools(s *upstream.Server, names []string) (chosen []upstream.Difference, err error) {
	all := s.Differences()
	if len(names) == 0 {
		return all, nil
	}
	for _, name := range names {
		is := func(tool string) bool { return tool == name || upstream.OfferedName(s.Server(), tool) == name }
		if i := slices.IndexFunc(all, func(d upstream.Difference) bool { return is(d.Tool) }); i >= 0 {
			chosen = append(chosen, all[i])
		} else if !slices.ContainsFunc(s.ToolNames(), is) {
			return nil, usage(fmt.Errorf("server %s lists no tool %q", s.Server(), brief.Name(name)))
		}
	}
	return chosen, nil
}

// printDifference shows what has changed of a tool, line by line.
func printDifference(w io.Writer, s *upstream.Server, d upstream.Difference) error {
	name := upstream.OfferedName(s.Server(), d.Tool)
	if d.Skill {
		name = "skill"
	}
	if _, err := fmt.Fprintf(w, "%s (%s)\n", name, call.Visible(d.Tool)); err != nil {
		return err
	}
	for _, m := range d.Members {
		text := textdiff.Unified(m.Name, lines(m.Before), lines(m.Now), math.MaxInt)
		if text == "" {
			text = "--- " + m.Name + "\n+++ " + m.Name + "\n(the same text)\n"
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}

// lines returns JSON as people read it: a text as its lines, anything else indented. What
// cannot be seen is escaped.
func lines(raw json.RawMessage) string {
	if raw == nil {
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		var b strings.Builder
		var v any
		if json.Unmarshal(raw, &v) != nil {
			return string(raw) + "\n"
		}
		_ = printJSON(&b, v) // what was decoded
		text = b.String()
	}
	return visibleLines(text)
}

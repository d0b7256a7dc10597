package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/text/textdiff"
	"github.com/toolserver/toolserver/upstream"
)

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

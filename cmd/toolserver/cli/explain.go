package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/upstream"
)

// explainCommand returns the command that explains calls.
func explainCommand(g *globals) *toolCommand {
	c := g.toolCommand("explain", menu{})
	c.Flags().StringVar(&c.as, "as", "", "explain it for somebody over HTTP: the name of a token, or ISSUER#SUBJECT")
	c.Flags().StringSliceVar(&c.groups, "groups", nil, "groups that --as is in, besides those of the configuration")
	return c
}

// explain shows whether a call would be allowed, and by which rule.
func (o *opened) explain(ctx context.Context) error {
	g, tool := o.g, o.tool
	raw, err := o.line.arguments(ctx, g.person)
	if err != nil {
		return err
	}
	arguments, err := tool.Input.Arguments(raw)
	if err != nil {
		return o.line.explained(err)
	}
	verdict, err := verdictOn(ctx, o.app, o.catalog, tool, arguments)
	if err != nil {
		return err
	}
	denied := exitIf(!verdict.Allowed || verdict.Stopped != "")
	if g.json {
		return cmp.Or(printJSON(g.std.Out, verdict), denied)
	}
	printExplanation(g.std.Out, verdict)
	return denied
}

// verdictOn says what would be decided on a call of the user.
func verdictOn(ctx context.Context, a *app.App, catalog *domain.Catalog, tool *domain.Tool, arguments domain.Arguments) (domain.Explanation, error) {
	verdict := whoMay(catalog, tool, a.User())
	if s, ok := a.Config().Servers[tool.Origin.Server]; ok && verdict.Allowed {
		verdict.Reason = ofServer(tool, &s)
	}
	if verdict.Allowed && tool.Explain != nil {
		return tool.Explain(ctx, arguments)
	}
	return verdict, nil
}

// whoMay answers for what comes before the sandbox.
func whoMay(catalog *domain.Catalog, tool *domain.Tool, p domain.Principal) domain.Explanation {
	switch {
	case !catalog.Settings.Access.Allowed(p, tool):
		return domain.Explanation{Rule: "tools." + tool.Name + ".groups or compliance_level", Reason: p.Name + " may not use the tool"}
	case tool.Disabled:
		return domain.Explanation{Rule: "tools." + tool.Name + ".enabled", Reason: "the tool is disabled"}
	}
	return domain.Explanation{Allowed: true, Reason: "only groups and compliance levels restrict this tool"}
}

// ofServer says what restricts a tool of another server.
func ofServer(tool *domain.Tool, s *upstream.Settings) string {
	who := "everyone may call it"
	if len(tool.Groups) > 0 {
		who = "it is for the groups " + strings.Join(tool.Groups, ", ")
	}
	if tool.ComplianceLevel != "" {
		who += ", at the compliance level " + tool.ComplianceLevel
	}
	where := "its server " + tool.Origin.Server
	switch {
	case s.URL != "":
		where += " is another machine or program, reached over HTTP: no policy of this server holds there"
	case s.Sandbox:
		where += " runs in the sandbox of commands"
	default:
		where += " runs outside the sandbox, as the user of toolserver (set sandbox: true to confine it)"
	}
	return who + "; " + where
}

func printExplanation(w io.Writer, e domain.Explanation) {
	verdict := "denied"
	switch {
	case e.Stopped != "":
		verdict = "allowed by its text; the sandbox will stop it: " + e.Stopped
	case e.Allowed:
		verdict = "allowed"
	case e.Rule == "syntax":
		verdict = "not valid"
	}
	var inForce, missing []string
	if e.Layers != nil {
		inForce, missing = e.Layers.InForce, e.Layers.Missing
	}
	for _, row := range []struct{ name, text string }{
		{"verdict", verdict}, {"rule", e.Rule}, {"reason", e.Reason}, {"path", e.Path},
		{"runs", strings.Join(e.Argv, "\n          ")}, {"reads", strings.Join(e.Reads, ", ")}, {"writes", strings.Join(e.Writes, ", ")},
		{"layers", strings.Join(inForce, "\n          ")}, {"missing", strings.Join(missing, "\n          ")},
	} {
		if row.text != "" {
			fmt.Fprintf(w, "%-9s %s\n", row.name+":", row.text)
		}
	}
}

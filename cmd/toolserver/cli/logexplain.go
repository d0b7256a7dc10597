package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/cmd/toolserver/record"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/lazyregexp"
)

// explainEntry shows the decisions on a call of the record, and what is decided on it today.
func (g *globals) explainEntry(ctx context.Context, w io.Writer, a *app.App, id string) error {
	found, err := record.NewReader(app.RecordDirectory(a.Config())).Next(func(e *record.Entry) bool { return e.ID == id && e.What == record.Call })
	if len(found) == 0 {
		return cmp.Or(err, fmt.Errorf("the record has no call %s; toolserver log shows the calls it has, each with its ID", brief.Name(id)))
	}
	e := found[0]
	today := domain.Explanation{Reason: "there is no such tool any more"}
	catalog := a.Executor().Registry.Catalog()
	if tool, ok := a.Executor().Registry.Get(e.Tool); ok {
		if today, err = verdictOn(ctx, a, catalog, tool, argumentsOf(tool, &e)); err != nil {
			today = domain.Explanation{Reason: err.Error()}
		}
	}
	changes := []string{} // for each refusal
	for _, r := range e.Refused {
		changes = append(changes, smallestChange(r, &e, today.Path))
	}
	if g.json {
		return printJSON(w, map[string]any{"call": e, "changes": changes, "today": today})
	}
	fmt.Fprintln(w, domain.Visible(entryLine(&e)))
	for i, r := range e.Refused {
		fmt.Fprintf(w, "refused:  %s\nrule:     %s\nchange:   %s\n", domain.Visible(r.Reason), domain.Visible(by(r)), domain.Visible(changes[i]))
	}
	verdict := "denied"
	switch {
	case today.Allowed && today.Stopped != "":
		verdict = "allowed by its text; the sandbox will stop it"
	case today.Allowed:
		verdict = "allowed"
	}
	if before := len(e.Refused) == 0; before != (today.Allowed && today.Stopped == "") {
		verdict += ", other than then"
	}
	_, err = fmt.Fprintf(w, "today:    %s: %s\n", verdict, domain.Visible(cmp.Or(today.Stopped, today.Reason)))
	return err
}

// argumentsOf returns the arguments of a call, as far as the record has them.
func argumentsOf(tool *domain.Tool, e *record.Entry) domain.Arguments {
	args := domain.Arguments{}
	for _, p := range tool.Input.Params() {
		switch all := e.Target[p.Name]; {
		case len(all) == 0 && p.Default != nil:
			args[p.Name] = p.Default
		case len(all) == 0:
		case p.Type == "array":
			list := []any{}
			for _, v := range all {
				list = append(list, v)
			}
			args[p.Name] = list
		case p.Type == "string":
			args[p.Name] = all[0]
		}
	}
	return args
}

// namedIn is what a refusal names: a path, or the host of a connection.
var namedIn = lazyregexp.New(`(?:writes|reads|write|read|open|make|names|connection to|connects to) (/[^\s,;]+|[a-zA-Z0-9.-]+\.[a-z]+)|^(/[^\s,;]+) is |, so (/[^\s,;]+) is`)

// smallestChange says what of the configuration would allow what was refused.
func smallestChange(r domain.Refusal, e *record.Entry, resolved string) string {
	what := resolved
	for _, found := range namedIn().FindAllStringSubmatch(r.Reason, 1) {
		what = cmp.Or(found[1], found[2], found[3])
	}
	switch key := r.Rule[strings.LastIndexByte(r.Rule, '.')+1:]; key {
	case "":
		return "none: no setting opens this"
	case "allowed_paths":
		what = filepath.Dir(what)
	case "allowed_commands":
		words := strings.Fields(strings.Join(e.Target["command"], " "))
		what = strconv.Quote(strings.Join(words[:min(2, len(words))], " "))
	case "allowed_hosts", "private_hosts":
		if u, err := url.Parse(strings.Join(e.Target["url"], "")); err == nil {
			what = u.Host
		}
	case "unprotected":
		what = r.Entry
	case "network", "allow":
		return fmt.Sprintf("add %s to sandbox.network.allow", cmp.Or(what, "the host"))
	case "enabled":
		return r.Rule + ": true"
	case "hardlinks", "inline_code", "opaque_scripts":
		return r.Rule + ": allow"
	case "groups":
		return "put " + e.Principal + " in one of " + r.Rule
	default:
		if strings.HasPrefix(key, "denied_") {
			return "take " + cmp.Or(r.Entry, "the entry") + " out of " + r.Rule
		}
		if !strings.HasPrefix(key, "allowed_") {
			return "raise or change " + r.Rule
		}
	}
	return "add " + cmp.Or(what, "it") + " to " + r.Rule
}

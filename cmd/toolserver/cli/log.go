package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/cmd/toolserver/record"
	"github.com/toolserver/toolserver/cmd/toolserver/screen"
	"github.com/toolserver/toolserver/cmd/toolserver/top"
	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// logQuery selects entries of the record.
type logQuery struct {
	tool, principal, client, path, since string
	denied, follow                       bool
	last                                 int
	from                                 time.Time
}

// logCommand shows the record of what was done.
func logCommand(g *globals) *cobra.Command {
	var q logQuery
	cmd := command("log", nil, g.interruptible(func(ctx context.Context, _ []string) (err error) {
		if q.from, err = sinceWhen(q.since, time.Now()); err != nil {
			return usage(err)
		}
		if q.path != "" {
			if q.path, err = filepath.Abs(q.path); err != nil {
				return err
			}
		}
		return g.showRecord(ctx, q)
	}))
	f := cmd.Flags()
	f.BoolVarP(&q.follow, "follow", "f", false, "go on until the command is interrupted")
	f.BoolVar(&q.denied, "denied", false, "only what policy refused, as a whole or in part")
	f.StringVar(&q.tool, "tool", "", "only calls of tools with this name, or of a pattern such as 'gmail_*'")
	f.StringVar(&q.principal, "principal", "", "only what this principal did, such as ann or token:ann")
	f.StringVar(&q.client, "client", "", "only what clients did with this in their name or version")
	f.StringVar(&q.path, "path", "", "only calls about this file or what is below this directory")
	f.StringVar(&q.since, "since", "", "only what happened since then: 90m, 2d, 2026-11-28, 2026-11-28T10:00:00Z")
	f.IntVarP(&q.last, "last", "n", 100, "how many entries; 0 for all")
	cmd.AddCommand(command("compare FILE", nil, g.interruptible(func(ctx context.Context, files []string) error {
		return g.with(func(a *app.App) error { return compare(ctx, g, a, files[0]) })
	})))
	cmd.AddCommand(command("explain ID", nil, func(cmd *cobra.Command, ids []string) error {
		return g.with(func(a *app.App) error { return g.explainEntry(cmd.Context(), g.std.Out, a, ids[0]) })
	}))
	return cmd
}

// topCommand shows what the servers of this user do now.
func topCommand(g *globals) *cobra.Command {
	return command("top", nil, g.interruptible(func(ctx context.Context, _ []string) error {
		cfg, err := g.load()
		if err != nil {
			return usage(err)
		}
		t := top.New(app.LiveDirectory(cfg), app.RecordDirectory(cfg))
		in, _ := g.std.In.(*os.File)
		out, _ := g.std.Out.(*os.File)
		if _, _, ok := screen.Size(in); ok && !g.json {
			if _, _, ok := screen.Size(out); ok {
				return t.Watch(ctx, in, out)
			}
		}
		all, err := t.Servers(ctx)
		switch {
		case err != nil:
			return err
		case g.json:
			return printJSON(g.std.Out, all)
		}
		_, err = fmt.Fprintln(g.std.Out, strings.Join(t.Lines(all, time.Now()), "\n"))
		return err
	}))
}

// sinceWhen reads a time, or a duration before now; none is the beginning of all times.
func sinceWhen(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if days, err := strconv.Atoi(strings.TrimSuffix(text, "d")); err == nil {
		return now.AddDate(0, 0, -days), nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("--since %q is neither a duration such as 90m or 2d nor a time such as 2026-11-28 or 2026-11-28T10:00:00Z", text)
}

func (q *logQuery) matches(e *record.Entry) bool {
	named := func(tool string) bool { ok, _ := path.Match(q.tool, tool); return ok || tool == q.tool }
	_, subject, _ := strings.Cut(e.Principal, ":")
	return !e.Time.Before(q.from) &&
		(!q.denied || len(e.Refused) > 0) &&
		(q.tool == "" || e.Tool != "" && (named(e.Tool) || e.ServerTool != "" && named(e.ServerTool))) &&
		(q.principal == "" || e.Principal == q.principal || subject == q.principal) &&
		(q.client == "" || strings.Contains(strings.ToLower(e.Client), strings.ToLower(q.client))) &&
		(q.path == "" || touches(e, q.path))
}

// aboutPaths are the arguments and results that are paths.
var aboutPaths = [...]string{"path", "source", "destination", "directory", "working_dir", "attachments"}

// touches reports whether a call is about a path or what is below it, as far as its arguments, the text of a
// command and refusals name it.
func touches(e *record.Entry, dir string) bool {
	for _, name := range aboutPaths {
		for _, p := range slices.Concat(e.Target[name], e.Made[name]) {
			if !filepath.IsAbs(p) {
				p = filepath.Join(e.Directory, p)
			}
			if pathguard.Within(dir, filepath.Clean(p)) {
				return true
			}
		}
	}
	return slices.ContainsFunc(e.Target["command"], func(c string) bool { return strings.Contains(c, dir) }) ||
		slices.ContainsFunc(e.Refused, func(r domain.Refusal) bool { return strings.Contains(r.Reason, dir) })
}

// followPause is how often a record is looked at.
const followPause = 200 * time.Millisecond

func (g *globals) showRecord(ctx context.Context, q logQuery) error {
	cfg, err := g.load()
	if err != nil {
		return usage(err)
	}
	r, out := record.NewReader(app.RecordDirectory(cfg)), g.std.Out
	for first := true; ; first = false {
		entries, err := r.Next(q.matches)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the record cannot be read: %w", err)
		}
		if first && q.last > 0 {
			entries = entries[max(0, len(entries)-q.last):]
		}
		for _, e := range entries {
			if g.json {
				err = json.NewEncoder(out).Encode(e)
			} else {
				_, err = fmt.Fprintln(out, call.Visible(entryLine(&e)))
			}
			if err != nil {
				return err
			}
		}
		if !q.follow {
			if len(entries) == 0 {
				fmt.Fprintln(g.std.Err, "The record has no such entry.")
			}
			return nil
		}
		select {
		case <-time.After(followPause):
		case <-ctx.Done():
			return nil
		}
	}
}

// entryLine returns an entry as a person reads it.
func entryLine(e *record.Entry) string {
	words := []string{e.Time.Local().Format("2006-01-02 15:04:05.000")}
	switch {
	case e.What == record.Start:
		words = append(words, e.What, e.Version, e.Directory, e.Config)
	case e.Tool == "":
		words = append(words, e.What, e.Server, e.Protocol, e.Address, e.Reason, e.Error)
	default:
		words = append(words, e.ID, e.Tool)
		for _, values := range []map[string][]string{e.Target, e.Made} {
			for _, name := range slices.Sorted(maps.Keys(values)) {
				words = append(words, name+"="+strings.Join(values[name], ","))
			}
		}
		words = append(words, e.Outcome, e.ErrorType, strconv.FormatFloat(e.Took, 'f', 1, 64)+"ms")
	}
	for _, r := range e.Refused {
		words = append(words, "[refused: "+r.Reason+"; "+by(r)+"]")
	}
	words = append(words, e.Principal, e.Session, e.Client)
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// by names the rule of a refusal, and where it stands.
func by(r domain.Refusal) string {
	switch {
	case r.Rule == "":
		return "no setting opens it"
	case r.Line == "":
		return r.Rule + " (default)"
	}
	return r.Rule + " (" + r.Line + ")"
}

// explainEntry shows the decisions on a call of the record, and what is decided on it today.
func (g *globals) explainEntry(ctx context.Context, w io.Writer, a *app.App, id string) error {
	found, err := record.NewReader(app.RecordDirectory(a.Config())).Next(func(e *record.Entry) bool { return e.ID == id && e.What == record.Call })
	if len(found) == 0 {
		return cmp.Or(err, fmt.Errorf("the record has no call %s; toolserver log shows the calls it has, each with its ID", brief.Name(id)))
	}
	e := found[0]
	today := domain.Explanation{Reason: "there is no such tool any more"}
	catalog := a.Executor().Registry.Catalog()
	elsewhere := e.Principal != a.User().ID && len(a.Config().Profiles) > 0
	if tool, ok := a.Executor().Registry.Get(e.Tool); elsewhere {
		today.Reason = fmt.Sprintf("toolserver explain --as '%s', with their --groups, says what is decided on it in their profile", e.Principal)
	} else if ok {
		if today, err = verdictOn(ctx, a, catalog, tool, argumentsOf(tool, &e)); err != nil {
			today = domain.Explanation{Reason: err.Error()}
		}
	}
	changes := []string{} // for each refusal
	for _, r := range e.Refused {
		changes = append(changes, smallestChange(r, &e, today.Path))
	}
	if g.json {
		return printJSON(w, map[string]any{"call": e, "changes": changes, "today": today, "undecided": elsewhere})
	}
	fmt.Fprintln(w, call.Visible(entryLine(&e)))
	for i, r := range e.Refused {
		fmt.Fprintf(w, "refused:  %s\nrule:     %s\nchange:   %s\n", call.Visible(r.Reason), call.Visible(by(r)), call.Visible(changes[i]))
	}
	verdict := "denied"
	switch {
	case elsewhere:
		_, err = fmt.Fprintf(w, "today:    %s\n", call.Visible(today.Reason))
		return err
	case today.Allowed && today.Stopped != "":
		verdict = "allowed by its text; the sandbox will stop it"
	case today.Allowed:
		verdict = "allowed"
	}
	if before := len(e.Refused) == 0; before != (today.Allowed && today.Stopped == "") {
		verdict += ", other than then"
	}
	_, err = fmt.Fprintf(w, "today:    %s: %s\n", verdict, call.Visible(cmp.Or(today.Stopped, today.Reason)))
	return err
}

// comparedCalls is how many calls two configurations are compared on.
const comparedCalls = 1000

// differing is a call that two configurations decide differently.
type differing struct {
	Call record.Entry       `json:"call"`
	Now  domain.Explanation `json:"now"`
	Then domain.Explanation `json:"then"`
}

// compare shows which of the last calls another configuration would decide differently.
func compare(ctx context.Context, g *globals, a *app.App, file string) error {
	cfg, err := config.Load(config.Overrides{File: file, Directories: g.dirs})
	if err != nil {
		return usage(err)
	}
	other, err := app.New(g.program, cfg, zap.NewNop())
	if err != nil {
		return usage(err)
	}
	defer other.Close()
	entries, err := record.NewReader(app.RecordDirectory(a.Config())).Next(func(e *record.Entry) bool { return e.What == record.Call })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	entries = entries[max(0, len(entries)-comparedCalls):]
	decided, differs := map[string][2]domain.Explanation{}, []differing{} // many calls are alike
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		target, _ := json.Marshal(e.Target) // strings
		key := e.Tool + string(target)
		both, ok := decided[key]
		if !ok {
			both = [2]domain.Explanation{wouldDecide(ctx, a, &e), wouldDecide(ctx, other, &e)}
			decided[key] = both
		}
		if now, then := both[0], both[1]; (now.Allowed && now.Stopped == "") != (then.Allowed && then.Stopped == "") {
			differs = append(differs, differing{e, now, then})
		}
	}
	if g.json {
		return printJSON(g.std.Out, map[string]any{"calls": len(entries), "differs": differs})
	}
	for _, d := range differs {
		word := map[bool]string{true: "allowed there", false: "denied there"}[d.Then.Allowed && d.Then.Stopped == ""]
		fmt.Fprintf(g.std.Out, "%s: %s: %s\n", word, call.Visible(entryLine(&d.Call)), call.Visible(cmp.Or(d.Then.Stopped, d.Then.Reason)))
	}
	_, err = fmt.Fprintf(g.std.Out, "%d of %s would be decided differently.\n", len(differs), counted(len(entries), "call"))
	return err
}

// wouldDecide says what would be decided on a call of the record if the user made it.
func wouldDecide(ctx context.Context, a *app.App, e *record.Entry) domain.Explanation {
	tool, ok := a.Executor().Registry.Get(e.Tool)
	if !ok {
		return domain.Explanation{Reason: "there is no such tool"}
	}
	verdict, err := verdictOn(ctx, a, a.Executor().Registry.Catalog(), tool, argumentsOf(tool, e))
	if err != nil {
		return domain.Explanation{Reason: err.Error()}
	}
	return verdict
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
var namedIn = lazyregexp.New(`(?:writes|reads|write|read|open|make|names|connection to|connects to) (/[^\s,;]+|[a-zA-Z0-9.-]+\.[a-z]+)` +
	`|^(/[^\s,;]+) is |, so (/[^\s,;]+) is`)

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

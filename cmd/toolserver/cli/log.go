package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/cmd/toolserver/record"
	"github.com/toolserver/toolserver/domain"
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
	cmd := &cobra.Command{
		Use: "log", Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if q.from, err = sinceWhen(q.since, time.Now()); err != nil {
				return usage(err)
			}
			if q.path != "" {
				if q.path, err = filepath.Abs(q.path); err != nil {
					return err
				}
			}
			return g.showRecord(cmd, q)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&q.follow, "follow", "f", false, "go on until the command is interrupted")
	f.BoolVar(&q.denied, "denied", false, "only what policy refused, as a whole or in part")
	f.StringVar(&q.tool, "tool", "", "only calls of tools with this name, or of a pattern such as 'gmail_*'")
	f.StringVar(&q.principal, "principal", "", "only what this principal did, such as ann or token:ann")
	f.StringVar(&q.client, "client", "", "only what clients did with this in their name or version")
	f.StringVar(&q.path, "path", "", "only calls about this file or what is below this directory")
	f.StringVar(&q.since, "since", "", "only what happened since then: 90m, 2d, 2026-11-28, 2026-11-28T10:00:00Z")
	f.IntVarP(&q.last, "last", "n", 100, "how many entries; 0 for all")
	cmd.AddCommand(&cobra.Command{
		Use: "explain ID", Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			return g.with(func(a *app.App) error { return g.explainEntry(cmd.Context(), cmd.OutOrStdout(), a, ids[0]) })
		},
	})
	return cmd
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

func (g *globals) showRecord(cmd *cobra.Command, q logQuery) error {
	cfg, err := g.load(g.dirs)
	if err != nil {
		return usage(err)
	}
	ctx, stop := g.interruptible(cmd.Context())
	defer stop()
	r, out := record.NewReader(app.RecordDirectory(cfg)), cmd.OutOrStdout()
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
				_, err = fmt.Fprintln(out, domain.Visible(entryLine(&e)))
			}
			if err != nil {
				return err
			}
		}
		if !q.follow {
			if len(entries) == 0 {
				fmt.Fprintln(cmd.ErrOrStderr(), "The record has no such entry.")
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

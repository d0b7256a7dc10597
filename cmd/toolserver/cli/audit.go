package cli

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolserver/toolserver/audit"
	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/domain/call"
	counts "github.com/toolserver/toolserver/usage"
)

// auditCommand reads audits, and makes their keys.
func auditCommand(g *globals) *cobra.Command {
	return group("audit", auditKey(g), auditVerify(g), auditShow(g), auditExport(g))
}

func auditKey(g *globals) *cobra.Command {
	return command("key [FILE]", nil, func(_ *cobra.Command, args []string) error {
		file := ""
		if len(args) > 0 {
			file = args[0]
		} else if cfg, err := g.load(); err != nil {
			return usage(err)
		} else if file = cfg.Audit.Key; file == "" {
			return usage(errors.New("audit.key_file is not configured; name the file of a key to be made"))
		}
		text, err := os.ReadFile(file)
		made := errors.Is(err, os.ErrNotExist)
		if made {
			host, _ := os.Hostname()
			private, _, failed := audit.NewKey("toolserver-" + strings.ToLower(strings.ReplaceAll(host, " ", "-")))
			if failed != nil {
				return failed
			}
			text = []byte(private + "\n")
			f, failed := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			if failed != nil {
				return failed
			}
			_, err = f.Write(text)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return err
		}
		public, err := audit.PublicKey(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if g.json {
			return printJSON(g.std.Out, map[string]any{"file": file, "made": made, "public": public})
		}
		if made {
			fmt.Fprintf(g.std.Err, "made %s; keep it from who could want to change the audit, and what follows elsewhere: it verifies\n", file)
		}
		_, err = fmt.Fprintln(g.std.Out, public)
		return err
	})
}

// auditFiles returns the files that are named, or those of the configuration.
func auditFiles(g *globals, named []string) ([]string, error) {
	if len(named) > 0 {
		return named, nil
	}
	cfg, err := g.load()
	if err != nil {
		return nil, usage(err)
	}
	if cfg.Audit.File == "" {
		return nil, usage(errors.New("there is no audit: set audit.file in the configuration, or name the files of one"))
	}
	return audit.Files(cfg.Audit.File)
}

func auditVerify(g *globals) *cobra.Command {
	var key string
	var known []string
	cmd := command("verify [FILE...]", nil, func(_ *cobra.Command, args []string) error {
		files, err := auditFiles(g, args)
		if err != nil {
			return err
		}
		if text, err := os.ReadFile(key); err == nil { // a file has it
			key = string(text)
		}
		if key == "" && len(args) == 0 {
			cfg, err := g.load()
			if err != nil {
				return usage(err)
			}
			if key, err = publicKeyOf(cfg); err != nil {
				return fmt.Errorf("%w; --key takes the public key", err)
			}
		}
		var notes []string
		for _, file := range known {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			notes = append(notes, string(text))
		}
		v, err := audit.Verify(files, key, notes)
		if g.json {
			said := map[string]any{"intact": err == nil, "verified": v}
			if err != nil {
				said["fault"] = err.Error()
			}
			if failed := printJSON(g.std.Out, said); failed != nil || err == nil {
				return failed
			}
			return &exitError{exitFailed, nil}
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(g.std.Out, "%d entries, %d to %d, head %s\n", v.Entries, v.First, v.Last, v.Head)
		switch {
		case key == "":
			fmt.Fprintln(g.std.Out, "checkpoints were not verified: there is no key (--key)")
		case v.Signed == 0:
			fmt.Fprintln(g.std.Out, "no entry is signed")
		default:
			fmt.Fprintf(g.std.Out, "signed up to entry %d, at %s; %d entries after that could have been cut off or changed\n",
				v.Signed, v.SignedAt, max(0, v.Last-v.Signed-1))
		}
		for _, said := range []struct {
			n    int
			what string
		}{{v.Interrupted, "entries were cut off by a crash"}, {v.Dropped, "entries could not be written"}} {
			if said.n > 0 {
				fmt.Fprintln(g.std.Out, said.n, said.what)
			}
		}
		if !v.Ended {
			fmt.Fprintln(g.std.Out, "the record has not ended: a server writes to it, or was killed, or its end was cut off")
		}
		return nil
	})
	cmd.Flags().StringVar(&key, "key", "", "key that verifies checkpoints, or a file that has it")
	cmd.Flags().StringArrayVar(&known, "checkpoint", nil, "file with a checkpoint that was kept elsewhere")
	return cmd
}

// publicKeyOf returns the public key of the audit of a configuration; empty if it has none.
func publicKeyOf(cfg *config.Loaded) (public string, err error) {
	if cfg.Audit.Key == "" {
		return "", nil
	}
	text, err := os.ReadFile(cfg.Audit.Key)
	if err == nil {
		public, err = audit.PublicKey(string(text))
	}
	if err != nil {
		err = cfg.Mistake("audit.key_file", "%v; toolserver audit key makes one", err)
	}
	return public, err
}

// entries calls do for each entry of files that a query matches, in their order, with its line.
func entries(files []string, q *auditQuery, do func(e *audit.Entry, line []byte) error) error {
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		in := bufio.NewReaderSize(f, 256<<10)
		var failed error
		for err == nil && failed == nil {
			var line []byte
			var e audit.Entry
			if line, err = in.ReadBytes('\n'); json.Unmarshal(line, &e) == nil && q.matches(&e) {
				failed = do(&e, line)
			}
		}
		if f.Close(); failed != nil || err != io.EOF {
			return cmp.Or(failed, err)
		}
	}
	return nil
}

// auditQuery is which entries are shown.
type auditQuery struct {
	principal, name, since string
	types                  []string
	from                   time.Time
}

func (q *auditQuery) flags(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&q.principal, "principal", "", "only what this principal did, by ID or subject")
	cmd.Flags().StringVar(&q.name, "tool", "", "only calls of this tool")
	cmd.Flags().StringSliceVar(&q.types, "type", nil, "only entries of these types, such as call.end, auth.fail")
	cmd.Flags().StringVar(&q.since, "since", "", "only what happened since then: 90m, 2d, 2026-11-28, 2026-11-28T10:00:00Z")
	return cmd
}

func (q *auditQuery) matches(e *audit.Entry) bool {
	at, _ := time.Parse(time.RFC3339Nano, e.Time)
	return isPrincipal(e.Principal, q.principal) && (q.name == "" || e.Name == q.name) &&
		(q.types == nil || slices.Contains(q.types, e.Type)) && !at.Before(q.from)
}

// isPrincipal reports whether an ID is that of a principal that is named by ID or subject; an empty name is of all.
func isPrincipal(id, name string) bool {
	return name == "" || id == name || strings.HasSuffix(id, "#"+name) || strings.HasSuffix(id, ":"+name)
}

func (q *auditQuery) command(g *globals, use string, do func(files []string) error) *cobra.Command {
	return q.flags(command(use, nil, func(_ *cobra.Command, args []string) (err error) {
		if q.from, err = sinceWhen(q.since, time.Now()); err != nil {
			return usage(err)
		}
		files, err := auditFiles(g, args)
		if err != nil {
			return err
		}
		return do(files)
	}))
}

func auditShow(g *globals) *cobra.Command {
	q := &auditQuery{}
	return q.command(g, "show [FILE...]", func(files []string) error {
		return entries(files, q, func(e *audit.Entry, line []byte) error {
			if g.json {
				_, err := g.std.Out.Write(line)
				return err
			}
			words := []string{e.Time, e.Type, e.Principal, e.Name, e.Outcome, e.Error, strings.Join(e.Rules, ","), e.Address, e.Detail}
			for key, values := range e.Target {
				words = append(words, key+"="+strings.Join(values, ","))
			}
			_, err := fmt.Fprintln(g.std.Out, call.Visible(strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), "  ")))
			return err
		})
	})
}

func auditExport(g *globals) *cobra.Command {
	q := &auditQuery{}
	format := "ocsf"
	cmd := q.command(g, "export [FILE...]", func(files []string) error {
		if format != "ocsf" {
			return usage(fmt.Errorf("--format %q is not ocsf", format))
		}
		return entries(files, q, func(e *audit.Entry, line []byte) error {
			b, err := e.OCSF(g.program.Version, line)
			if err == nil && b != nil {
				_, err = g.std.Out.Write(append(b, '\n'))
			}
			return err
		})
	})
	cmd.Flags().StringVar(&format, "format", format, "ocsf: API activity and authentication of OCSF 1.7, a line each")
	completes(cmd, "format", "ocsf")
	return cmd
}

// usageCommand reports what principals have used.
func usageCommand(g *globals) *cobra.Command {
	var since, by, principal string
	cmd := command("usage", nil, func(*cobra.Command, []string) error {
		from, err := sinceWhen(since, time.Now())
		if err == nil && by != "principal" && by != "tool" && by != "both" {
			err = fmt.Errorf("--by %q is neither principal, tool nor both", by)
		}
		if err != nil {
			return usage(err)
		}
		cfg, err := g.load()
		if err != nil {
			return usage(err)
		}
		used, err := counts.Read(app.UsageDirectory(cfg), from.UTC().Format(time.DateOnly))
		if err != nil {
			return err
		}
		sums := map[counts.Key]counts.Count{}
		for key, n := range used {
			if !isPrincipal(key.Principal, principal) {
				continue
			}
			switch by {
			case "principal":
				key.Tool = ""
			case "tool":
				key.Principal = ""
			}
			sum := sums[key]
			sum.Add(n)
			sums[key] = sum
		}
		keys := slices.SortedFunc(maps.Keys(sums), func(a, b counts.Key) int {
			return cmp.Or(cmp.Compare(sums[b].Calls, sums[a].Calls), strings.Compare(a.Principal, b.Principal), strings.Compare(a.Tool, b.Tool))
		})
		if g.json {
			type row struct {
				Principal string `json:"principal,omitempty"`
				Tool      string `json:"tool,omitempty"`
				counts.Count
			}
			rows := []row{}
			for _, key := range keys {
				rows = append(rows, row{key.Principal, key.Tool, sums[key]})
			}
			return printJSON(g.std.Out, map[string]any{"usage": rows})
		}
		w := tabwriter.NewWriter(g.std.Out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "CALLS\tFAILED\tUNITS\tSECONDS\tIN\tOUT\tPRINCIPAL\tTOOL")
		for _, key := range keys {
			n := sums[key]
			fmt.Fprintf(w, "%d\t%d\t%d\t%.1f\t%d\t%d\t%s\t%s\n", n.Calls, n.Failed, n.Units, float64(n.Millis)/1000, n.In, n.Out,
				call.Visible(cmp.Or(key.Principal, "all")), call.Visible(cmp.Or(key.Tool, "all")))
		}
		return w.Flush()
	})
	cmd.Flags().StringVar(&since, "since", "1d", "days that count, to the day in UTC: 7d, 2026-11-01")
	cmd.Flags().StringVar(&by, "by", "both", "a line for each principal, tool, or both")
	cmd.Flags().StringVar(&principal, "principal", "", "only this principal, by ID or subject")
	completes(cmd, "by", "principal", "tool", "both")
	return cmd
}

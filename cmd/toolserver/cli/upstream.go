package cli

import (
	"bufio"
	"cmp"
	"context"
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
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/cmd/toolserver/screen"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/tools/discovery"
	"github.com/toolserver/toolserver/upstream"
)

// upstreamCommand is about the MCP servers whose tools this one offers.
func upstreamCommand(g *globals) *cobra.Command {
	cmd := group("upstream", upstreamList(g), upstreamPing(g), upstreamTools(g), upstreamLogs(g), upstreamApprove(g), upstreamAdd(g),
		upstreamRemove(g), upstreamLogin(g), upstreamLogout(g))
	cmd.Aliases = []string{"upstreams"}
	return cmd
}

// overall bounds how long a command waits for all servers, unless it is told another time.
const overall = time.Minute

// sayWaiting says for which servers a command waits until what it returns is called: on a terminal all the time, else once, after a while.
func (g *globals) sayWaiting(a *app.App) (stop func()) {
	waiting := func() (names, reasons []string, all int) {
		for _, r := range a.Servers.Reports(a.User()) {
			if all++; r.Status == upstream.StatusStarting {
				names = append(names, r.Name)
				reasons = append(reasons, fmt.Sprintf("waiting for %s: %s\n", r.Name, call.Visible(cmp.Or(r.Reason, "it has not answered yet"))))
			}
		}
		return names, reasons, all
	}
	if bar := g.bar(func() call.Progress {
		names, _, all := waiting()
		p := call.Progress{Done: float64(all - len(names)), Total: float64(all)}
		if p.Message = fmt.Sprintf("%.0f of %d servers", p.Done, all); len(names) > 0 {
			p.Message += "; waiting for " + strings.Join(names, ", ")
		}
		return p
	}); bar != nil {
		return bar.Stop
	}
	timer := time.AfterFunc(3*time.Second, func() {
		_, reasons, _ := waiting()
		fmt.Fprint(g.std.Err, strings.Join(reasons, ""))
	})
	return func() { timer.Stop() }
}

// bar shows on a terminal how far work has got, unless the result is for a program.
func (g *globals) bar(look func() call.Progress) *screen.Bar {
	if g.json {
		return nil
	}
	return screen.NewBar(g.std.Err, look)
}

// servers returns the enabled servers that are named, or all.
func servers(a *app.App, names []string) (chosen []*upstream.Server, err error) {
	all := a.Servers.All()
	if len(names) == 0 {
		return all, nil
	}
	for _, name := range names {
		i := slices.IndexFunc(all, func(s *upstream.Server) bool { return s.Server() == name })
		if i < 0 {
			return nil, usage(noServer(a, name))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// noServer says why there is no server of that name to use.
func noServer(a *app.App, name string) error {
	if _, ok := a.Config().Servers[name]; ok {
		return fmt.Errorf("mcp_servers.%s is not enabled; remove enabled: false to use it", name)
	}
	known := strings.Join(slices.Sorted(maps.Keys(a.Config().Servers)), ", ")
	return fmt.Errorf("there is no server %q in mcp_servers of the configuration; known: %s", brief.Name(name), cmp.Or(known, "none"))
}

// reports returns the reports on servers, with what of them is left out.
func reports(a *app.App, waited time.Duration) []app.Listed {
	all := a.Servers.Listed(a.User())
	for i, r := range all {
		if at := slices.IndexFunc(a.Servers.All(), func(s *upstream.Server) bool { return s.Server() == r.Name }); at >= 0 {
			all[i].Reason = app.Why(&r.Report, min(waited, a.Servers.All()[at].Timeout()))
		}
	}
	return all
}

func upstreamList(g *globals) *cobra.Command {
	limit := overall
	cmd := command("list", nil, g.aboutServers(func(ctx context.Context, a *app.App, servers []*upstream.Server) error {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		stop := g.sayWaiting(a)
		a.Servers.Start(ctx, servers)
		stop()
		all := reports(a, limit)
		if g.json {
			return printJSON(g.std.Out, append([]app.Listed{}, all...))
		}
		return printServers(g.std.Out, all)
	}))
	cmd.Flags().DurationVar(&limit, "timeout", limit, "how long to wait for all servers")
	return cmd
}

func printServers(w io.Writer, all []app.Listed) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "No servers are configured; toolserver upstream add NAME -- COMMAND adds one.")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SERVER\tTRANSPORT\tSTATUS\tPROTOCOL\tVERSION\tTOOLS\tRESOURCES\tPROMPTS")
	for _, l := range all {
		info := l.Info()
		counts := fmt.Sprintf("%d\t%d\t%d", l.Tools, l.Resources, l.Prompts)
		if l.Protocol == "" {
			counts = "-\t-\t-"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", l.Name, l.Transport, l.Status, cmp.Or(l.Protocol, "-"),
			cmp.Or(strings.TrimSpace(call.Visible(info.Name+" "+info.Version)), "-"), counts)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, l := range all {
		for _, text := range slices.Concat([]string{l.Reason}, l.Problems) {
			if text != "" {
				fmt.Fprintf(w, "%s: %s\n", l.Name, call.Visible(text))
			}
		}
		for _, repaired := range l.Repaired {
			fmt.Fprintf(w, "%s: repaired %s\n", l.Name, call.Visible(repaired))
		}
		printLeft(w, l.Left)
	}
	return nil
}

// printLeft says what of a server is left out, and why.
func printLeft(w io.Writer, left []domain.Missing) {
	for _, m := range domain.Joined(left) {
		fmt.Fprintf(w, "%s %s %s\n", m.Kind, call.Visible(m.Name), call.Visible(m.Reason))
	}
}

// aboutServers returns what runs a command about the servers that its arguments name, or all.
func (g *globals) aboutServers(run func(context.Context, *app.App, []*upstream.Server) error) func(*cobra.Command, []string) error {
	return g.interruptible(func(ctx context.Context, names []string) error {
		return g.withServers(names, func(a *app.App, chosen []*upstream.Server) error { return run(ctx, a, chosen) })
	})
}

// withServers calls do with the servers of these names, or all.
func (g *globals) withServers(names []string, do func(*app.App, []*upstream.Server) error) error {
	return g.with(func(a *app.App) error {
		g.sayUnused(a.Config())
		chosen, err := servers(a, names)
		if err != nil {
			return err
		}
		return do(a, chosen)
	})
}

func upstreamPing(g *globals) *cobra.Command {
	return command("ping NAME...", g.completeServer, g.aboutServers(func(ctx context.Context, a *app.App, chosen []*upstream.Server) error {
		return ping(ctx, g.std.Out, a, chosen, g.json)
	}))
}

// pinged is what came of connecting to a server.
type pinged struct {
	Server    string  `json:"server"`
	OK        bool    `json:"ok"`
	Protocol  string  `json:"protocol,omitempty"`
	Ready     float64 `json:"ready_ms,omitempty"`
	RoundTrip float64 `json:"round_trip_ms,omitempty"`
	Error     string  `json:"error,omitempty"`
}

// ping prints a line about each server, in their order. The error is for the exit code.
func ping(ctx context.Context, w io.Writer, a *app.App, chosen []*upstream.Server, asJSON bool) error {
	results := make([]chan pinged, len(chosen))
	began := time.Now()
	a.Servers.Attach(chosen, true)
	one := func(s *upstream.Server) pinged {
		s.Settle(ctx, a.User().ID)
		ready := time.Since(began)
		r := s.ReportFor(a.User().ID)
		if r.Status != upstream.StatusReady {
			return pinged{Server: s.Server(), Error: app.Why(&r, s.Timeout())}
		}
		took, err := s.Ping(ctx, a.User().ID)
		if err != nil {
			return pinged{Server: s.Server(), Error: err.Error()}
		}
		return pinged{s.Server(), true, r.Protocol, milliseconds(ready), milliseconds(took), ""}
	}
	for i, s := range chosen {
		results[i] = make(chan pinged, 1)
		go func() { results[i] <- one(s) }()
	}
	all, failed := []pinged{}, false
	for _, result := range results {
		p := <-result
		all, failed = append(all, p), failed || !p.OK
		switch {
		case asJSON:
		case p.OK:
			fmt.Fprintf(w, "%s ok: protocol %s, ready after %.0fms, round trip %.2fms\n", p.Server, p.Protocol, p.Ready, p.RoundTrip)
		default:
			fmt.Fprintf(w, "%s failed: %s\n", p.Server, call.Visible(p.Error))
		}
	}
	if asJSON {
		return cmp.Or(printJSON(w, all), exitIf(failed))
	}
	return exitIf(failed)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// serverTool is a tool in upstream tools.
type serverTool struct {
	Name     string `json:"name"` // that clients see
	Tool     string `json:"tool"` // the server's own
	Title    string `json:"title,omitempty"`
	Does     string `json:"description"`
	Disabled bool   `json:"disabled,omitempty"`
}

func upstreamTools(g *globals) *cobra.Command {
	return command("tools NAME", g.completeServer, g.aboutServers(func(ctx context.Context, a *app.App, chosen []*upstream.Server) error {
		a.Servers.Start(ctx, chosen)
		return printServerTools(g.std.Out, a, chosen[0], g.json)
	}))
}

func printServerTools(out io.Writer, a *app.App, s *upstream.Server, asJSON bool) error {
	all := reports(a, s.Timeout())
	l := all[slices.IndexFunc(all, func(l app.Listed) bool { return l.Name == s.Server() })]
	tools := []serverTool{}
	for _, t := range a.Executor().Registry.Catalog().Tools() {
		if t.Origin.Server == s.Server() {
			tools = append(tools, serverTool{t.Name, t.Origin.Tool, t.Title, t.Description, t.Disabled})
		}
	}
	var failed error
	if l.Status != upstream.StatusReady {
		failed = &exitError{exitFailed, errors.New("server " + l.Name + " is unavailable: " + call.Visible(l.Reason))}
	}
	if asJSON {
		return cmp.Or(printJSON(out, struct {
			app.Listed
			Tools []serverTool `json:"tools"`
		}{l, tools}), failed)
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "TOOL\tSERVER'S NAME\tWHAT IT DOES")
	for _, tool := range tools {
		does := call.Visible(discovery.Summary(cmp.Or(tool.Title, tool.Does)))
		if tool.Disabled {
			does += " (disabled in the configuration)"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", tool.Name, call.Visible(brief.Name(tool.Tool)), does)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	printLeft(out, l.Left)
	return failed
}

func upstreamLogs(g *globals) *cobra.Command {
	var follow bool
	cmd := command("logs NAME", g.completeServer, g.interruptible(func(ctx context.Context, names []string) error {
		shown := logLines{g.std.Out, names[0], g.json}
		encoder := zapcore.NewJSONEncoder(zapcore.EncoderConfig{MessageKey: "msg"})
		log := zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(shown)), zapcore.InfoLevel)
		return g.withLog(zap.New(log), func(a *app.App) error {
			g.sayUnused(a.Config())
			chosen, err := servers(a, names)
			if err != nil {
				return err
			}
			if file := a.Config().Logging.File; file != "" {
				return showLog(ctx, shown, file, follow)
			}
			return logsNow(ctx, g.std.Err, a, chosen, follow)
		})
	}))
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the command is interrupted")
	return cmd
}

// logsNow connects to a server and shows what it writes meanwhile, or until ctx ends.
func logsNow(ctx context.Context, stderr io.Writer, a *app.App, chosen []*upstream.Server, follow bool) error {
	fmt.Fprintln(stderr, "logging.file is not configured, so nothing is kept; connecting now:")
	a.Servers.Start(ctx, chosen)
	if follow {
		<-ctx.Done()
	}
	r := chosen[0].Report()
	switch {
	case r.Status == upstream.StatusReady:
		fmt.Fprintf(stderr, "server %s is ready\n", r.Name)
	case ctx.Err() == nil:
		return errors.New("server " + r.Name + " is unavailable: " + call.Visible(app.Why(&r, chosen[0].Timeout())))
	}
	return nil
}

// logLines shows lines about a server: as they are, or each as a JSON object.
type logLines struct {
	to     io.Writer
	server string
	json   bool
}

func (l logLines) print(line string) error {
	if l.json {
		return json.NewEncoder(l.to).Encode(map[string]string{"server": l.server, "line": line})
	}
	_, err := fmt.Fprintln(l.to, call.Visible(line))
	return err
}

// Write shows what the program of a server wrote to standard error, of an entry of the log.
func (l logLines) Write(entry []byte) (int, error) {
	var fields map[string]any
	if err := json.Unmarshal(entry, &fields); err != nil {
		return 0, err
	}
	if line, ok := fields[upstream.StderrKey].(string); ok && fields["msg"] == upstream.StderrMessage {
		return len(entry), l.print(line)
	}
	return len(entry), nil
}

// Bounds of what is shown of a log.
const (
	maxLogLines = 1000    // the last ones
	maxLogLine  = 1 << 20 // bytes
	logPause    = 500 * time.Millisecond
)

// showLog shows the last entries of a log about a server, and if it follows, those to come
// until ctx ends.
func showLog(ctx context.Context, out logLines, file string, follow bool) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("logging.file: %w", err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	var last []string
	rest := ""
	for shown := false; ; {
		line, err := in.ReadString('\n')
		rest = (rest + line)[:min(len(rest)+len(line), maxLogLine)]
		if err == nil {
			if about(rest, out.server) {
				if last = append(last, strings.TrimSuffix(rest, "\n")); !shown {
					last = last[max(0, len(last)-maxLogLines):]
				}
			}
			rest = ""
			continue
		}
		if !errors.Is(err, io.EOF) {
			return err
		}
		for _, line := range last {
			if err := out.print(strings.ReplaceAll(line, "\t", " ")); err != nil {
				return err
			}
		}
		if last, shown = nil, true; !follow {
			return nil
		}
		select {
		case <-time.After(logPause):
		case <-ctx.Done():
			return nil
		}
	}
}

// about reports whether an entry of a log, in either format, is about a server.
func about(line, server string) bool {
	i := strings.IndexByte(line, '{')
	if i < 0 {
		return false
	}
	var fields struct{ Server string }
	return json.Unmarshal([]byte(line[i:]), &fields) == nil && fields.Server == server
}

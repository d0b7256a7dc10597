package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"toolserver/cmd/toolserver/app"
	"toolserver/cmd/toolserver/logging"
	"toolserver/config"
	"toolserver/domain"
	"toolserver/server"
	"toolserver/tools"
	"toolserver/tools/upstream"
)

// callCommand runs any tool by its name.
func callCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "call TOOL [ARGUMENTS]",
		Short: "Run one tool",
		Long: "Run one tool as an MCP client would: the same checks, the same messages.\n" +
			"Required arguments can be positional, and all can be flags; - reads a value from standard input.\n" +
			"toolserver call TOOL --help lists the arguments of a tool.",
		ValidArgsFunction: g.completeTool,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return runTool(cmd.Context(), g, "", args[1:], args[0])
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows TOOL are its own flags
	return cmd
}

// addCategories adds a command for each category of tools, with the tools as
// its subcommands.
func addCategories(root *cobra.Command, g *globals) {
	for _, category := range tools.Categories() {
		cmd := &cobra.Command{
			Use:   category + " TOOL [ARGUMENTS]",
			Short: "Run one of the " + category + " tools",
			RunE: func(cmd *cobra.Command, args []string) error {
				if len(args) == 0 {
					return listCategory(cmd, g, category)
				}
				name := strings.ReplaceAll(args[0], "-", "_")
				return runTool(cmd.Context(), g, category, args[1:], name, category+"_"+name) // toolserver gmail search
			},
		}
		cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
			if err := listCategory(cmd, g, category); err != nil {
				cmd.PrintErrln("toolserver:", err)
			}
		})
		cmd.Flags().SetInterspersed(false)
		root.AddCommand(cmd)
	}
}

func listCategory(cmd *cobra.Command, g *globals, category string) error {
	return g.with(func(a *app.App) error {
		if category == upstream.Category {
			a.KeptServers()
		}
		fmt.Fprintf(cmd.OutOrStdout(), "usage: %s TOOL [ARGUMENTS]\n\n", cmd.CommandPath())
		for _, t := range a.Executor().Registry.List(category) {
			fmt.Fprintf(cmd.OutOrStdout(), "  %-18s %s\n", strings.TrimPrefix(t.Name, category+"_"), t.Title)
		}
		missing := slices.DeleteFunc(slices.Clone(a.Executor().Registry.Catalog().Missing()), func(m domain.Missing) bool { return m.Category != category })
		for _, m := range domain.Joined(missing) {
			fmt.Fprintf(cmd.OutOrStdout(), "unavailable: %s: %s\n", m.Name, m.Reason)
		}
		return nil
	})
}

// completeTool completes the name of a tool for the shell.
func (g *globals) completeTool(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var names []string
	err := g.with(func(a *app.App) error {
		a.KeptServers()
		for _, t := range a.Executor().Registry.ListEnabled() {
			names = append(names, t.Name+"\t"+t.Title)
		}
		return nil
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// with puts the program together for one command, without a log.
func (g *globals) with(do func(*app.App) error) error { return g.withLog(zap.NewNop(), do) }

func (g *globals) withLog(log *zap.Logger, do func(*app.App) error) error {
	cfg, err := g.load(g.dirs)
	if err != nil {
		return usage(err)
	}
	a, err := app.New(g.program, cfg, log)
	if err != nil {
		return usage(err)
	}
	defer a.Close()
	return do(a)
}

// runTool runs the first tool that has one of the names with the arguments of a command
// line.
func runTool(ctx context.Context, g *globals, category string, args []string, names ...string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	cfg, err := g.load(g.dirs)
	if err != nil {
		return usage(err)
	}
	g.sayUnused(cfg)
	quiet := cfg.Logging
	if quiet.File == "" && quiet.Level == config.Default().Logging.Level {
		quiet.Level = "error" // the outcome is printed anyway
	}
	log, err := logging.New(quiet, g.std.Err)
	if err != nil {
		return usage(cfg.Mistake("logging.file", "%v", err))
	}
	defer log.Close()
	a, err := app.New(g.program, cfg, log.Logger)
	if err != nil {
		return usage(err)
	}
	defer a.Close()

	me := a.User()
	cmd := domain.ExecuteToolCommand{Session: domain.Session{ID: "cli", Principal: me}}
	asJSON := false
	tool, catalog, err := a.Find(ctx, true, names...)
	if err != nil {
		return usage(err)
	}
	cmd.Tool = tool.Name
	if catalog.Settings.Access.Allowed(me, tool) {
		if category != "" && tool.Category != category {
			return usage(fmt.Errorf("%s is a tool of the category %s: toolserver %[2]s %[1]s", tool.Name, tool.Category))
		}
		line, err := parseArguments(tool, args, g.std)
		if err != nil || line.help {
			return err
		}
		cmd.Arguments, asJSON = line.arguments, line.json
		attachFor(ctx, a, tool, line.arguments)
	}
	person := &terminal{std: g.std, watched: app.IsTerminal(g.std.Err), answers: app.IsTerminal(g.std.Err) && app.IsTerminal(g.std.In)}
	cmd.Client = person
	uncatch := app.CatchBrokenPipes()
	res, err := a.Executor().Call(ctx, cmd)
	person.clear()
	uncatch() // a closed pipe terminates the program, as it does others
	if err != nil {
		return err
	}
	return printResult(g.std, res, asJSON)
}

// printResult shows a result: as MCP's JSON, or its text to people.
func printResult(std app.Streams, res domain.ToolResult, asJSON bool) error {
	out := std.Out
	if asJSON {
		fmt.Fprintf(out, "%s\n", server.MarshalResult(res))
	} else {
		if res.IsError {
			out = std.Err
		}
		for _, c := range res.Blocks() {
			printBlock(out, c)
		}
	}
	if res.IsError {
		return &exitError{code: exitFailed}
	}
	return nil
}

func printBlock(w io.Writer, c domain.Content) {
	switch c.Type {
	case domain.TextContent:
		io.WriteString(w, c.Text)
		if c.Text != "" && !strings.HasSuffix(c.Text, "\n") {
			io.WriteString(w, "\n")
		}
	case domain.LinkContent:
		fmt.Fprintln(w, c.URI)
	default:
		fmt.Fprintf(w, "[%s, %s, %d bytes]\n", c.Type, c.MIMEType, len(c.Data)+len(c.Text))
	}
}

// terminal is the person at a terminal, as the client of a call.
type terminal struct {
	std     app.Streams
	watched bool // standard error is a terminal
	answers bool // and so is standard input

	mu    sync.Mutex
	shown bool // there is progress on the line
	asked bool // or a question
	in    *bufio.Reader
	typed chan string // what a read returns that is under way, or was when its question ended
}

// WantsProgress reports whether anybody would see it.
func (t *terminal) WantsProgress() bool { return t.watched }

// Progress shows how far the call has got.
func (t *terminal) Progress(p domain.Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.asked {
		t.shown = true
		fmt.Fprintf(t.std.Err, "\r\x1b[K%s", p.Message)
	}
}

// clear takes progress off the terminal.
func (t *terminal) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shown {
		fmt.Fprint(t.std.Err, "\r\x1b[K")
		t.shown = false
	}
}

// asking says whether a question is on the terminal.
func (t *terminal) asking(now bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = now
}

// Log shows a message that matters.
func (t *terminal) Log(m domain.LogMessage) {
	if m.Level >= domain.LogWarning {
		t.clear()
		fmt.Fprintf(t.std.Err, "%v: %v\n", m.Level, m.Data)
	}
}

// Supports reports whether there is somebody to ask.
func (t *terminal) Supports(method string) bool {
	return t.answers && (method == domain.AskElicitation || method == domain.AskURL)
}

// Round returns false: it answers at once.
func (t *terminal) Round() (string, bool) { return "", false }

// Ended returns nil: the context of the call ends with the program.
func (t *terminal) Ended() <-chan struct{} { return nil }

// Complete does nothing: the call goes on.
func (t *terminal) Complete(string) {}

// Ask shows questions that are answered by yes or no, where what is not yes is no, and
// addresses to open.
func (t *terminal) Ask(ctx context.Context, requests map[string]domain.InputRequest) (map[string]json.RawMessage, error) {
	t.asking(true)
	defer t.asking(false)
	t.clear()
	answers := map[string]json.RawMessage{}
	for name, req := range requests {
		params, err := json.Marshal(req.Params)
		if err != nil {
			return nil, err
		}
		var q struct{ Message, URL string }
		if err := json.Unmarshal(params, &q); err != nil {
			return nil, err
		}
		if q.URL != "" {
			fmt.Fprintf(t.std.Err, "%s\n%s\n", q.Message, q.URL)
			answers[name] = json.RawMessage(`{"action":"` + domain.Accepted + `"}`)
			continue
		}
		line, err := t.ask(ctx, q.Message)
		if err != nil {
			return nil, err
		}
		action := domain.Declined
		if answer := strings.ToLower(strings.TrimSpace(line)); answer == "y" || answer == "yes" {
			action = domain.Accepted
		}
		answers[name] = json.RawMessage(`{"action":"` + action + `"}`)
	}
	return answers, ctx.Err()
}

// ask shows a question and returns the line that is typed after it: nothing, at the end
// of input.
func (t *terminal) ask(ctx context.Context, question string) (string, error) {
	select {
	case <-t.typed: // too late, for a question before
		t.typed = nil
	default:
	}
	fmt.Fprintf(t.std.Err, "%s [y/N] ", question)
	if t.typed == nil {
		if t.in == nil {
			t.in = bufio.NewReader(t.std.In)
		}
		t.typed = make(chan string, 1)
		go func(typed chan<- string) {
			line, _ := t.in.ReadString('\n')
			typed <- line
		}(t.typed)
	}
	select {
	case line := <-t.typed:
		t.typed = nil
		return line, nil
	case <-ctx.Done():
		fmt.Fprintln(t.std.Err)
		return "", ctx.Err()
	}
}

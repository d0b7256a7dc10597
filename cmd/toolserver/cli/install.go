package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolserver/toolserver/clients"
	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/domain/nearest"
	"github.com/toolserver/toolserver/osfile"
)

// installFlags are the flags of install, uninstall and clients.
type installFlags struct {
	name, url, tokenEnv                            string
	env                                            []string
	project, print, link, dryRun, assumeYes, force bool
	everywhere                                     bool // also where older entries are
}

func installCommand(g *globals) *cobra.Command {
	var f installFlags
	cmd := &cobra.Command{
		Use:               "install [CLIENT...]",
		ValidArgsFunction: completeClient,
		RunE: func(cmd *cobra.Command, names []string) error {
			ctx, stop := g.interruptible(cmd.Context())
			defer stop()
			return g.install(ctx, &f, names)
		},
	}
	flags := cmd.Flags()
	f.flags(cmd)
	flags.StringVar(&f.url, "url", "", "add a server that is reached over HTTP, instead of this program")
	flags.StringVar(&f.tokenEnv, "token-env", "", "environment variable that has the token for --url")
	flags.StringArrayVar(&f.env, "env", nil, "environment variable of the server: NAME has the client pass its own on or ask for it, NAME=VALUE is written into the file")
	flags.BoolVar(&f.print, "print", false, "print the entry and change nothing, also for clients that are not here")
	flags.BoolVar(&f.link, "print-link", false, "print a link that has the client add the server")
	flags.BoolVar(&f.dryRun, "dry-run", false, "show the change without making it")
	flags.BoolVarP(&f.assumeYes, "yes", "y", false, "without a client: add the server to all that are here, without asking")
	flags.BoolVar(&f.force, "force", false, "replace an entry of that name that differs")
	named(flags, "url", "URL")
	named(flags, "token-env", "NAME")
	named(flags, "env", "NAME[=VALUE]")
	return cmd
}

// flags adds the flags that say which entry is meant.
func (f *installFlags) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.name, "name", "toolserver", "name of the entry")
	cmd.Flags().BoolVar(&f.project, "project", false, "the file of the project in the current directory, instead of the user's")
}

func uninstallCommand(g *globals) *cobra.Command {
	var f installFlags
	cmd := &cobra.Command{
		Use: "uninstall CLIENT...", Args: takes(1, -1),
		ValidArgsFunction: completeClient,
		RunE: func(cmd *cobra.Command, names []string) error {
			ctx, stop := g.interruptible(cmd.Context())
			defer stop()
			f.everywhere = true
			return g.eachSite(&f, names, func(s *clients.Site, r *report) error {
				if s.File == "" {
					return fmt.Errorf("it has no file: remove %s in %s", f.name, s.Client.Title)
				}
				return change(ctx, r, f.dryRun, func() (*clients.Change, error) { return s.Removal(f.name) })
			})
		},
	}
	f.flags(cmd)
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "show the change without making it")
	return cmd
}

func completeClient(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return namesOf(clients.All()), cobra.ShellCompDirectiveNoFileComp
}

func namesOf(all []clients.Client) (names []string) {
	for _, c := range all {
		names = append(names, c.Name)
	}
	return names
}

// report says what came of one client.
type report struct {
	Client  string `json:"client"`
	File    string `json:"file,omitempty"`
	Status  string `json:"status"` // added, replaced, removed, unchanged, differs, planned, printed or failed
	Diff    string `json:"diff,omitempty"`
	Backup  string `json:"backup,omitempty"`
	Text    string `json:"text,omitempty"` // what is printed
	Tools   int    `json:"tools,omitempty"`
	Problem string `json:"problem,omitempty"`
	Next    string `json:"next,omitempty"`
}

// eachSite does something with the files of clients, and prints what came of it.
func (g *globals) eachSite(f *installFlags, names []string, do func(*clients.Site, *report) error) error {
	if !entryName().MatchString(f.name) {
		return usage(fmt.Errorf("--name %q: write 1 to 64 letters, digits, - and _", brief.Name(f.name)))
	}
	chosen, err := chosenClients(names)
	if err != nil {
		return err
	}
	m, err := thisMachine()
	if err != nil {
		return err
	}
	all, failed := []report{}, false
	for _, c := range chosen {
		s, err := c.Site(m, f.project)
		sites := []*clients.Site{s}
		if err == nil && f.everywhere {
			sites = append(sites, s.Others(f.name)...)
		}
		for _, s := range sites {
			r, err := report{Client: c.Name}, err
			if err == nil {
				r.File = s.File
				err = do(s, &r)
			}
			if err != nil {
				r.Status, r.Problem, failed = cmp.Or(r.Status, "failed"), err.Error(), true
			}
			if !g.json {
				g.printReport(&r)
			}
			all = append(all, r)
		}
	}
	if g.json {
		err = printJSON(g.std.Out, all)
	}
	if failed && err == nil {
		err = &exitError{code: exitFailed}
	}
	return err
}

func (g *globals) printReport(r *report) {
	io.WriteString(g.std.Out, r.Text)
	io.WriteString(g.std.Out, r.Diff)
	switch r.Status {
	case "printed", "failed", "differs":
	case "unchanged":
		fmt.Fprintf(g.std.Out, "%s: %s needs no change\n", r.Client, r.File)
	case "planned":
		fmt.Fprintf(g.std.Out, "%s: %s would change as above\n", r.Client, r.File)
	default:
		fmt.Fprintf(g.std.Out, "%s: %s in %s\n", r.Client, r.Status, r.File)
	}
	if r.Backup != "" {
		fmt.Fprintf(g.std.Out, "%s: what was there before is in %s\n", r.Client, r.Backup)
	}
	if r.Tools > 0 {
		fmt.Fprintf(g.std.Out, "%s: the entry works: %s\n", r.Client, counted(r.Tools, "tool"))
	}
	if r.Problem != "" {
		fmt.Fprintf(g.std.Err, "toolserver: %s: %s\n", r.Client, domain.Visible(r.Problem))
	}
	if r.Next != "" {
		fmt.Fprintf(g.std.Out, "%s: %s\n", r.Client, r.Next)
	}
}

var (
	entryName    = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)
	variableName = lazyregexp.New(`^[A-Za-z_]\w*$`)
)

// chosenClients returns the clients of these names.
func chosenClients(names []string) (chosen []clients.Client, err error) {
	all := clients.All()
	known := namesOf(all)
	for _, name := range names {
		i := slices.Index(known, name)
		var like []string
		for _, c := range all {
			if fold := strings.ToLower; len(name) > 2 && strings.Contains(fold(c.Name+" "+c.Title), fold(name)) || strings.HasPrefix(name, c.Name) {
				like = append(like, c.Name)
			}
		}
		if near, ok := nearest.Word(name, known); ok && like == nil {
			like = []string{near}
		}
		hint := "known: " + strings.Join(known, ", ")
		if like != nil {
			hint = "did you mean " + strings.Join(like, " or ") + "?"
		}
		if i < 0 {
			return nil, usage(fmt.Errorf("unknown client %q; %s", brief.Name(name), hint))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func thisMachine() (clients.Machine, error) {
	dir, err := os.Getwd()
	if err != nil {
		return clients.Machine{}, err
	}
	return clients.Here(dir)
}

// install adds the server to clients.
func (g *globals) install(ctx context.Context, f *installFlags, names []string) error {
	server, err := g.offered(ctx, f)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		if names, err = g.askClients(ctx, f); err != nil {
			return err
		}
	}
	return g.eachSite(f, names, func(s *clients.Site, r *report) error {
		switch {
		case f.link:
			link, err := s.Link(server)
			r.Status, r.Text = "printed", link+"\n"
			return err
		case f.print, s.File == "":
			text, err := s.Snippet(server)
			r.Status, r.Text = "printed", string(text)
			if s.File == "" && err == nil {
				r.Next = s.Client.After
			}
			return err
		}
		if !f.project && !s.Found() {
			fmt.Fprintf(g.std.Err, "toolserver: note: %s was not found on this machine\n", s.Client.Title)
		}
		err := change(ctx, r, f.dryRun, func() (*clients.Change, error) {
			c, err := s.Plan(server)
			if err == nil && c.Differs && !f.force {
				r.Status, r.Diff = "differs", c.Diff()
				err = fmt.Errorf("%s has another entry %s, which was not changed; --force replaces it as above", s.File, f.name)
			}
			return c, err
		})
		if err != nil || f.dryRun {
			return err
		}
		if r.Status != "unchanged" {
			r.Next = s.Client.After
		}
		if os.Getenv(f.tokenEnv) == "" && f.tokenEnv != "" {
			fmt.Fprintf(g.std.Err, "toolserver: %s: not tried, since $%s is not set here\n", r.Client, f.tokenEnv)
			return nil
		}
		if r.Tools, err = s.Try(ctx, f.name, g.program.Version); err != nil {
			err = fmt.Errorf("the entry is written, but what it starts does not work: %w", err)
		}
		return err
	})
}

// changeTime bounds how long others may keep a file from being changed.
const changeTime = 5 * time.Second

// change makes a change that is planned again when somebody else has changed the file meanwhile.
func change(ctx context.Context, r *report, dryRun bool, plan func() (*clients.Change, error)) error {
	ctx, cancel := context.WithTimeout(ctx, changeTime)
	defer cancel()
	for {
		c, err := plan()
		if err != nil {
			return err
		}
		r.Diff = c.Diff()
		switch {
		case c.None():
			r.Status, r.Diff = "unchanged", ""
			return nil
		case dryRun:
			r.Status = "planned"
			return nil
		}
		r.Backup, err = c.Apply(context.WithoutCancel(ctx))
		switch {
		case err == nil:
			r.Status = c.Verb()
			return nil
		case !errors.Is(err, osfile.ErrChanging):
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// askClients returns which of the clients on this machine are meant.
func (g *globals) askClients(ctx context.Context, f *installFlags) (names []string, err error) {
	m, err := thisMachine()
	if err != nil {
		return nil, err
	}
	var found []string
	for _, c := range clients.All() {
		if c.Found(m) && (!f.project || c.Project != nil) {
			found = append(found, c.Name)
		}
	}
	switch {
	case len(found) == 0:
		return nil, usage(errors.New("no MCP client was found here; toolserver clients lists where it looks, and install CLIENT writes the file of any"))
	case f.assumeYes:
		return found, nil
	case !g.answers():
		return nil, usage(fmt.Errorf("name the clients, or use --yes for all that are here: toolserver install %s", strings.Join(found, " ")))
	}
	t := &terminal{std: g.std}
	for _, name := range found {
		line, err := t.ask(ctx, "Add "+f.name+" to "+name+"?")
		if err != nil {
			return nil, err
		}
		if isYes(line) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		fmt.Fprintln(g.std.Err, "toolserver: nothing was changed")
	}
	return names, nil
}

// offered returns the server that entries are about.
func (g *globals) offered(ctx context.Context, f *installFlags) (s clients.Server, err error) {
	defer func() {
		if _, coded := errors.AsType[*exitError](err); err != nil && !coded {
			err = usage(err)
		}
	}()
	s = clients.Server{Name: f.name, URL: f.url, TokenEnv: f.tokenEnv}
	for _, text := range f.env {
		name, value, given := strings.Cut(text, "=")
		if !variableName().MatchString(name) {
			return s, fmt.Errorf("--env requires NAME or NAME=VALUE, not %q", brief.Name(text))
		}
		if given && !f.print && !f.link {
			fmt.Fprintf(g.std.Err, "toolserver: warning: the value of %s is written into the file, which only you can read from now on; --env %[1]s writes a reference\n", name)
		}
		s.Env = append(s.Env, clients.Variable{Name: name, Value: value, Given: given})
	}
	switch {
	case f.tokenEnv != "" && !variableName().MatchString(f.tokenEnv):
		return s, fmt.Errorf("--token-env requires the name of a variable, not %q", brief.Name(f.tokenEnv))
	case f.url == "" && f.tokenEnv != "":
		return s, errors.New("--token-env requires --url")
	case f.url != "" && (f.env != nil || g.config != "" || g.dirs != nil):
		return s, errors.New("--url is a server that runs already: it cannot be combined with --env, --config and --dir")
	case f.url != "" && !strings.HasPrefix(f.url, "https://") && !strings.HasPrefix(f.url, "http://"):
		return s, fmt.Errorf("--url requires an address such as https://tools.example.com/mcp, not %q", brief.Name(f.url))
	case f.url != "":
		return s, nil
	}
	argv, warnings, err := ownCommand()
	if err != nil {
		return s, err
	}
	for _, w := range warnings {
		fmt.Fprintln(g.std.Err, "toolserver: warning:", w)
	}
	serve, err := g.serveArguments(ctx, f)
	s.Command, s.Args = argv[0], slices.Concat(argv[1:], serve)
	return s, err
}

// serveArguments returns the arguments that serve what the flags of the program select, wherever the
// server is started.
func (g *globals) serveArguments(ctx context.Context, f *installFlags) ([]string, error) {
	cfg, err := g.load(g.dirs)
	if err != nil {
		return nil, err
	}
	g.sayUnused(cfg)
	args := []string{"serve", "--stdio"}
	if cfg.File != "" && (cfg.Source != config.OriginUser || os.Getenv("XDG_CONFIG_HOME") != "") { // or the server would not find it
		args = append(args, "--config", cfg.File)
	}
	dirs := g.dirs
	if len(dirs) == 0 && cfg.Assumed() {
		dirs = []string{cfg.WorkingDirectory}
	}
	if home := cfg.Home(); home != "" && cfg.Assumed() && !f.print && !f.link && !f.dryRun {
		if err := g.askHome(ctx, f, home); err != nil {
			return nil, err
		}
	} else {
		for _, w := range cfg.Warnings() {
			fmt.Fprintln(g.std.Err, "toolserver: warning:", w)
		}
	}
	for _, dir := range dirs {
		if dir, err = filepath.Abs(dir); err != nil {
			return nil, err
		}
		args = append(args, dir)
	}
	return args, nil
}

// askHome asks whether all of the home directory is meant, which nobody has said.
func (g *globals) askHome(ctx context.Context, f *installFlags, home string) error {
	if f.assumeYes || !g.answers() {
		return usage(fmt.Errorf("this would let tools use all of your home directory, since it is started in %s: say with --dir which directory is meant, such as --dir ~/project", home))
	}
	line, err := (&terminal{std: g.std}).ask(ctx, fmt.Sprintf("This would let tools use all of your home directory (%s); --dir chooses another one. Continue?", home))
	if err == nil && !isYes(line) {
		fmt.Fprintln(g.std.Err, "toolserver: nothing was changed")
		err = &exitError{code: exitFailed}
	}
	return err
}

// answers reports whether there is somebody to ask.
func (g *globals) answers() bool {
	return app.IsTerminal(g.std.In) && app.IsTerminal(g.std.Err) && !g.json
}

func clientsCommand(g *globals) *cobra.Command {
	var f installFlags
	cmd := &cobra.Command{
		Use: "clients", Args: takes(0, 0), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := g.interruptible(cmd.Context())
			defer stop()
			return g.listClients(ctx, &f)
		},
	}
	f.flags(cmd)
	return cmd
}

// clientState is a client in the list of clients.
type clientState struct {
	Client    string `json:"client"`
	Title     string `json:"title"`
	Found     bool   `json:"found"`
	File      string `json:"file,omitempty"`
	Installed bool   `json:"installed"`
	Works     bool   `json:"works"`
	Tools     int    `json:"tools,omitempty"`
	Problem   string `json:"problem,omitempty"`
}

func (g *globals) listClients(ctx context.Context, f *installFlags) error {
	m, err := thisMachine()
	if err != nil {
		return err
	}
	all := []clientState{}
	for _, c := range clients.All() {
		if f.project && c.Project == nil {
			continue
		}
		state := clientState{Client: c.Name, Title: c.Title, Found: c.Found(m)}
		s, err := c.Site(m, f.project)
		if err == nil {
			state.File = s.File
			state.Tools, err = s.Try(ctx, f.name, g.program.Version)
			state.Works = err == nil
			state.Installed = state.Works || s.Has(f.name)
		}
		if err != nil && !errors.Is(err, clients.ErrNotInstalled) {
			state.Problem = err.Error()
		}
		all = append(all, state)
	}
	if g.json {
		return printJSON(g.std.Out, all)
	}
	t := tabwriter.NewWriter(g.std.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "CLIENT\tHERE\tENTRY\tFILE")
	for _, s := range all {
		here, entry := "-", "-"
		if s.Found {
			here = "yes"
		}
		switch {
		case s.Works:
			entry = "works, " + counted(s.Tools, "tool")
		case s.Installed:
			entry = "fails"
		case s.Problem != "":
			entry = "unreadable"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", s.Client, here, entry, domain.Visible(cmp.Or(s.File, "-")))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, s := range all {
		if s.Problem != "" {
			fmt.Fprintf(g.std.Out, "%s: %s\n", s.Client, domain.Visible(s.Problem))
		}
	}
	return nil
}

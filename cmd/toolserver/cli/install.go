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
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/domain/nearest"
	"github.com/toolserver/toolserver/osfile"
)

// installation is a run of install, uninstall or clients.
type installation struct {
	g      *globals
	server clients.Server
	env    []string // as it is given

	project, print, link, dryRun, assumeYes, force bool
	everywhere                                     bool // also where older entries are
}

func installCommand(g *globals) *cobra.Command {
	f := installation{g: g}
	cmd := command("install [CLIENT...]", completeClient, g.interruptible(f.install))
	flags := cmd.Flags()
	f.flags(cmd)
	flags.StringVar(&f.server.URL, "url", "", "add a server that is reached over HTTP, instead of this program")
	flags.StringVar(&f.server.TokenEnv, "token-env", "", "environment variable that has the token for --url")
	flags.StringArrayVar(&f.env, "env", nil, "environment variable of the server: "+
		"NAME has the client pass its own on or ask for it, NAME=VALUE is written into the file")
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
func (f *installation) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.server.Name, "name", "toolserver", "name of the entry")
	cmd.Flags().BoolVar(&f.project, "project", false, "the file of the project in the current directory, instead of the user's")
}

func uninstallCommand(g *globals) *cobra.Command {
	f := installation{g: g, everywhere: true}
	cmd := command("uninstall CLIENT...", completeClient, g.interruptible(func(ctx context.Context, names []string) error {
		return f.eachSite(names, func(s *clients.Site, r *report) error {
			if s.File == "" {
				return fmt.Errorf("it has no file: remove %s in %s", f.server.Name, s.Client.Title)
			}
			return change(ctx, r, f.dryRun, func() (*clients.Change, error) { return s.Removal(f.server.Name) })
		})
	}))
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
func (f *installation) eachSite(names []string, do func(*clients.Site, *report) error) error {
	if !entryName().MatchString(f.server.Name) {
		return usage(fmt.Errorf("--name %q: write 1 to 64 letters, digits, - and _", brief.Name(f.server.Name)))
	}
	chosen, err := chosenClients(names)
	if err != nil {
		return err
	}
	m, err := clients.Here()
	if err != nil {
		return err
	}
	all, failed := []report{}, false
	for _, c := range chosen {
		s, err := c.Site(m, f.project)
		sites := []*clients.Site{s}
		if err == nil && f.everywhere {
			sites = append(sites, s.Others(f.server.Name)...)
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
			if !f.g.json {
				r.show(f.g.std)
			}
			all = append(all, r)
		}
	}
	if f.g.json {
		return cmp.Or(printJSON(f.g.std.Out, all), exitIf(failed))
	}
	return exitIf(failed)
}

// show tells a person.
func (r *report) show(std app.Streams) {
	io.WriteString(std.Out, r.Text)
	io.WriteString(std.Out, r.Diff)
	switch r.Status {
	case "printed", "failed", "differs":
	case "unchanged":
		fmt.Fprintf(std.Out, "%s: %s needs no change\n", r.Client, r.File)
	case "planned":
		fmt.Fprintf(std.Out, "%s: %s would change as above\n", r.Client, r.File)
	default:
		fmt.Fprintf(std.Out, "%s: %s in %s\n", r.Client, r.Status, r.File)
	}
	if r.Backup != "" {
		fmt.Fprintf(std.Out, "%s: what was there before is in %s\n", r.Client, r.Backup)
	}
	if r.Tools > 0 {
		fmt.Fprintf(std.Out, "%s: the entry works: %s\n", r.Client, counted(r.Tools, "tool"))
	}
	if r.Problem != "" {
		fmt.Fprintf(std.Err, "toolserver: %s: %s\n", r.Client, call.Visible(r.Problem))
	}
	if r.Next != "" {
		fmt.Fprintf(std.Out, "%s: %s\n", r.Client, r.Next)
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
		if i := slices.Index(known, name); i >= 0 {
			chosen = append(chosen, all[i])
			continue
		}
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
		return nil, usage(fmt.Errorf("unknown client %q; %s", brief.Name(name), hint))
	}
	return chosen, nil
}

// install adds the server to clients.
func (f *installation) install(ctx context.Context, names []string) error {
	server, err := f.offered(ctx)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		if names, err = f.askClients(ctx); err != nil {
			return err
		}
	}
	note := func(format string, args ...any) { fmt.Fprintf(f.g.std.Err, "toolserver: "+format+"\n", args...) }
	return f.eachSite(names, func(s *clients.Site, r *report) error {
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
			note("note: %s was not found on this machine", s.Client.Title)
		}
		err := change(ctx, r, f.dryRun, func() (*clients.Change, error) {
			c, err := s.Plan(server)
			if err == nil && c.Differs && !f.force {
				r.Status, r.Diff = "differs", c.Diff()
				err = fmt.Errorf("%s has another entry %s, which was not changed; --force replaces it as above", s.File, server.Name)
			}
			return c, err
		})
		if err != nil || f.dryRun {
			return err
		}
		if r.Status != "unchanged" {
			r.Next = s.Client.After
		}
		if server.TokenEnv != "" && os.Getenv(server.TokenEnv) == "" {
			note("%s: not tried, since $%s is not set here", r.Client, server.TokenEnv)
			return nil
		}
		if r.Tools, err = s.Try(ctx, server.Name, f.g.program.Version); err != nil {
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
		switch {
		case err != nil:
			return err
		case c.None():
			r.Status, r.Diff = "unchanged", ""
			return nil
		}
		if r.Diff = c.Diff(); dryRun {
			r.Status = "planned"
			return nil
		}
		if r.Backup, err = c.Apply(context.WithoutCancel(ctx)); err == nil {
			r.Status = c.Verb()
		}
		if !errors.Is(err, osfile.ErrChanging) {
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
func (f *installation) askClients(ctx context.Context) (names []string, err error) {
	m, err := clients.Here()
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
	case !f.g.answers():
		return nil, usage(fmt.Errorf("name the clients, or use --yes for all that are here: toolserver install %s", strings.Join(found, " ")))
	}
	for _, name := range found {
		yes, err := f.g.person.confirm(ctx, "Add "+f.server.Name+" to "+name+"?")
		if err != nil {
			return nil, err
		}
		if yes {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		fmt.Fprintln(f.g.std.Err, "toolserver: nothing was changed")
	}
	return names, nil
}

// offered returns the server that entries are about.
func (f *installation) offered(ctx context.Context) (s clients.Server, err error) {
	defer func() {
		if _, coded := errors.AsType[*exitError](err); err != nil && !coded {
			err = usage(err)
		}
	}()
	s = f.server
	for _, text := range f.env {
		name, value, given := strings.Cut(text, "=")
		if !variableName().MatchString(name) {
			return s, fmt.Errorf("--env requires NAME or NAME=VALUE, not %q", brief.Name(text))
		}
		if given && !f.print && !f.link {
			f.warn(fmt.Sprintf("the value of %s is written into the file, which only you can read from now on; --env %[1]s writes a reference", name))
		}
		s.Env = append(s.Env, clients.Variable{Name: name, Value: value, Given: given})
	}
	switch {
	case s.TokenEnv != "" && !variableName().MatchString(s.TokenEnv):
		return s, fmt.Errorf("--token-env requires the name of a variable, not %q", brief.Name(s.TokenEnv))
	case s.URL == "" && s.TokenEnv != "":
		return s, errors.New("--token-env requires --url")
	case s.URL != "" && (f.env != nil || f.g.config != "" || f.g.dirs != nil):
		return s, errors.New("--url is a server that runs already: it cannot be combined with --env, --config and --dir")
	case s.URL != "" && !strings.HasPrefix(s.URL, "https://") && !strings.HasPrefix(s.URL, "http://"):
		return s, fmt.Errorf("--url requires an address such as https://tools.example.com/mcp, not %q", brief.Name(s.URL))
	case s.URL != "":
		return s, nil
	}
	argv, warnings, err := ownCommand()
	if err != nil {
		return s, err
	}
	f.warn(warnings...)
	serve, err := f.serveArguments(ctx)
	s.Command, s.Args = argv[0], slices.Concat(argv[1:], serve)
	return s, err
}

func (f *installation) warn(warnings ...string) {
	for _, w := range warnings {
		fmt.Fprintln(f.g.std.Err, "toolserver: warning:", w)
	}
}

// serveArguments returns the arguments that serve what the flags of the program select, wherever the
// server is started.
func (f *installation) serveArguments(ctx context.Context) ([]string, error) {
	cfg, err := f.g.load()
	if err != nil {
		return nil, err
	}
	f.g.sayUnused(cfg)
	args := []string{"serve", "--stdio"}
	if cfg.File != "" && (cfg.Source != config.OriginUser || os.Getenv("XDG_CONFIG_HOME") != "") { // or the server would not find it
		args = append(args, "--config", cfg.File)
	}
	dirs := f.g.dirs
	if len(dirs) == 0 && cfg.Assumed {
		dirs = []string{cfg.WorkingDirectory}
	}
	if home := cfg.Home(); home != "" && cfg.Assumed && !f.print && !f.link && !f.dryRun {
		if err := f.askHome(ctx, home); err != nil {
			return nil, err
		}
	} else {
		f.warn(cfg.Warnings()...)
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
func (f *installation) askHome(ctx context.Context, home string) error {
	if f.assumeYes || !f.g.answers() {
		return usage(fmt.Errorf("this would let tools use all of your home directory, since it is started in %s: "+
			"say with --dir which directory is meant, such as --dir ~/project", home))
	}
	const question = "This would let tools use all of your home directory (%s); --dir chooses another one. Continue?"
	yes, err := f.g.person.confirm(ctx, fmt.Sprintf(question, home))
	if err == nil && !yes {
		fmt.Fprintln(f.g.std.Err, "toolserver: nothing was changed")
		err = &exitError{code: exitFailed}
	}
	return err
}

func clientsCommand(g *globals) *cobra.Command {
	f := installation{g: g}
	cmd := command("clients", nil, g.interruptible(func(ctx context.Context, _ []string) error { return f.listClients(ctx) }))
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

func (f *installation) listClients(ctx context.Context) error {
	g, name := f.g, f.server.Name
	m, err := clients.Here()
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
			state.Tools, err = s.Try(ctx, name, g.program.Version)
			state.Works = err == nil
			state.Installed = state.Works || s.Has(name)
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
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", s.Client, here, entry, call.Visible(cmp.Or(s.File, "-")))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, s := range all {
		if s.Problem != "" {
			fmt.Fprintf(g.std.Out, "%s: %s\n", s.Client, call.Visible(s.Problem))
		}
	}
	return nil
}

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolserver/toolserver/clients"
	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/upstream"
)

func configCommand(g *globals) *cobra.Command {
	return group("config",
		command("init [FILE]", nil, func(cmd *cobra.Command, args []string) error {
			path := fileIn(args)
			switch {
			case path == "-" && g.json:
				return usage(errors.New("the configuration to start from is YAML with comments, which --json cannot print"))
			case path == "-":
				_, err := cmd.OutOrStdout().Write(config.Template())
				return err
			}
			f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("%s already exists and was not changed; use another name, or - to print", path)
			}
			if err != nil {
				return err
			}
			if _, err := f.Write(config.Template()); err != nil {
				f.Close()
				return err
			}
			if g.json {
				return cmp.Or(f.Close(), printJSON(cmd.OutOrStdout(), map[string]string{"file": path}))
			}
			fmt.Fprintf(cmd.OutOrStdout(), "wrote %s; once it says what you want, start the server with --config %[1]s, or run toolserver trust %[1]s\n", path)
			return f.Close()
		}),
		command("schema", nil, func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), string(config.Schema()))
			return err
		}),
		command("show", nil, func(cmd *cobra.Command, _ []string) error {
			cfg, err := g.load()
			if err != nil {
				return usage(err)
			}
			g.sayUnused(cfg)
			if g.json {
				return printYAML(cmd.OutOrStdout(), cfg.Show())
			}
			fmt.Fprintln(cmd.ErrOrStderr(), "# from", cfg.Described())
			_, err = cmd.OutOrStdout().Write(cfg.Show())
			return err
		}),
		importCommand(g),
	)
}

// trustCommand says that configurations which the server finds may be obeyed.
func trustCommand(g *globals) *cobra.Command {
	var list, revoke bool
	cmd := command("trust [FILE]", nil, func(cmd *cobra.Command, args []string) error {
		switch {
		case list && (revoke || len(args) > 0):
			return usage(errors.New("--list stands alone; usage: toolserver trust --list [--json]"))
		case list:
			return listTrusted(cmd.OutOrStdout(), g.json)
		case revoke:
			return untrust(cmd.OutOrStdout(), args, g.json)
		}
		trust, cfg, err := config.TrustContent(fileIn(args), g.dirs)
		if err != nil {
			return err
		}
		if g.json {
			writable := cfg.Policy().Writable()
			return printJSON(cmd.OutOrStdout(), map[string]any{"trusted": trust, "writable": writable, "changes": cfg.Changes(), "exposed": cfg.TrustExposed()})
		}
		printTrusted(cmd.OutOrStdout(), trust, cfg)
		return nil
	})
	cmd.Flags().BoolVar(&list, "list", false, "list what is trusted")
	cmd.Flags().BoolVar(&revoke, "revoke", false, "take the trust in FILE back")
	return cmd
}

func untrustCommand(g *globals) *cobra.Command {
	return command("untrust [FILE]", nil, func(cmd *cobra.Command, args []string) error { return untrust(cmd.OutOrStdout(), args, g.json) })
}

// fileIn returns the file that arguments name, by default that of the current directory.
func fileIn(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	return "toolserver.yaml"
}

// printTrusted shows what a file that is trusted from now on lets tools do.
func printTrusted(w io.Writer, trust config.Trust, cfg *config.Loaded) {
	fmt.Fprintf(w, "trusted %s (sha256 %s), until it changes\ntools may write in:\n", trust.File, trust.SHA256)
	for _, path := range cfg.Policy().Writable() {
		fmt.Fprintln(w, " ", path)
	}
	for i, line := range cfg.Changes() {
		if i == 0 {
			fmt.Fprintln(w, "besides the defaults, it says:")
		}
		fmt.Fprintln(w, " ", line)
	}
	if cfg.TrustExposed() {
		fmt.Fprintf(w, "note: tools may write in the directory of %s, where trust is kept, "+
			"and only the sandbox's protection keeps them from it; --config is safer\n", config.TrustFile())
	}
}

func untrust(w io.Writer, args []string, asJSON bool) error {
	file := fileIn(args)
	trusted, err := config.Untrust(file)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(w, map[string]any{"file": file, "was_trusted": trusted})
	}
	state := "no longer trusted; servers that run keep what they have until they are restarted"
	if !trusted {
		state = "was not trusted"
	}
	_, err = fmt.Fprintf(w, "%s: %s\n", file, state)
	return err
}

func listTrusted(w io.Writer, asJSON bool) error {
	all, err := config.TrustedContents()
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(w, map[string]any{"trusted": append([]config.Trust{}, all...)})
	}
	for _, t := range all {
		fmt.Fprintf(w, "%s  %s  %s\n", t.SHA256, t.Since.Format(time.RFC3339), t.File)
	}
	return nil
}

// addFlags are the flags of upstream add that are more than a setting.
type addFlags struct {
	env, headers, identity []string
	disabled, replace      bool
}

func upstreamAdd(g *globals) *cobra.Command {
	var s upstream.Settings
	var f addFlags
	cmd := command("add NAME...", nil, func(cmd *cobra.Command, args []string) error {
		if err := f.complete(&s, args[1:]); err != nil {
			return usage(err)
		}
		for _, w := range clients.Credentials(args[0], &s) {
			fmt.Fprintf(cmd.ErrOrStderr(), "warning: mcp_servers.%s: %s\n", args[0], w)
		}
		done, err := config.AddServers(g.overrides(), []config.Entry{{Name: args[0], Settings: s}}, f.replace)
		if err != nil {
			return err
		}
		return g.printEdited(done, "added", "mcp_servers."+args[0], args[0])
	})
	cmd.Use = "add NAME [flags] -- COMMAND [ARGUMENT...]\n  toolserver upstream add NAME --url URL [flags]"
	flags := cmd.Flags()
	flags.StringVar(&s.URL, "url", "", "address of a server that is reached over HTTP")
	flags.StringArrayVar(&f.headers, "header", nil, "HTTP header of each request, as in 'Name: value'")
	flags.StringVar(&s.Transport, "transport", "", "how messages travel: stdio, http or sse")
	flags.StringArrayVar(&f.env, "env", nil, "environment variable of the program, as in NAME=VALUE")
	flags.StringArrayVar(&s.Inherit, "inherit-env", nil, "variable of toolserver that the program gets, too; NAME or PREFIX*")
	flags.StringVar(&s.Cwd, "cwd", "", "directory that the program starts in")
	flags.BoolVar(&s.Sandbox, "sandbox", false, "run the program in the sandbox of commands")
	flags.StringArrayVar(&s.Groups, "group", nil, "group that may use the server")
	flags.StringVar(&s.ComplianceLevel, "compliance-level", "", "compliance level of what the server gives access to")
	flags.StringArrayVar(&s.Tools.Allow, "allow", nil, "tool that is offered, by the server's own name; * stands for any characters")
	flags.StringArrayVar(&s.Tools.Deny, "deny", nil, "tool that is not offered")
	flags.StringArrayVar(&f.identity, "identity", nil, "argument that says who calls, as in ARGUMENT=name")
	flags.StringVar(&s.Pin, "pin", "", "what happens to a tool that has changed: warn or quarantine")
	flags.BoolVar(&s.Lazy, "lazy", false, "connect at the first call")
	flags.DurationVar(&s.Timeout, "timeout", 0, "how long connecting may take, and each list")
	flags.DurationVar(&s.CallTimeout, "call-timeout", 0, "time limit of a call")
	flags.BoolVar(&f.disabled, "disabled", false, "add the server without using it")
	flags.BoolVar(&f.replace, "replace", false, "replace the server of that name")
	completes(cmd, "transport", "stdio", "http", "sse")
	completes(cmd, "pin", "warn", "quarantine")
	return cmd
}

// complete takes what flags and the rest of the command line say.
func (f *addFlags) complete(s *upstream.Settings, argv []string) (err error) {
	if len(argv) > 0 {
		s.Command, s.Args = argv[:1], argv[1:]
		if len(argv) == 1 {
			s.Args = nil
		}
	}
	var wrong [3]error
	s.Env, wrong[0] = pairs("--env", "NAME=VALUE", f.env, "=")
	s.Headers, wrong[1] = pairs("--header", "Name: value", f.headers, ":")
	s.Identity, wrong[2] = pairs("--identity", "ARGUMENT=name", f.identity, "=")
	if err := cmp.Or(wrong[:]...); err != nil {
		return err
	}
	if f.disabled {
		s.Enabled = new(bool)
	}
	if s.Cwd != "" && !filepath.IsAbs(s.Cwd) && !strings.HasPrefix(s.Cwd, "${") { // paths in the file are relative to the file
		s.Cwd, err = filepath.Abs(s.Cwd)
	}
	s.Timeout, s.CallTimeout = s.Timeout.Round(time.Millisecond), s.CallTimeout.Round(time.Millisecond)
	return err
}

// pairs splits what a flag was given into names and values.
func pairs(flag, form string, given []string, separator string) (map[string]string, error) {
	var all map[string]string
	for _, text := range given {
		name, value, ok := strings.Cut(text, separator)
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, fmt.Errorf("%s requires %q", flag, form)
		}
		if all == nil {
			all = map[string]string{}
		}
		if separator == ":" {
			value = strings.TrimSpace(value)
		}
		all[name] = value
	}
	return all, nil
}

func upstreamRemove(g *globals) *cobra.Command {
	cmd := command("remove NAME", g.completeServer, func(_ *cobra.Command, args []string) error {
		done, err := config.RemoveServer(g.overrides(), args[0])
		if err != nil {
			return err
		}
		return g.printEdited(done, "removed", "mcp_servers."+args[0], args[0])
	})
	cmd.Aliases = []string{"rm"}
	return cmd
}

// printEdited says what was done to what of the configuration file, and what follows.
func (g *globals) printEdited(done config.Edited, verb, what string, names ...string) error {
	w, file := g.std.Out, done.File
	if done.Line > 0 {
		file += ":" + strconv.Itoa(done.Line)
	}
	if g.json {
		return printJSON(w, map[string]any{verb: names, "file": done.File, "created": done.Created, "trusted": done.Trusted})
	}
	fmt.Fprintf(w, "%s %s in %s\n", verb, what, file)
	switch {
	case done.Created && done.Trusted:
		fmt.Fprintln(w, "The file is new, and trusted: the program uses it where it is started in this directory.")
	case done.Created:
		fmt.Fprintf(w, "The file is new; start the server with --config %s\n", done.File)
	case done.Trusted:
		fmt.Fprintln(w, "Its new content is trusted. A server that runs applies it within a second.")
	default:
		fmt.Fprintln(w, "A server that runs applies it within a second.")
	}
	return nil
}

// importCommand reads the servers of other programs' configurations.
func importCommand(g *globals) *cobra.Command {
	var write, replace bool
	cmd := command("import FILE", nil, func(cmd *cobra.Command, args []string) error {
		text, err := os.ReadFile(args[0])
		if err != nil {
			return err
		}
		servers, warnings, err := clients.Read(args[0], text)
		if err != nil {
			return err
		}
		for _, w := range warnings {
			fmt.Fprintln(cmd.ErrOrStderr(), "warning:", call.Visible(w))
		}
		if len(servers) == 0 {
			return fmt.Errorf("%s names no server that can be used here", args[0])
		}
		var names []string
		for _, s := range servers {
			names = append(names, s.Name)
		}
		if !write && g.json {
			return printYAML(cmd.OutOrStdout(), config.Servers(servers))
		}
		if !write {
			_, err := cmd.OutOrStdout().Write(config.Servers(servers))
			return err
		}
		done, err := config.AddServers(g.overrides(), servers, replace)
		if err != nil {
			return err
		}
		return g.printEdited(done, "added", "mcp_servers."+strings.Join(names, ", "), names...)
	})
	cmd.Flags().BoolVar(&write, "write", false, "add the servers to the configuration file")
	cmd.Flags().BoolVar(&replace, "replace", false, "replace servers of the same name")
	return cmd
}

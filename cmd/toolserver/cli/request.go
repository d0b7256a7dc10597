package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/cmd/toolserver/logging"
	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/upstream"
)

// menu is the tools that a command takes the name of one of.
type menu struct {
	category string // of the tools; empty for all
	server   bool   // the category is a server of the configuration
	runs     bool   // the command runs the tool
}

// names returns what tools a word can name.
func (m menu) names(word string) []string {
	name := strings.ReplaceAll(word, "-", "_")
	switch {
	case m.server:
		names := []string{upstream.OfferedName(m.category, word)}
		if upstream.MayOffer(m.category, word) { // it is given as clients see it
			names = append(names, word)
		}
		return names
	case m.category != "":
		return []string{name, m.category + "_" + name} // toolserver gmail search
	}
	return slices.Compact([]string{word, name})
}

// word returns what names a tool among those of the menu.
func (m menu) word(t *domain.Tool) string {
	if m.server {
		return t.Origin.Tool
	}
	return strings.TrimPrefix(t.Name, m.category+"_")
}

// tools returns the tools of the menu.
func (m menu) tools(r *domain.Registry) []*domain.Tool {
	return slices.DeleteFunc(slices.Clone(r.List(m.category)), func(t *domain.Tool) bool {
		return m.server && t.Origin.Server != m.category
	})
}

// request is a command line that names a tool.
type request struct {
	menu
	parent *cobra.Command // what the name of the tool is an argument of
	args   []string       // the name, and what follows it
}

// opened is the tool of a request, in the program put together from the configuration that the
// command line selects.
type opened struct {
	app     *app.App
	tool    *domain.Tool
	catalog *domain.Catalog
	line    *toolLine // nil if the user may not run the tool
	log     *logging.Logger
}

// close releases what was opened.
func (o *opened) close() {
	if o.app != nil {
		o.app.Close()
	}
	o.log.Close()
}

// after returns what the flags of the program select that follow the name of a tool, as far as that
// can be known without the tool, which may have flags of these names.
func (s selection) after(args []string) selection {
	found := s
	found.dirs = nil
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	found.flags(flags)
	flags.BoolP("help", "h", false, "")
	_ = flags.Parse(args) // mistakes are reported when the tool is known
	found.dirs = slices.Concat(s.dirs, found.dirs)
	return found
}

// same reports whether both select the same configuration.
func (s selection) same(other selection) bool {
	return s.config == other.config && slices.Equal(s.dirs, other.dirs)
}

// withTool calls do with the tool of a request. The flags of the program are accepted anywhere, so it
// reads the configuration that they seem to select, and another if they turn out to be the tool's.
func (g *globals) withTool(ctx context.Context, r request, do func(*opened) error) error {
	before := g.selection
	guess := before.after(r.args[1:])
	o, err := g.open(ctx, r, before, guess)
	switch {
	case err == nil && !g.same(guess):
		o.close()
		o, err = g.open(ctx, r, before, g.selection)
	case err != nil && !guess.same(before):
		plain, failed := g.open(ctx, r, before, before)
		_, wrongLine := errors.AsType[*lineError](failed)
		switch {
		case wrongLine: // as -recursive, which seems to have -c
			err = failed
		case failed == nil && g.same(before):
			o, err = plain, nil
		case failed == nil:
			plain.close()
		}
	}
	if err != nil {
		return err
	}
	defer o.close()
	g.sayUnused(o.app.Config())
	return do(o)
}

// open finds the tool of a request with one configuration, and parses the command line after flags
// that have selected what was before.
func (g *globals) open(ctx context.Context, r request, before, with selection) (_ *opened, err error) {
	g.selection = with
	cfg, err := g.load(g.dirs)
	if err != nil {
		return nil, usage(err)
	}
	o := &opened{log: &logging.Logger{Logger: zap.NewNop()}}
	if r.runs {
		settings := cfg.Logging
		if settings.File == "" && settings.Level == config.Default().Logging.Level {
			settings.Level = "error" // the outcome is printed anyway
		}
		if o.log, err = logging.New(settings, g.std.Err); err != nil {
			return nil, usage(cfg.Mistake("logging.file", "%v", err))
		}
	}
	defer func() {
		if err != nil {
			o.close()
		}
	}()
	if o.app, err = app.New(g.program, cfg, o.log.Logger); err != nil {
		return nil, usage(err)
	}
	if o.tool, o.catalog, err = o.app.Find(ctx, r.runs, r.names(r.args[0])...); err != nil {
		return nil, usage(r.suggest(o.app, err))
	}
	if r.runs && !o.catalog.Settings.Access.Allowed(o.app.User(), o.tool) {
		return o, nil // it learns nothing of the tool
	}
	if r.runs && r.category != "" && o.tool.Category != r.category {
		return nil, usage(errOtherCategory(o.tool))
	}
	o.line = newToolLine(r.parent, r.args[0], o.tool, r.runs)
	g.selection = before
	if err := o.line.parse(r.args[1:]); err != nil {
		return nil, &lineError{err}
	}
	return o, nil
}

// lineError says what is wrong with the command line of a tool.
type lineError struct{ error }

func (e *lineError) Unwrap() error { return e.error }

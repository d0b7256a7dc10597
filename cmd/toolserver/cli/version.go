package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
)

// release says which program this is.
type release struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"`     // of the commit
	Modified bool   `json:"modified,omitempty"` // the tree had changes that are not in the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// completed returns the program with what Go has recorded about its build, where the linker was not told.
func completed(p app.Program) app.Program {
	info, ok := debug.ReadBuildInfo()
	if !ok || p.Commit != "" {
		return p
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			p.Commit = s.Value
		case s.Key == "vcs.time":
			p.Date = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			p.Modified = true
		}
	}
	return p
}

func versionCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "version", Args: takes(0, 0), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, out := completed(g.program), cmd.OutOrStdout()
			r := release{p.Version, p.Commit, p.Date, p.Modified, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			if g.json {
				return printJSON(out, r)
			}
			if r.Modified {
				r.Commit += " (modified)"
			}
			fmt.Fprintln(out, "toolserver", r.Version)
			for _, row := range [][2]string{{"commit", r.Commit}, {"date", r.Date}, {"go", r.Go}, {"platform", r.Platform}} {
				if row[1] != "" {
					fmt.Fprintf(out, "%-9s %s\n", row[0], row[1])
				}
			}
			return nil
		},
	}
}

package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
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

func versionCommand(g *globals) *cobra.Command {
	return command("version", nil, func(cmd *cobra.Command, _ []string) error {
		p, out := g.program, cmd.OutOrStdout()
		r := release{p.Version, p.Commit, p.Date, false, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
		if info, ok := debug.ReadBuildInfo(); ok && r.Commit == "" { // the linker was not told
			built := map[string]string{}
			for _, s := range info.Settings {
				built[s.Key] = s.Value
			}
			r.Commit, r.Date, r.Modified = built["vcs.revision"], built["vcs.time"], built["vcs.modified"] == "true"
		}
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
	})
}

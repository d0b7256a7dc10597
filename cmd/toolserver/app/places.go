package app

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/redact"
	"github.com/toolserver/toolserver/tools/discovery"
	"github.com/toolserver/toolserver/tools/files"
)

// maxPlaces bounds the directories that instructions name, and maxPlace each of them, because
// clients cut instructions.
const (
	maxPlaces = 6
	maxPlace  = 120
)

// places says where a principal may work under the policy in force, for the tools that the
// principal may use, and of which other servers.
func (a *App) places(p domain.Principal) (text string) {
	catalog := a.exec.Registry.Catalog()
	defer func() { text += discovery.Instructions(a.Servers(), catalog, p) }()
	may := func(tools ...string) bool {
		return slices.ContainsFunc(catalog.Tools(), func(t *domain.Tool) bool {
			return slices.Contains(tools, cmp.Or(t.Offered, t.Name)) && catalog.Why(p, t.Name) == ""
		})
	}
	listed := func(paths []string) string { return listed(paths, catalog.Settings.Secrets) }
	box := a.now.Load().box
	var reads, writes string
	commands := may("bash", "execute_command")
	if may(files.ReadFile, files.ListDirectory, "search_files", "grep") {
		reads = listed(box.For(files.ReadFile).Reader().Allowed())
	}
	if commands || may(files.WriteFile, "append_file", "edit_file", "move_file", "copy_file", "create_directory") {
		writes = listed(box.For(files.WriteFile).Writer().Allowed())
	}
	if reads == "" && writes == "" {
		return ""
	}
	text = " Relative paths start at " + listed([]string{box.WorkingDirectory()}) + "."
	switch {
	case reads == writes:
		text += " Files can be read and written in: " + reads + "."
	case reads == "":
		text += " Files can be written in: " + writes + "."
	case writes == "":
		text += " Files can be read in: " + reads + "."
	default:
		text += " Files can be read in: " + reads + "; written in: " + writes + "."
	}
	if commands {
		text += " Commands can also write in $TMPDIR."
	}
	return text
}

// listed returns paths as a list of a bounded length, without secrets.
func listed(paths, secrets []string) string {
	if len(paths) == 0 {
		return "no directory"
	}
	shown := slices.Clone(paths[:min(len(paths), maxPlaces)])
	for i, path := range shown {
		shown[i] = redact.Text(path, secrets)
		if r := []rune(shown[i]); len(r) > maxPlace {
			shown[i] = string(r[:maxPlace]) + "..."
		}
	}
	text := strings.Join(shown, ", ")
	if more := len(paths) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

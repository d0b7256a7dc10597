package meta

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain"
)

// The wordings of a summary.
const (
	byModel  = "model"
	bySelf   = "static"
	heading  = "# Capabilities\n"
	matterIs = "---\n"
)

// defaultFrontMatter is that of a new file.
const defaultFrontMatter = matterIs + "loading: always\nagent-modification: true\n" + matterIs + "\n"

// splitFrontMatter returns the front matter of a file, with its fences and what
// is empty after it, and the rest.
func splitFrontMatter(text string) (matter, body string) {
	open := strings.TrimPrefix(text, "\ufeff")
	line, rest, _ := strings.Cut(open, "\n")
	if strings.TrimRight(line, " \r") != "---" {
		return "", text
	}
	for rest != "" {
		line, after, _ := strings.Cut(rest, "\n")
		rest = after
		if end := strings.TrimRight(line, " \r"); end == "---" || end == "..." {
			for strings.HasPrefix(rest, "\n") || strings.HasPrefix(rest, "\r\n") {
				_, rest, _ = strings.Cut(rest, "\n")
			}
			matter = text[:len(text)-len(rest)]
			if !strings.HasSuffix(matter, "\n") {
				matter += "\n"
			}
			return matter, rest
		}
	}
	return "", text
}

// summarize returns the summary, and who worded it. A summary that a model has
// worded of the same catalog is kept, so that it does not change with every
// refresh. Notice is a clause with the error of a model that failed.
func (r *refresher) summarize(ctx context.Context, inv inventory, old string, withServers bool) (summary, wording, notice string) {
	if r.ask != nil {
		if strings.HasPrefix(old, inv.begin(byModel)) && strings.Contains(old, "\n## External") == withServers {
			return old, byModel, ""
		}
		words, err := r.word(ctx, inv)
		if err == nil {
			return inv.render(byModel, words, withServers), byModel, ""
		}
		notice = fmt.Sprintf(", without a model's words: %v", err)
	}
	var plain words
	for _, t := range inv.internal {
		plain.Internal = append(plain.Internal, line{t.heading(r.headings), t.summary()})
	}
	return inv.render(bySelf, plain, withServers), bySelf, notice
}

// words are the lines of a summary: those about this server, and those about
// each other server.
type words struct {
	Internal []line            `json:"internal"`
	External map[string][]line `json:"external"`
}

type line struct {
	Theme   string `json:"theme"`
	Summary string `json:"summary"`
}

// begin is the part of the summary that identifies its catalog and who worded it.
func (inv inventory) begin(wording string) string {
	h := sha256.New()
	fmt.Fprintln(h, wording)
	tools := slices.Concat(toolsOf(inv.internal), toolsOf(inv.external))
	for _, tool := range tools {
		fmt.Fprintf(h, "%q %q %q %q\n", tool.Name, tool.Category, tool.Title, tool.Description)
	}
	return heading + fmt.Sprintf("\n*Generated from a catalog of %s, %s. As long as that stays the same, so does this file.*\n",
		count(len(tools)), hex.EncodeToString(h.Sum(nil))[:12])
}

// render writes the summary.
func (inv inventory) render(wording string, w words, withServers bool) string {
	var b strings.Builder
	b.WriteString(inv.begin(wording))
	b.WriteString("\nA high-level summary of what this agent can do. Names of tools are **not** part of it: the list of tools has them.\n")
	b.WriteString("\n## Internal capabilities\n\n")
	writeLines(&b, w.Internal)
	if !withServers {
		return b.String()
	}
	b.WriteString("\n## External capabilities (MCP servers)\n\n")
	if len(inv.external) == 0 {
		b.WriteString("_No MCP servers are configured, or they offer no tools._\n")
		return b.String()
	}
	for _, t := range inv.external {
		if lines := w.External[t.name]; len(lines) > 0 {
			fmt.Fprintf(&b, "### %s\n\n", t.name)
			writeLines(&b, lines)
			b.WriteByte('\n')
			continue
		}
		writeLines(&b, []line{{t.name, count(len(t.tools))}})
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func writeLines(b *strings.Builder, lines []line) {
	for _, l := range lines {
		fmt.Fprintf(b, "- **%s** — %s\n", l.Theme, l.Summary)
	}
}

// inventory is the catalog by what it is good for.
type inventory struct {
	internal []theme
	external []theme // one a server
}

// theme is a group of tools that belong together.
type theme struct {
	name  string
	tools []*domain.Tool
}

// serverSeparator stands between the name of an upstream server and that of its
// tool.
const serverSeparator = "__"

// take groups tools: ours by category, those of other servers by server.
func take(tools []*domain.Tool, withServers bool) inventory {
	internal, external := map[string][]*domain.Tool{}, map[string][]*domain.Tool{}
	for _, t := range tools {
		server, _, upstream := strings.Cut(t.Name, serverSeparator)
		switch {
		case !upstream:
			internal[t.Category] = append(internal[t.Category], t)
		case withServers:
			external[server] = append(external[server], t)
		}
	}
	return inventory{themes(internal), themes(external)}
}

// toolsOf returns the tools of all themes.
func toolsOf(themes []theme) (tools []*domain.Tool) {
	for _, t := range themes {
		tools = append(tools, t.tools...)
	}
	return tools
}

func themes(groups map[string][]*domain.Tool) (list []theme) {
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		tools := groups[name]
		slices.SortFunc(tools, func(a, b *domain.Tool) int { return cmp.Compare(a.Name, b.Name) })
		list = append(list, theme{name, tools})
	}
	return list
}

// heading returns the name of a category, for people.
func (t theme) heading(headings map[string]string) string {
	name := cmp.Or(t.name, "other")
	return cmp.Or(headings[t.name], strings.ToUpper(name[:1])+name[1:])
}

// summary says what the tools of a category are good for.
func (t theme) summary() string {
	var all []string
	for _, tool := range t.tools {
		if tool.Ability != "" {
			all = append(all, tool.Ability)
		}
	}
	if len(all) < len(t.tools) {
		all = append(all, count(len(t.tools)-len(all)))
	}
	return strings.Join(all, "; ")
}

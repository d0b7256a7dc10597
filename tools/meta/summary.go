package meta

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
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

// foreign reports whether a file has content that is no summary of ours.
func foreign(matter, body string) bool {
	return matter == "" && strings.TrimSpace(body) != "" && !strings.HasPrefix(body, heading)
}

// summarize returns the summary, and who worded it. A summary that a model has
// worded of the same catalog is kept, so that it does not change with every
// refresh. Notice says, as a clause, why no model was heard although there is
// one.
func (r *refresher) summarize(ctx context.Context, inv inventory, old string, withServers bool) (summary, wording, notice string) {
	if r.Ask == nil {
		return inv.render(bySelf, inv.plain(), withServers), bySelf, ""
	}
	if begin := inv.begin(byModel); strings.HasPrefix(old, begin) && strings.Contains(old, "\n## External") == withServers {
		return old, byModel, ""
	}
	words, err := r.word(ctx, inv)
	if err != nil {
		return inv.render(bySelf, inv.plain(), withServers), bySelf, fmt.Sprintf(", without a model's words: %v", err)
	}
	return inv.render(byModel, words, withServers), byModel, ""
}

// words are the lines of a summary: those about this server, and those about
// each other server.
type words struct {
	internal []line
	external map[string][]line
}

type line struct{ theme, summary string }

// plain returns the words that are found without a model.
func (inv inventory) plain() words {
	w := words{external: map[string][]line{}}
	for _, t := range inv.internal {
		w.internal = append(w.internal, line{t.heading(inv.headings), t.summary()})
	}
	return w
}

// begin is the part of the summary that tells which catalog it is of, and who
// worded it.
func (inv inventory) begin(wording string) string {
	h := sha256.New()
	fmt.Fprintln(h, wording)
	for _, themes := range [][]theme{inv.internal, inv.external} {
		for _, t := range themes {
			for _, tool := range t.tools {
				fmt.Fprintf(h, "%q %q %q %q\n", tool.Name, tool.Category, tool.Title, tool.Description)
			}
		}
	}
	total := inv.counts.internal + inv.counts.external
	return heading + fmt.Sprintf("\n*Generated from a catalog of %s, %s. As long as that stays the same, so does this file.*\n",
		count(total), hex.EncodeToString(h.Sum(nil))[:12])
}

// render writes the summary.
func (inv inventory) render(wording string, w words, withServers bool) string {
	var b strings.Builder
	b.WriteString(inv.begin(wording))
	b.WriteString("\nA high-level summary of what this agent can do. Names of tools are **not** part of it: the list of tools has them.\n")
	b.WriteString("\n## Internal capabilities\n\n")
	writeLines(&b, w.internal)
	if !withServers {
		return b.String()
	}
	b.WriteString("\n## External capabilities (via MCPX)\n\n")
	if len(inv.external) == 0 {
		b.WriteString("_No MCP servers are configured, or they offer no tools._\n")
		return b.String()
	}
	for _, t := range inv.external {
		if lines := w.external[t.name]; len(lines) > 0 {
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
		fmt.Fprintf(b, "- **%s** — %s\n", l.theme, l.summary)
	}
}

package meta

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// wordingTimeout is how long a model has.
const wordingTimeout = 30 * time.Second

// wordingPrompt tells the model what to write.
//
//go:embed wording.txt
var wordingPrompt string

// word has the model word a summary of the catalog. The error is of an answer that
// is missing or not valid.
func (r *refresher) word(ctx context.Context, inv inventory) (words, error) {
	ctx, cancel := context.WithTimeout(ctx, wordingTimeout)
	defer cancel()
	answer, err := r.ask(ctx, wordingPrompt, inv.describe())
	if err != nil {
		return words{}, fmt.Errorf("the model did not answer: %w", err)
	}
	var w words
	from, to := strings.IndexByte(answer, '{'), strings.LastIndexByte(answer, '}')
	if from < 0 || to < from || json.Unmarshal([]byte(answer[from:to+1]), &w) != nil {
		return words{}, errors.New("the model's answer is not the JSON it was asked for")
	}
	if len(w.Internal) == 0 && len(inv.internal) > 0 {
		return words{}, errors.New("the model's answer has no themes")
	}
	names := inv.names()
	if err := validate(w.Internal, names); err != nil {
		return words{}, err
	}
	for _, t := range inv.external {
		if err := validate(w.External[t.name], names); err != nil {
			return words{}, err
		}
	}
	return w, nil
}

// Bounds of a model's answer.
const (
	maxLines   = 60
	maxTheme   = 60
	maxSummary = 300
)

// validate trims lines, and checks that a summary may have them.
func validate(lines []line, names *regexp.Regexp) error {
	if len(lines) > maxLines {
		return errors.New("the model's answer has too many themes")
	}
	for i := range lines {
		l := &lines[i]
		l.Theme, l.Summary = strings.TrimSpace(l.Theme), strings.TrimSpace(l.Summary)
		both := l.Theme + " " + l.Summary
		switch {
		case l.Theme == "" || l.Summary == "" || utf8.RuneCountInString(l.Theme) > maxTheme || utf8.RuneCountInString(l.Summary) > maxSummary:
			return errors.New("a line of the model's answer is empty or too long")
		case strings.ContainsFunc(both, unicode.IsControl):
			return errors.New("a line of the model's answer is more than one")
		case names.MatchString(both):
			return errors.New("the model's answer names a tool")
		}
	}
	return nil
}

// names matches the names of the tools, those of other servers with and without
// their server's. What is an ordinary word without its server's name is a name
// only where it is written as code.
func (inv inventory) names() *regexp.Regexp {
	var all []string
	for _, tool := range slices.Concat(toolsOf(inv.internal), toolsOf(inv.external)) {
		all = append(all, regexp.QuoteMeta(tool.Name))
		_, bare, upstream := strings.Cut(tool.Name, serverSeparator)
		switch {
		case !upstream:
		case strings.ContainsAny(bare, "_-"):
			all = append(all, regexp.QuoteMeta(bare))
		default:
			all = append(all, "`"+regexp.QuoteMeta(bare)+"`")
		}
	}
	if all == nil {
		return regexp.MustCompile(`[^\s\S]`)
	}
	return regexp.MustCompile(`(?i)(?:^|[^A-Za-z0-9_-])(?:` + strings.Join(all, "|") + `)(?:$|[^A-Za-z0-9_-])`)
}

// maxDescribed bounds the description for a model, in bytes.
const maxDescribed = 100_000

// describe returns the catalog for a model.
func (inv inventory) describe() string {
	var b strings.Builder
	for _, part := range []struct {
		kind   string
		themes []theme
	}{{"internal group", inv.internal}, {"external server", inv.external}} {
		for _, t := range part.themes {
			fmt.Fprintf(&b, "%s %q:\n", part.kind, t.name)
			for _, tool := range t.tools {
				if b.Len() > maxDescribed {
					return b.String()
				}
				fmt.Fprintf(&b, "- %s: %.300s\n", tool.Name, strings.Join(strings.Fields(tool.Description), " "))
			}
		}
	}
	return b.String()
}

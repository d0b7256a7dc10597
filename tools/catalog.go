package tools

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/tools/anthropic"
	"github.com/toolserver/toolserver/tools/discovery"
	"github.com/toolserver/toolserver/tools/files"
	"github.com/toolserver/toolserver/tools/google"
	"github.com/toolserver/toolserver/tools/linkedin"
	"github.com/toolserver/toolserver/tools/meta"
	"github.com/toolserver/toolserver/tools/shell"
	"github.com/toolserver/toolserver/tools/system"
	"github.com/toolserver/toolserver/tools/utility"
	"github.com/toolserver/toolserver/tools/web"
	"github.com/toolserver/toolserver/tools/websearch"
)

// Declared returns what the built-in tools declare, whether or not the configuration
// has what each needs.
func Declared() []declare.Group {
	return append([]declare.Group{
		utility.Declared(), files.Declared(), shell.Declared(), system.Declared(), web.Declared(), websearch.Declared(),
		linkedin.Declared(), anthropic.Declared(), meta.Declared(), discovery.Declared(),
	}, google.Declared()...)
}

// Categories returns the categories of the built-in tools, sorted. Which of them
// have tools depends on the configuration.
func Categories() []string { return slices.Sorted(maps.Keys(headings())) }

// headings returns the names of the categories, for people.
func headings() map[string]string {
	all := map[string]string{}
	for _, g := range Declared() {
		all[g.Category] = g.Heading
	}
	return all
}

// missing returns the tools that the family declares and does not offer, for want of something.
func (f *family) missing(offered []domain.Tool) (missing []domain.Missing) {
	if f.declared == nil {
		return nil
	}
	g := f.declared()
	for _, t := range g.Tools {
		if t.Lacks != "" && !slices.ContainsFunc(offered, func(o domain.Tool) bool { return o.Name == t.Tool }) {
			missing = append(missing, domain.Missing{Kind: domain.KindTool, Name: t.Tool, Category: g.Category, Reason: t.Lacks})
		}
	}
	return missing
}

// asker returns what has a model answer, or nil if there is no key for one.
func asker(d Deps) (meta.AskFunc, error) {
	if strings.TrimSpace(d.Anthropic.APIKey) == "" {
		return nil, nil
	}
	messages, err := anthropic.NewMessages(d.client(meta.RefreshName), d.Anthropic)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, system, message string) (string, error) {
		answer, err := messages.Ask(ctx, anthropic.Request{
			System: system, Messages: []anthropic.Message{{Role: anthropic.RoleUser, Content: message}},
		}, nil)
		if strings.Contains(answer.Text, strings.TrimSpace(d.Anthropic.APIKey)) { // it is written to a file, too
			return "", errors.New("the model's answer has the API key in it")
		}
		return answer.Text, err
	}, nil
}

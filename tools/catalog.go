package tools

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"toolserver/domain"
	"toolserver/tools/anthropic"
	"toolserver/tools/declare"
	"toolserver/tools/files"
	"toolserver/tools/google"
	"toolserver/tools/linkedin"
	"toolserver/tools/meta"
	"toolserver/tools/shell"
	"toolserver/tools/system"
	"toolserver/tools/upstream"
	"toolserver/tools/utility"
	"toolserver/tools/web"
	"toolserver/tools/websearch"
)

// Declared returns what the built-in tools declare, whether or not the configuration
// has what each needs.
func Declared() []declare.Group {
	return append([]declare.Group{
		utility.Declared(), files.Declared(), shell.Declared(), system.Declared(), web.Declared(), websearch.Declared(),
		linkedin.Declared(), anthropic.Declared(), meta.Declared(), upstream.Declared(),
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

// noShell is why there are no command tools.
const noShell = "needs a shell, bash or sh, and this machine has none, as in the minimal container image"

// conditional are the tools that are there only with what they need, by family.
var conditional = map[string][]domain.Missing{
	"anthropic": {
		{Kind: domain.KindTool, Name: "anthropic_usage", Category: "ai", Reason: "needs the environment variable ANTHROPIC_ADMIN_API_KEY, or anthropic.admin_api_key in the configuration"},
		{Kind: domain.KindTool, Name: "claude_conversation", Category: "ai", Reason: "needs a key of its own, since it costs money: anthropic.api_key in the configuration, such as ${ANTHROPIC_API_KEY}, or the environment variable TOOLSERVER_ANTHROPIC_API_KEY"},
	},
	"shell": {
		{Kind: domain.KindTool, Name: "bash", Category: "shell", Reason: noShell},
		{Kind: domain.KindTool, Name: "bash_jobs", Category: "shell", Reason: noShell},
		{Kind: domain.KindTool, Name: "execute_command", Category: "shell", Reason: noShell},
	},
	"websearch": {
		{Kind: domain.KindTool, Name: "web_search", Category: "web", Reason: "needs a search service: the environment variable BRAVE_API_KEY or TAVILY_API_KEY, web.search.searxng.base_url in the configuration, or duckduckgo among web.search.providers"},
	},
}

// missingFrom returns the tools of a family that are not among those it offers.
func missingFrom(family string, offered []domain.Tool) (missing []domain.Missing) {
	for _, m := range conditional[family] {
		if !slices.ContainsFunc(offered, func(t domain.Tool) bool { return t.Name == m.Name }) {
			missing = append(missing, m)
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

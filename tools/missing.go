package tools

import (
	"slices"

	"toolserver/domain"
)

// conditional are the tools that are there only with credentials, by family.
var conditional = map[string][]domain.Missing{
	"anthropic": {
		{Kind: domain.KindTool, Name: "anthropic_usage", Category: "ai", Reason: "needs the environment variable ANTHROPIC_ADMIN_API_KEY, or anthropic.admin_api_key in the configuration"},
		{Kind: domain.KindTool, Name: "claude_conversation", Category: "ai", Reason: "needs the environment variable ANTHROPIC_API_KEY, or anthropic.api_key in the configuration"},
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

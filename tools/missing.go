package tools

import (
	"slices"

	"toolserver/domain"
)

// A Missing tool is one that is not there for want of credentials.
type Missing struct {
	Tool, Category string
	Needs          string // what would make it be there, as a clause
}

// conditional are the tools that are there only with credentials.
var conditional = []Missing{
	{"anthropic_usage", "ai", "the environment variable ANTHROPIC_ADMIN_API_KEY, or anthropic.admin_api_key in the configuration"},
	{"claude_conversation", "ai", "the environment variable ANTHROPIC_API_KEY, or anthropic.api_key in the configuration"},
	{"web_search", "web", "a search service: the environment variable BRAVE_API_KEY or TAVILY_API_KEY, web.search.searxng.base_url in the configuration, or duckduckgo among web.search.providers"},
}

// MissingFrom returns the tools that are not among those that [All] returned.
func MissingFrom(present []domain.Tool) (missing []Missing) {
	for _, m := range conditional {
		if !slices.ContainsFunc(present, func(t domain.Tool) bool { return t.Name == m.Tool }) {
			missing = append(missing, m)
		}
	}
	return missing
}

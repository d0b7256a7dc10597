package meta

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"toolserver/domain"
)

// inventory is the catalog by what it is good for.
type inventory struct {
	internal []theme
	external []theme // one a server
	counts   struct{ internal, external int }
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
func take(tools []*domain.Tool, withServers bool) (inv inventory) {
	internal, external := map[string][]*domain.Tool{}, map[string][]*domain.Tool{}
	for _, t := range tools {
		server, _, upstream := strings.Cut(t.Name, serverSeparator)
		switch {
		case !upstream:
			internal[t.Category] = append(internal[t.Category], t)
			inv.counts.internal++
		case withServers:
			external[server] = append(external[server], t)
			inv.counts.external++
		}
	}
	inv.internal, inv.external = themes(internal), themes(external)
	return inv
}

func themes(groups map[string][]*domain.Tool) (list []theme) {
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		tools := groups[name]
		slices.SortFunc(tools, func(a, b *domain.Tool) int { return cmp.Compare(a.Name, b.Name) })
		list = append(list, theme{name, tools})
	}
	return list
}

// headings are the names of categories, for people.
var headings = map[string]string{
	"ai": "Models", "calendar": "Calendar", "file": "Files", "gmail": "Mail", "jobs": "Jobs", "meta": "This server",
	"shell": "Commands", "system": "System", "utility": "Utility", "web": "Web",
}

// abilities say what the built-in tools are good for, without their names. A
// test keeps the list complete.
var abilities = map[string]string{
	"anthropic_usage":      "report what an organization uses of Anthropic's models and what that costs",
	"append_file":          "add to files",
	"bash":                 "run shell commands within the sandbox, also in the background",
	"capabilities_refresh": "write this summary anew",
	"claude_conversation":  "ask another model, once or in a conversation",
	"disk_info":            "list drives and their free space",
	"echo":                 "test the connection",
	"edit_file":            "change parts of files",
	"execute_command":      "run commands with their output, errors and exit code kept apart",
	"grep":                 "search the content of files",
	"linkedin_job_detail":  "read a job posting in full",
	"linkedin_jobs":        "search LinkedIn's public job postings",
	"list_directory":       "list directories",
	"network_info":         "list network interfaces",
	"read_file":            "read text, Word and Excel files and images",
	"read_large_result":    "page through results that are too long for one answer",
	"search_files":         "find files by name",
	"system_info":          "tell about the machine and its operating system",
	"web_fetch":            "read web pages and APIs as text",
	"web_search":           "search the web",
	"write_file":           "write files",
}

// heading returns the name of a category.
func (t theme) heading() string {
	if h := headings[t.name]; h != "" {
		return h
	}
	if t.name == "" {
		return "Other"
	}
	return strings.ToUpper(t.name[:1]) + t.name[1:]
}

// summary says what the tools of a category are good for.
func (t theme) summary() string {
	var all []string
	for _, tool := range t.tools {
		if ability, ok := abilities[tool.Name]; ok {
			all = append(all, ability)
		}
	}
	if len(all) < len(t.tools) {
		all = append(all, count(len(t.tools)-len(all)))
	}
	return strings.Join(all, "; ")
}

package clients

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"toolserver/cmd/toolserver/clients/edit"
)

// Client is a program that starts MCP servers, or connects to them.
type Client struct {
	Name  string // on the command line
	Title string

	Files    []string // of the user: places in the order in which they are tried
	Project  []string // of a project; nil if there is none
	Programs []string // that show that the client is here
	Traces   []string // paths that do; by default the directories of Files

	Format edit.Format
	Keys   [][]string // of the section: the first that the file has, else the last
	ID     string     // if the section is a list: the member that has the name of an item
	Shape  Shape
	// Projects have another shape, and their file is JSON with mcpServers.
	ProjectShape *Shape

	// Add and Drop are the arguments of the client's own commands, which are used instead of editing the
	// user's file while the program is here: a client may write the file at any time.
	Add  func(name, entry string) []string
	Drop func(name string) []string

	// ShowsErrors says that the model of this client is known to see the message of a protocol error.
	ShowsErrors bool
	Link        func(name string, entry edit.Object) string
	After       string   // what to do when the entry is written
	Notes       []string // what people trip over
}

// Shape is how a client writes an entry.
type Shape struct {
	Type, RemoteType string // values of type; empty if there is none
	Command          string // the key of the command; "command" by default
	Argv             bool   // the command has its arguments
	Env              string // the key of the variables; "env" by default
	EnvNames         string // the key of a list of variables that are the client's own
	URL              string // the key of an address; empty if the file takes none
	TokenEnv         string // the key of the variable that has the token
	Headers          string // the path to the headers; "headers" by default
	Reference        string // how an entry refers to a variable, with NAME for it; empty if it cannot
	Inputs           bool   // references are inputs, which the client asks for
	Named            bool   // an entry says its name
	More             edit.Object
}

var servers = [][]string{{"mcpServers"}}

// All returns the clients by name.
func All() []Client {
	all := []Client{
		{
			Name: "claude-desktop", Title: "Claude Desktop",
			Files:  []string{"windows|{LOCALAPPDATA:~/AppData/Local}/Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json", "{config}/Claude/claude_desktop_config.json"},
			Traces: []string{"windows|{LOCALAPPDATA:~/AppData/Local}/Packages/Claude_*", "{config}/Claude"},
			Keys:   servers,
			After:  "Quit Claude Desktop (not only its window) and start it again.",
			Notes: []string{
				"On Windows the file is in the app's package since February 2026; the button Edit Config may open another one.",
				"The file takes no addresses: add those in Settings, Connectors.",
				"The file takes no comments.",
			},
		},
		{
			Name: "claude-code", Title: "Claude Code",
			Files: []string{"{CLAUDE_CONFIG_DIR:~}/.claude.json"}, Project: []string{"./.mcp.json"},
			Programs: []string{"claude"}, Traces: []string{"{CLAUDE_CONFIG_DIR:~}/.claude.json", "{CLAUDE_CONFIG_DIR:~/.claude}"},
			Keys: servers, Shape: Shape{Type: "stdio", RemoteType: "http", URL: "url", Reference: "${NAME:-}"},
			Add:         func(name, entry string) []string { return []string{"mcp", "add-json", "-s", "user", name, entry} },
			Drop:        func(name string) []string { return []string{"mcp", "remove", "-s", "user", name} },
			ShowsErrors: true,
			After:       "Start a new session; /mcp shows the server. A server of a project must be approved once.",
			Notes:       []string{"Claude Code writes ~/.claude.json itself at any time, so install calls `claude mcp add-json` while claude is on PATH."},
		},
		{
			Name: "cursor", Title: "Cursor",
			Files: []string{"~/.cursor/mcp.json"}, Project: []string{"./.cursor/mcp.json"}, Programs: []string{"cursor"},
			Keys: servers, Shape: Shape{URL: "url", Reference: "${env:NAME}"},
			Link: func(name string, entry edit.Object) string {
				return "cursor://anysphere.cursor-deeplink/mcp/install?name=" + url.QueryEscape(name) + "&config=" + url.QueryEscape(base64.StdEncoding.EncodeToString(compact(entry)))
			},
			After: "Cursor reloads the file by itself; Settings, MCP shows the server.",
		},
		vscode("vscode", "VS Code", "Code", "vscode", "code", "linux|~/.vscode-server/data/User/mcp.json"),
		vscode("vscode-insiders", "VS Code Insiders", "Code - Insiders", "vscode-insiders", "code-insiders", "linux|~/.vscode-server-insiders/data/User/mcp.json"),
		{
			Name: "copilot", Title: "GitHub Copilot CLI",
			Files: []string{"{COPILOT_HOME:~/.copilot}/mcp-config.json"}, Project: []string{"./.mcp.json", "./.github/mcp.json"}, Programs: []string{"copilot"},
			Keys: servers, Shape: Shape{Type: "local", RemoteType: "http", URL: "url", Reference: "${NAME:-}", More: edit.Object{{Name: "tools", Value: []string{"*"}}}},
			After: "Start a new session; /mcp show lists the server.",
			Notes: []string{"The server inherits only PATH."},
		},
		{
			Name: "windsurf", Title: "Windsurf",
			Files: []string{"~/.codeium/windsurf/mcp_config.json"}, Programs: []string{"windsurf"},
			Keys: servers, Shape: Shape{URL: "serverUrl", Reference: "${env:NAME}"},
			After: "Press Refresh in the MCP panel, or restart Windsurf.",
		},
		{
			Name: "windsurf-jetbrains", Title: "Windsurf plug-in for JetBrains IDEs",
			Files: []string{"~/.codeium/mcp_config.json"}, Traces: []string{"~/.codeium/mcp_config.json"},
			Keys: servers, Shape: Shape{URL: "serverUrl", Reference: "${env:NAME}"},
			After: "Press Refresh in the MCP settings of the plug-in.",
		},
		{
			Name: "zed", Title: "Zed",
			Files: []string{"unix|{xdg}/zed/settings.json", "windows|{config}/Zed/settings.json"}, Project: []string{"./.zed/settings.json"}, Programs: []string{"zed", "zeditor"},
			Keys: [][]string{{"context_servers"}}, Shape: Shape{URL: "url"},
			After: "Zed applies the file at once; the Agent panel's settings show the server.",
		},
		{
			Name: "cline", Title: "Cline in VS Code or Cursor",
			Files: []string{
				"{config}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
				"{config}/Cursor/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
			},
			Keys: servers, Shape: Shape{RemoteType: "streamableHttp", URL: "url", More: edit.Object{{Name: "disabled", Value: false}}},
			After: "Cline reloads the file by itself; its MCP Servers panel shows the server.",
		},
		{
			Name: "cline-cli", Title: "Cline CLI",
			Files: []string{"{CLINE_DIR:~/.cline}/data/settings/cline_mcp_settings.json"}, Programs: []string{"cline"},
			Keys: servers, Shape: Shape{RemoteType: "streamableHttp", URL: "url", More: edit.Object{{Name: "disabled", Value: false}}},
			After: "Start a new session.",
		},
		{
			Name: "continue", Title: "Continue",
			Files: []string{"~/.continue/config.yaml"}, Project: []string{"./.continue/mcpServers/toolserver.json"},
			Format: edit.YAML, Keys: servers, ID: "name",
			Shape:        Shape{Type: "stdio", RemoteType: "streamable-http", URL: "url", Headers: "requestOptions.headers", Reference: "${{ secrets.NAME }}", Named: true},
			ProjectShape: &Shape{Type: "stdio"},
			After:        "Continue reloads the file by itself; the server is used in agent mode.",
			Notes:        []string{"A config.yaml must also have name, version and schema; start Continue once so that it writes them."},
		},
		{
			Name: "gemini", Title: "Gemini CLI",
			Files: []string{"~/.gemini/settings.json"}, Project: []string{"./.gemini/settings.json"}, Programs: []string{"gemini"},
			Keys: servers, Shape: Shape{URL: "httpUrl", Reference: "$NAME"},
			After: "Start a new session; /mcp lists the server.",
			Notes: []string{"Servers are disabled in folders that are not trusted.", "Gemini CLI stopped serving individual accounts in June 2026."},
		},
		{
			Name: "antigravity", Title: "Antigravity",
			Files: []string{"~/.gemini/config/mcp_config.json", "~/.gemini/antigravity/mcp_config.json"}, Programs: []string{"antigravity"},
			Keys: servers, Shape: Shape{URL: "serverUrl"},
			After: "Press Refresh in Manage MCP Servers.",
		},
		{
			Name: "codex", Title: "Codex (CLI, app and IDE)",
			Files: []string{"{CODEX_HOME:~/.codex}/config.toml"}, Project: []string{"./.codex/config.toml"}, Programs: []string{"codex"},
			Format: edit.TOML, Keys: [][]string{{"mcp_servers"}}, Shape: Shape{EnvNames: "env_vars", URL: "url", TokenEnv: "bearer_token_env_var"},
			ShowsErrors: true,
			After:       "Start a new session; /mcp lists the server.",
			Notes:       []string{"A project's file counts only if the project is trusted.", "A call may take 60 s unless tool_timeout_sec says more."},
		},
		{
			Name: "junie", Title: "Junie (JetBrains)",
			Files: []string{"~/.junie/mcp/mcp.json"}, Traces: []string{"~/.junie"}, Project: []string{"./.junie/mcp/mcp.json"}, Programs: []string{"junie"},
			Keys: servers, Shape: Shape{URL: "url"},
			After: "Restart Junie, or toggle the server in its MCP settings.",
		},
		{
			Name: "goose", Title: "Goose",
			Files: []string{"windows|{config}/Block/goose/config/config.yaml", "unix|{xdg}/goose/config.yaml"}, Project: []string{"./.goose/config.yaml"}, Programs: []string{"goose"},
			Format: edit.YAML, Keys: [][]string{{"extensions"}},
			Shape: Shape{
				Type: "stdio", RemoteType: "streamable_http", Command: "cmd", Env: "envs", EnvNames: "env_keys", URL: "uri", Named: true,
				More: edit.Object{{Name: "enabled", Value: true}, {Name: "timeout", Value: 300}},
			},
			Link: func(name string, entry edit.Object) string {
				command, _ := member(entry, "cmd").(string)
				q := "cmd=" + url.QueryEscape(command)
				args, _ := member(entry, "args").([]string)
				for _, arg := range args {
					q += "&arg=" + url.QueryEscape(arg)
				}
				return "goose://extension?" + q + "&id=" + url.QueryEscape(name) + "&name=" + url.QueryEscape(name)
			},
			After: "Start a new session.",
			Notes: []string{"Variables of env_keys come from Goose's keyring; it asks for them."},
		},
		{
			Name: "lmstudio", Title: "LM Studio",
			Files: []string{"~/.lmstudio/mcp.json", "~/.cache/lm-studio/mcp.json"}, Programs: []string{"lms"},
			Keys: servers, Shape: Shape{URL: "url"},
			Link: func(name string, entry edit.Object) string {
				return "lmstudio://add_mcp?name=" + url.QueryEscape(name) + "&config=" + url.QueryEscape(base64.StdEncoding.EncodeToString(compact(entry)))
			},
			After: "LM Studio reloads the file by itself; switch the server on in the Program tab.",
		},
		{
			Name: "opencode", Title: "opencode",
			Files:    []string{"~/.config/opencode/opencode.jsonc", "~/.config/opencode/opencode.json"},
			Project:  []string{"./opencode.jsonc", "./opencode.json", "./.opencode/opencode.jsonc", "./.opencode/opencode.json"},
			Programs: []string{"opencode"},
			Keys:     [][]string{{"mcp", "servers"}, {"mcp"}}, Shape: Shape{Type: "local", RemoteType: "remote", Argv: true, Env: "environment", URL: "url", Reference: "{env:NAME}"},
			After: "Start a new session; opencode mcp list shows the server.",
		},
		{
			Name: "amp", Title: "Amp",
			Files: []string{"unix|{xdg}/amp/settings.json", "windows|{config}/amp/settings.json"}, Project: []string{"./.amp/settings.json"}, Programs: []string{"amp"},
			Keys: [][]string{{"amp.mcpServers"}}, Shape: Shape{URL: "url", Reference: "$NAME"},
			After: "Start a new session. A server of a workspace must be approved: amp mcp approve NAME.",
		},
		{
			Name: "warp", Title: "Warp",
			Files: []string{"~/.warp/.mcp.json"}, Project: []string{"./.warp/.mcp.json"}, Programs: []string{"warp-terminal"},
			Keys: servers, Shape: Shape{URL: "url"},
			After: "Switch the server on in Settings, MCP Servers.",
		},
		{
			Name: "kiro", Title: "Kiro",
			Files: []string{"~/.kiro/settings/mcp.json"}, Traces: []string{"~/.kiro"}, Project: []string{"./.kiro/settings/mcp.json"}, Programs: []string{"kiro"},
			Keys: servers, Shape: Shape{URL: "url"},
			After: "Kiro reloads the file by itself; the MCP Servers panel shows the server.",
		},
	}
	slices.SortFunc(all, func(a, b Client) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func vscode(name, title, folder, scheme, program, remote string) Client {
	return Client{
		Name: name, Title: title,
		Files: []string{"{config}/" + folder + "/User/mcp.json", remote}, Project: []string{"./.vscode/mcp.json"}, Programs: []string{program},
		Keys: [][]string{{"servers"}}, Shape: Shape{Type: "stdio", RemoteType: "http", URL: "url", Reference: "${input:NAME}", Inputs: true},
		Link: func(name string, entry edit.Object) string {
			return scheme + ":mcp/install?" + url.PathEscape(string(compact(append(edit.Object{{Name: "name", Value: name}}, entry...))))
		},
		After: "VS Code shows Start above the entry; it asks whether the server is trusted, and for inputs.",
		Notes: []string{"A profile has its own mcp.json (command MCP: Open User Configuration)."},
	}
}

// compact returns an entry as JSON in one line.
func compact(entry edit.Object) []byte {
	const key = "entry"
	var whole map[string]json.RawMessage
	_ = json.Unmarshal(edit.JSON.Text(edit.Place{Name: key}, entry), &whole)
	var out bytes.Buffer
	_ = json.Compact(&out, whole[key]) // which is JSON
	return out.Bytes()
}

// member returns a member of an entry, nil if there is none.
func member(entry edit.Object, name string) any {
	for _, m := range entry {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

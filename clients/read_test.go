package clients

import (
	"cmp"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/upstream"
)

func TestRead(t *testing.T) {
	for _, test := range []struct {
		name, file, text string
		want             map[string]upstream.Settings
		warnings         []string // parts, in order
		err              string
	}{
		{
			name: "Claude Desktop", text: `{"mcpServers": {"filesystem": {"command": "npx", "args": ["-y", "x", "/tmp"], "env": {"A": "1", "N": 3, "U": null}, "autoApprove": []}}, "theme": "dark"} // the end`,
			want:     map[string]upstream.Settings{"filesystem": {Command: []string{"npx"}, Args: []string{"-y", "x", "/tmp"}, Env: map[string]string{"A": "1", "N": "3"}}},
			warnings: []string{"mcp_servers.filesystem: autoApprove has no counterpart"},
		},
		{
			name: "Claude Code", text: `{"mcpServers": {"api": {"type": "http", "url": "https://${HOST:-example.com}/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}}}`,
			want: map[string]upstream.Settings{"api": {URL: "https://${HOST:-example.com}/mcp", Headers: map[string]string{"Authorization": "Bearer ${TOKEN}"}}},
		},
		{
			name: "VS Code", file: "/src/app/.vscode/mcp.json",
			text: "{\n\t// asked once\n\t\"inputs\": [{\"id\": \"api-key\", \"type\": \"promptString\", \"description\": \"The key\", \"password\": true},],\n" +
				"\t\"servers\": {\"p\": {\"type\": \"stdio\", \"command\": \"npx\", \"args\": [\"${workspaceFolder}/x\", \"${userHome}/y\"], \"envFile\": \".env\",\n" +
				"\t\t\"env\": {\"KEY\": \"${input:api-key}\", \"H\": \"${env:HOME}\", \"C\": \"${command:pick}\"}, /* no more */}}}",
			want: map[string]upstream.Settings{"p": {
				Command: []string{"npx"}, Args: []string{"/src/app/x", "${HOME}/y"}, Env: map[string]string{"KEY": "${API_KEY}", "H": "${HOME}", "C": "$${command:pick}"},
			}},
			warnings: []string{"${command:pick} is not known", "set the environment variable API_KEY, which VS Code asks for as \"api-key The key\"", "envFile has no counterpart"},
		},
		{
			name: "settings of VS Code", text: `{"mcp": {"servers": {"a": {"command": "x"}}}, "editor": {}}`,
			want: map[string]upstream.Settings{"a": {Command: []string{"x"}}},
		},
		{
			name: "micro-x in .NET", text: `{"WorkingDirectory": "/w", "McpServers": {"system-info": {"Transport": "stdio", "Command": "dotnet", "Args": ["run", "--no-build"]}, "off": false}}`,
			want:     map[string]upstream.Settings{"system-info": {Command: []string{"dotnet"}, Args: []string{"run", "--no-build"}}},
			warnings: []string{"mcp_servers.off: is false"},
		},
		{
			name: "Atlas", file: "/atlas/mcp.json", text: `{
				"pdf": {"command": ["python", "main.py"], "cwd": "backend/pdf", "groups": ["users"], "compliance_level": "Internal", "enabled": true, "author": "x"},
				"ext": {"url": "localhost:8005/mcp", "transport": "http", "type": "sse", "auth_token": "${EXT_TOKEN}", "enabled": false},
				"key": {"url": "https://example.com/sse", "auth_type": "api_key", "auth_header": "X-Key", "auth_token": "${K}"}}`,
			want: map[string]upstream.Settings{
				"pdf": {Command: []string{"python", "main.py"}, Cwd: "/atlas/backend/pdf", Groups: []string{"users"}, ComplianceLevel: "Internal"},
				"ext": {URL: "http://localhost:8005/mcp", Headers: map[string]string{"Authorization": "Bearer ${EXT_TOKEN}"}, Enabled: new(bool)},
				"key": {URL: "https://example.com/sse", Headers: map[string]string{"X-Key": "${K}"}},
			},
			warnings: []string{"mcp_servers.pdf: author has no", "mcp_servers.pdf: cwd was relative", "Atlas takes for everyone"},
		},
		{
			name: "Windsurf and Cursor", text: `{"mcpServers": {"w": {"serverUrl": "https://example.com/x", "type": "sse"}, "c": {"command": "x", "disabled": true, "timeout": 60}, "t": {"command": "x", "timeout": "90s"}}}`,
			want: map[string]upstream.Settings{
				"w": {URL: "https://example.com/x", Transport: "sse"}, "c": {Command: []string{"x"}, Enabled: new(bool)}, "t": {Command: []string{"x"}, CallTimeout: 90 * time.Second},
			},
			warnings: []string{"timeout: 60 has no unit"},
		},
		{
			name: "names", text: `{"mcpServers": {"git hub!": {"command": "x"}, "git hub?": {"command": "y"}, "é": {"command": "z"}}}`,
			want:     map[string]upstream.Settings{"git-hub": {Command: []string{"x"}}, "server": {Command: []string{"z"}}},
			warnings: []string{`was called "git hub!"`, `was called "git hub?"`, `"git hub?" would have the same name`, `was called "é"`},
		},
		{
			name: "both", text: `{"mcpServers": {"a": {"command": "x", "args": ["y"], "url": "https://example.com", "type": "http"}, "b": {}, "c": {"command": 5.5, "args": {}}}}`,
			want:     map[string]upstream.Settings{"a": {URL: "https://example.com"}, "c": {Command: []string{"5.5"}}},
			warnings: []string{"mcp_servers.a: has both", "mcp_servers.b: has neither", "mcp_servers.c: args is {}, which is not understood"},
		},
		{name: "no servers", text: `{"editor": {"size": 3}}`, err: "no section"},
		{name: "no JSON", text: `servers:`, err: "no JSON"},
		{name: "a list", text: `[]`, err: "no JSON object"},
	} {
		if test.file == "" {
			test.file = "/x/mcp.json"
		}
		servers, warnings, err := Read(test.file, []byte(test.text))
		if test.err != "" || err != nil {
			if err == nil || test.err == "" || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: %v; want %q", test.name, err, test.err)
			}
			continue
		}
		got := map[string]upstream.Settings{}
		for _, s := range servers {
			got[s.Name] = s.Settings
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s:\n%+v\nwant\n%+v", test.name, got, test.want)
		}
		if !slices.EqualFunc(warnings, test.warnings, strings.Contains) {
			t.Errorf("%s: warnings\n%s\nwant\n%s", test.name, strings.Join(warnings, "\n"), strings.Join(test.warnings, "\n"))
		}
	}
}

func TestCredentials(t *testing.T) {
	token := "gh" + "p_abcdefghijklmnopqrstuvwxyz0123456789"
	for _, test := range []struct {
		settings upstream.Settings
		want     string // part of the only warning; none if empty
	}{
		{upstream.Settings{Env: map[string]string{"API_KEY": "abc"}}, "env.API_KEY looks like a credential; better write ${API_KEY}"},
		{upstream.Settings{Env: map[string]string{"API_KEY": "${OTHER}", "HOME": "/home/ann", "MODE": "production"}}, ""},
		{upstream.Settings{Env: map[string]string{"X": token}}, "env.X"},
		{upstream.Settings{Headers: map[string]string{"authorization": "Bearer abc", "Accept": "text/plain"}}, "better write Bearer ${MY_SERVER_TOKEN}"},
		{upstream.Settings{Headers: map[string]string{"Authorization": "Bearer ${T}"}}, ""},
		{upstream.Settings{Command: []string{"x"}, Args: []string{"--api-key", "abc"}}, "argument 3 (after --api-key) looks like a credential; better write ${MY_SERVER_API_KEY}"},
		{upstream.Settings{Command: []string{"x"}, Args: []string{"--token=" + token}}, "--token=${MY_SERVER_TOKEN}"},
		{upstream.Settings{Command: []string{"x"}, Args: []string{"--token", token}}, "argument 3"},
		{upstream.Settings{Command: []string{"npx"}, Args: []string{"-y", "@modelcontextprotocol/server-everything", "--token-file", "--port", "8080", "/usr/share/SomeLongDirectory1/x"}}, ""},
		{upstream.Settings{Command: []string{"x"}, Args: []string{token}}, "argument 2"},
		{upstream.Settings{URL: "https://example.com/mcp?api_key=abc&x=1"}, "url (api_key)"},
		{upstream.Settings{URL: "https://ann:secret@example.com/mcp"}, "a header Authorization"},
		{upstream.Settings{URL: "https://example.com/mcp?page=1"}, ""},
	} {
		got := Credentials("my.server", &test.settings)
		if test.want == "" && len(got) > 0 || test.want != "" && (len(got) != 1 || !strings.Contains(got[0], test.want)) {
			t.Errorf("%+v: %q; want %q", test.settings, got, test.want)
		}
		if strings.Contains(strings.Join(got, ""), token) {
			t.Errorf("a warning repeats the credential: %q", got)
		}
	}
}

// TestReadInstalled reads what is written for each client, in the file of the user and in that of a project.
func TestReadInstalled(t *testing.T) {
	for _, c := range All() {
		readInstalled(t, c, false)
		if c.Project != nil {
			readInstalled(t, c, true)
		}
	}
}

func readInstalled(t *testing.T, c Client, project bool) {
	home := t.TempDir()
	m := Machine{OS: "linux", Home: home, Project: filepath.Join(home, "project"), Getenv: func(string) string { return "" }, LookPath: func(string) (string, error) { return "", fs.ErrNotExist }}
	site, err := c.Site(m, project)
	if err != nil {
		t.Fatal(err)
	}
	file := cmp.Or(site.File, "pasted.json")
	if c.Files != nil && owner(file).Name != c.Name && !slices.Contains([]string{".mcp.json", "mcp.json"}, filepath.Base(file)) { // which several have
		t.Errorf("%s is taken for the file of %q, not %s", file, owner(file).Name, c.Name)
	}
	read := func(s Server) upstream.Settings {
		text, err := site.Snippet(s)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		servers, warnings, err := Read(file, text)
		if err != nil || len(servers) != 1 || servers[0].Name != "one" {
			t.Fatalf("%s: %v, %v, %v of\n%s", c.Name, servers, warnings, err, text)
		}
		for _, w := range warnings { // of inputs
			if !strings.Contains(w, "ONE_") && !strings.Contains(w, "env.KEY looks") && !strings.Contains(w, `"/x y" is no program here`) {
				t.Errorf("%s: %s", c.Name, w)
			}
		}
		return servers[0].Settings
	}
	one := Server{Name: "one", Command: "/x y", Args: []string{"serve", "--errors", "result"}, Env: []Variable{{"V", "1.10 é", true}}}
	refers := c.Shape.Reference != "" && !(project && c.Shape.UserRefers) || c.Shape.EnvNames != ""
	if refers {
		one.Env = append(one.Env, Variable{Name: "KEY"})
	}
	got := read(one)
	argv := slices.Concat(got.Command, got.Args)
	if len(argv) < 4 || !slices.Equal(argv[:4], []string{"/x y", "serve", "--errors", "result"}) || got.Env["V"] != "1.10 é" || got.Transport != "" || got.Enabled != nil {
		t.Errorf("%s: %+v", c.Name, got)
	}
	if ref := got.Env["KEY"]; refers && !slices.Contains([]string{"${KEY}", "${KEY:-}", "${ONE_KEY}"}, ref) && !slices.Contains(got.Inherit, "KEY") {
		t.Errorf("%s: %+v", c.Name, got)
	}
	if c.Shape.URL == "" {
		return
	}
	remote := Server{Name: "one", URL: "https://example.com/mcp"}
	if refers && (c.Shape.TokenEnv != "" || c.Shape.Reference != "") {
		remote.TokenEnv = "TOKEN"
	}
	got = read(remote)
	auth := got.Headers["Authorization"]
	if got.URL != remote.URL || remote.TokenEnv != "" && !slices.Contains([]string{"Bearer ${TOKEN}", "Bearer ${TOKEN:-}", "Bearer ${ONE_TOKEN}"}, auth) || got.Transport != "" {
		t.Errorf("%s: %+v", c.Name, got)
	}
}

// TestReadOthers reads files of other formats as people have them.
func TestReadOthers(t *testing.T) {
	for _, test := range []struct {
		file, text string
		want       map[string]upstream.Settings
		warnings   []string
	}{
		{
			"config.toml", "model = \"x\"\n[mcp_servers.a]\ncommand = \"npx\"\nargs = [\"-y\", \"p\"]\nenv_vars = [\"K\"]\nenabled_tools = [\"t\"]\nstartup_timeout_sec = 20\n[mcp_servers.a.env]\nN = 3\n[mcp_servers.b]\nurl = \"https://example.com/mcp\"\nhttp_headers = { \"X-A\" = \"1\" }\n",
			map[string]upstream.Settings{
				"a": {Command: []string{"npx"}, Args: []string{"-y", "p"}, Env: map[string]string{"N": "3"}, Inherit: []string{"K"}, Tools: upstream.Filter{Allow: []string{"t"}}, Timeout: 20 * time.Second},
				"b": {URL: "https://example.com/mcp", Headers: map[string]string{"X-A": "1"}},
			},
			nil,
		},
		{
			"config.yaml", "extensions:\n  developer: {type: builtin, enabled: true, name: developer}\n  s: {type: stdio, cmd: uvx, args: [x], enabled: false}\n",
			map[string]upstream.Settings{"s": {Command: []string{"uvx"}, Args: []string{"x"}, Enabled: new(bool)}},
			[]string{"developer: type is \"builtin\"", "developer: has neither"},
		},
		{
			"c.yml", "name: x\nmcpServers:\n  - name: my server\n    command: c\n    env: {K: \"${{ secrets.K }}\", L: \"$L\", M: a$M}\n",
			map[string]upstream.Settings{"my-server": {Command: []string{"c"}, Env: map[string]string{"K": "${K}", "L": "${L}", "M": "a$M"}}},
			[]string{"was called"},
		},
		{
			"opencode.json", `{"mcp": {"x": {"type": "local", "command": ["a", "b"], "environment": {"K": "{env:K}"}}}, "servers": null}`,
			map[string]upstream.Settings{"x": {Command: []string{"a", "b"}, Env: map[string]string{"K": "${K}"}}}, nil,
		},
		{"null.json", `{"mcpServers": null}`, map[string]upstream.Settings{}, nil},
		{"atlas.json", `{"mcp": {"command": "x"}}`, map[string]upstream.Settings{"mcp": {Command: []string{"x"}}}, nil},
		{
			"settings.json", `{"context_servers": {"z": {"command": "x", "args": [], "env": {}}, "only": {"settings": {}}}}`,
			map[string]upstream.Settings{"z": {Command: []string{"x"}}}, []string{"only: settings has no counterpart", "only: has neither"},
		},
		{
			"/h/.gemini/settings.json", `{"mcp": {"excluded": ["off"]}, "mcpServers": {"off": {"command": "c", "timeout": 60000}, "s": {"url": "https://example.com/x", "headers": {"A": "b $T"}}, "h": {"httpUrl": "https://example.com/${H}"}, "u": {"url": "https://example.com/y", "type": "http"}}}`,
			map[string]upstream.Settings{
				"off": {Command: []string{"c"}, CallTimeout: time.Minute, Enabled: new(bool)}, "s": {URL: "https://example.com/x", Transport: "sse", Headers: map[string]string{"A": "b ${T}"}},
				"h": {URL: "https://example.com/${H}"}, "u": {URL: "https://example.com/y"},
			}, nil,
		},
		{
			"/h/.cline/data/settings/cline_mcp_settings.json", `{"mcpServers": {"a": {"command": "npx -y  p", "args": ["/tmp", "b c"], "timeout": 90, "disabled": true}, "b": {"type": "streamableHttp", "url": "https://example.com/x"}}}`,
			map[string]upstream.Settings{
				"a": {Command: []string{"npx"}, Args: []string{"-y", "p", "/tmp", "b c"}, CallTimeout: 90 * time.Second, Enabled: new(bool)}, "b": {URL: "https://example.com/x"},
			},
			[]string{`command "npx -y  p" has arguments`},
		},
		{
			"mcp.json", `{"mcpServers": {"a": {"command": "\"/opt/a b\" c"}, "b": {"command": "/opt/no such/x -y"}, "c": {"command": "uvx --from 'a b' c"}}}`,
			map[string]upstream.Settings{"a": {Command: []string{`"/opt/a b" c`}}, "b": {Command: []string{"/opt/no such/x -y"}}, "c": {Command: []string{"uvx --from 'a b' c"}}},
			[]string{"a: command", "b: command", "c: command"},
		},
		{
			"/h/.roo/mcp.json", `{"mcpServers": {"a": {"url": "https://example.com/x", "timeout": 30}, "b": {"type": "sse", "url": "https://example.com/y"}, "c": {"type": "streamable-http", "url": "https://example.com/z", "headers": {"K": "${env:K}"}}}}`,
			map[string]upstream.Settings{
				"a": {URL: "https://example.com/x", Transport: "sse", CallTimeout: 30 * time.Second}, "b": {URL: "https://example.com/y", Transport: "sse"}, "c": {URL: "https://example.com/z", Headers: map[string]string{"K": "${K}"}},
			}, nil,
		},
		{
			"/p/.kilo/kilo.jsonc", `{"mcp": {"a": {"type": "local", "command": ["x", "y z"], "enabled": false, "timeout": 5000}, "b": {"type": "remote", "url": "https://example.com/x"}}}`,
			map[string]upstream.Settings{"a": {Command: []string{"x", "y z"}, Enabled: new(bool), CallTimeout: 5 * time.Second}, "b": {URL: "https://example.com/x"}}, nil,
		},
	} {
		servers, warnings, err := Read(test.file, []byte(test.text))
		got := map[string]upstream.Settings{}
		for _, s := range servers {
			got[s.Name] = s.Settings
		}
		if err != nil || !reflect.DeepEqual(got, test.want) || !slices.EqualFunc(warnings, test.warnings, strings.Contains) {
			t.Errorf("%s: %v\n%+v\nwant\n%+v\n%s", test.file, err, got, test.want, strings.Join(warnings, "\n"))
		}
	}
}

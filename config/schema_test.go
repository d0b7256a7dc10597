package config_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"gopkg.in/yaml.v3"

	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/tools/prompts"
	"github.com/toolserver/toolserver/tools/resources"
)

// wrongFiles are refused by the loader and by the schema.
var wrongFiles = []string{
	"working_dir: .", "tools: {bassh: {enabled: true}}", "tools: {bash: {search_parents: true}}", "tools: {write_file: {allowed_hosts: [a]}}",
	"tools: {grep: {allowed_commands: [ls]}}", "tools: {up__x: {colour: red}}", "tools: {bash: {timeout: -1}}", "tools: {bash: {timeout: 0}}",
	"tools: {bash: {timeout: 0s}}", "tools: {bash: {timeout: -5s}}", "tools: {bash: {timeout: 86401}}", "tools: {bash: {timeout: soon}}", "tools: {bash: {inline_code: maybe}}",
	"tools: {bash: {enabled: 1}}", "tools: {bash: {groups: staff}}", "tools: {bash: {allowed_commands: ['']}}", "tools: {bash: {allowed_commands: ['git (']}}",
	"tools: {bash: {denied_commands: ['^rm']}}", "tools: {bash: {denied_commands: ['git:*']}}", "tools: {bash: {denied_commands: ['!ls']}}", "tools: {bash: {denied_commands: [{name: 'a|b'}]}}",
	"tools: {bash: {denied_commands: [{args_deny: [x]}]}}", "tools: {bash: {denied_commands: [{name: find, args_deny: ['a b']}]}}", "tools: {bash: {exec_paths: ['/usr/*']}}",
	"tools: {read_file: {denied_paths: ['regex:.*']}}", "tools: {read_file: {denied_paths: ['~x/y']}}", "tools: {read_file: {denied_paths: ['']}}", "tools: {read_file: {allowed_paths: ['a|b']}}",
	"tools: {read_file: {allowed_paths: ['https://x']}}", "tools: {read_file: {denied_paths: ['\\d+']}}", "tools: {read_file: {hardlinks: no}}", "tools: {web_fetch: {denied_hosts: ['*.a.com']}}",
	"tools: {web_fetch: {allowed_hosts: ['https://a.com']}}", "tools: {web_fetch: {private_hosts: ['10/8']}}", "tools: {system_info: {mask: ['(']}}", "tools: {gmail_send: {allowed_recipients: [ann]}}",
	"tools: {google: {tier: all}}", "tools: {google: {enabled: true}}", "server: {http: nonsense}", "server: {http: '127.0.0.1:99999'}", "server: {http: 8080}", "server: {path: mcp}",
	"server: {path: '/a?b'}", "server: {allowed_origins: [example.com]}", "server: {allowed_origins: ['*']}", "server: {allowed_origins: ['https://a.com/']}", "server: {allowed_hosts: ['https://x']}",
	"server: {allowed_hosts: ['*.x']}", "server: {tokens: [{name: a, hash: 'sha256:12'}]}", "server: {tokens: [{name: a}]}", "server: {tokens: [{hash: x}]}", "server: {name: ''}",
	"server: {max_sessions: 0}", "server: {max_message: 10}", "server: {max_message: 10M}", "server: {grace: 601}", "server: {port: 80}", "sandbox: {enforcement: strict}", "sandbox: {network: off}",
	"sandbox: {network: {allow: ['https://a.org']}}", "sandbox: {network: {deny: [a]}}", "sandbox: {unprotected: [.vscod]}", "sandbox: {presets: [gp]}", "sandbox: {ask: [command]}",
	"sandbox: {limits: {processes: -1}}", "sandbox: {limits: {memory: 10M}}", "web: {search: {searxng: {url: x}}}", "web: {user_agent: \"a\\u0001b\"}", "linkedin: {base_url: 'ftp://x'}",
	"linkedin: {interval: 61}", "anthropic: {base_url: x}", "google: {token_store: x}", "google: {time_zone: 'a b'}", "discovery: some", "discovery: {limit: -1}", "mcp_servers: {'a b': {command: x}}",
	"mcp_servers: {a: {command: x, transport: ws}}", "mcp_servers: {a: {url: 'ftp://x'}}", "mcp_servers: {a: {command: x, tools: {deny: ['[']}}}", "mcp_servers: {a: {command: x, pin: never}}",
	"mcp_servers: {a: {command: x, timeout: 1ms, lazzy: true}}", "resources: {confg: {enabled: false}}", "prompts: {review: {enabled: false}}", "limits: {max_result_chars: 10}", "limits: {timeout: 0}",
	"errors: loud", "logging: {level: trace}", "logging: {level: null}", "users: {a: {group: [x]}}", "compliance: {levels: {a: {allow: [b]}}}", "[]",
}

// rightFiles are accepted by both.
var rightFiles = []string{
	"{}", "tools:", "tools: {bash: null}", "tools: {up__x: {enabled: false, groups: [staff]}}", "tools: {bash: {timeout: 0.5}}", "tools: {bash: {timeout: 1m30s}}", "tools: {bash: {timeout: '${T:-5}'}}",
	"tools: {bash: {allowed_commands: [ls, 'git status', 'npm run test:*', ./bin/x, '*', {name: go, args_deny: [-exec]}], denied_commands: [rm*, 'git push*'], exec_paths: [/usr/local/go]}}",
	"tools: {read_file: {allowed_paths: [., ./output, '/tmp', '~/x', 'src/**/*.go', '${HOME:-/x}'], denied_paths: ['*.key', '**/private', '{a,b}.txt', '[ab].md', 'c[!d]'], hardlinks: deny}}",
	"tools: {web_fetch: {allowed_hosts: [example.com, 'a.org:8443', 10.0.0.1, '*'], denied_hosts: [], private_hosts: ['10.0.0.0/8', 'searx.lan:8080', 'fd00::/8', '[::1]:80']}}",
	"tools: {system_info: {mask: [hostname, mac]}, google: {tier: full}, gmail_send: {allowed_recipients: ['@example.com', 'ann@b.org', '@*.c.org']}}",
	"server: {http: ':8080', path: /, allowed_origins: ['http://localhost:3000', 'null', 'chrome-extension://abc'], allowed_hosts: [a, 'b:80', '::1', '[::1]:80']}",
	"server: {tokens: [{name: a, hash: 'sha256:" + strings.Repeat("aB", 32) + "', expires: 2030-01-01T00:00:00Z}]}", "server: {max_message: 10MiB, grace: 0, session_ttl: 1s}",
	"sandbox: {network: none}", "sandbox: {network: {allow: ['*.example.org:443', a.org, 10.0.0.0/8]}}", "sandbox: {unprotected: [.vscode], presets: [], ask: [writes], env: {A: b}}",
	"web: {user_agent: 'x/1 (y)', search: {providers: [duckduckgo], searxng: {base_url: 'http://searx.lan:8080'}}}", "google: {time_zone: Europe/London, base_url: ''}", "discovery: all",
	"mcp_servers: {a: {command: npx, args: [-y]}, b.c: {url: 'https://x/mcp?y=1', headers: {Authorization: 'Bearer x'}, tools: {allow: ['get_*', 'a[bc]']}}}",
	"resources: {config: {enabled: false}, up__x: {groups: [a]}}", "prompts: {code_review: {enabled: false}}", "users: {ann: {groups: [x]}}",
	"compliance: {level: a, levels: {a: {}, b: {aliases: [c], allowed_with: [a]}}}", "logging: {level: debug, file: x.log}",
}

// TestSchemaAgrees holds the schema that editors go by to what the server accepts.
func TestSchemaAgrees(t *testing.T) {
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("config.json", strings.NewReader(string(config.Schema()))); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("config.json")
	if err != nil {
		t.Fatal(err)
	}
	names := config.Names{Resources: resources.Names(), Prompts: prompts.Names(), Tools: config.ToolSections{}.Keys()}
	check := func(text string, good bool) {
		l, loads := load(t, text+"\n")
		if loads == nil {
			_, loads = l.CheckNames(names)
		}
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
		if invalid := schema.Validate(v); (invalid == nil) != good || (loads == nil) != good {
			t.Errorf("%s: the schema says %v; the loader says %v", text, invalid, loads)
		}
	}
	for _, text := range wrongFiles {
		check(text, false)
	}
	for _, text := range rightFiles {
		check(text, true)
	}
	check(string(config.Template()), true)
}

package config_test

import (
	"strings"
	"testing"
)

// TestUnknownKeys names the key that was meant: by its spelling, by what people call it,
// and where it is when it is in another section.
func TestUnknownKeys(t *testing.T) {
	for key, want := range map[string]string{
		"working_dir":                 `"working_directory"?`,
		"workingDirectory":            `"working_directory"?`,
		"eror":                        `"errors"?`,
		"mcpServers":                  `"mcp_servers"? toolserver config import FILE takes over the servers of another program.`,
		"servers":                     `"mcp_servers"? toolserver config import`,
		"allowedDirectories":          `"roots"? tools.read_file.allowed_paths and tools.write_file`,
		"allowed_directories":         `"roots"? `,
		"allow":                       `tools.read_file.allowed_paths, or tools.bash.allowed_commands, or tools.web_fetch.allowed_hosts?`,
		"deny":                        `tools.read_file.denied_paths, or tools.bash.denied_commands, or`,
		"allowed_paths":               `tools.read_file.allowed_paths?`,
		"blockedCommands":             `tools.bash.denied_commands?`,
		"disabled_tools":              `tools.NAME.enabled?`,
		"log_level":                   `logging.level?`,
		"port":                        `server.http, or sandbox.kubernetes.port? It is an address such as 127.0.0.1:8080.`,
		"host":                        `server.http? `,
		"listen":                      `server.http? `,
		"token":                       `server.tokens, or sandbox.kubernetes.token? toolserver token new NAME makes an entry.`,
		"tls":                         `server.tls, or sandbox.kubernetes.tls?`,
		"env":                         `sandbox.env, or mcp_servers.NAME.env?`,
		"timeout":                     `tools.NAME.timeout, or mcp_servers.NAME.timeout, or limits.timeout?`,
		"network":                     `sandbox.network?`,
		"brave":                       `web.search.brave?`,
		"rate-limit":                  `limits.rate_per_minute?`,
		"gmail":                       `"google"?`,
		"tools: {bash: {deny":         `"denied_commands"?`,
		"tools: {read_file: {allow":   `"allowed_paths"?`,
		"tools: {bash: {port":         `known keys: enabled, timeout,`,
		"logging: {log_level":         `"level"?`,
		"server: {port":               `"http"? It is an address`,
		"mcp_servers: {a: {commands":  `"command"?`,
		"sandbox: {environment":       `"env"?`,
		"entirely_something_else_now": `known keys: working_directory, roots,`,
	} {
		_, err := load(t, key+": x"+strings.Repeat("}", strings.Count(key, "{"))+"\n")
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "did you mean ", ""), "; "+want) {
			t.Errorf("%s: %v\nwant %s", key, err, want)
		}
	}
}

//go:build linux

package e2e

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/upstream/mcpclient"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// TestUpstreamsDeferred has lists show everything to Claude Code, which defers tools itself, and to others what finds the rest;
// and follows the configuration.
func TestUpstreamsDeferred(t *testing.T) {
	t.Parallel()
	const askHint, loadHint = "anthropic/requiresUserInteraction", "anthropic/alwaysLoad"
	many := "mcp_servers:\n" + entry("u", "", upstreamBinary(t), "--tools", "20")
	for _, transport := range []string{"stdio", "http"} {
		for _, version := range []string{"2025-11-25", modernVersion} {
			t.Run(transport+" "+version, func(t *testing.T) {
				t.Parallel()
				config, _ := configured(t, "discovery: {mode: auto, limit: 5}\n"+many)
				env := []string{"env", "XDG_STATE_HOME=" + t.TempDir()}
				var connected func(client string) *mcpclient.Client
				if transport == "http" {
					s := launchHTTP(t, env[1:], binary(), "--insecure-no-auth", "--config", config)
					connected = func(client string) *mcpclient.Client {
						c, err := mcpclient.ConnectHTTP(t.Context(), http.DefaultClient, s.url, nil, mcpclient.Options{Name: client, Version: "2.1.331", Protocol: version, ConnectTimeout: patience})
						must(t, err)
						t.Cleanup(c.Close)
						return c
					}
				} else {
					connected = func(client string) *mcpclient.Client {
						out, stdout, err := os.Pipe()
						must(t, err)
						p := spawn(t, stdout, nil, append(env, binary(), "serve", "--stdio", "--config", config)...)
						t.Cleanup(p.kill)
						c, err := mcpclient.Connect(t.Context(), &checkedOutput{File: out, in: p.in, t: t}, mcpclient.Options{Name: client, Version: "2.1.331", Protocol: version, ConnectTimeout: patience})
						must(t, err)
						t.Cleanup(c.Close)
						return c
					}
				}
				meta := func(c *mcpclient.Client, tool, hint string) string {
					return string(rawjson.Member(rawjson.Member(byName(t, c)[tool], "_meta"), hint))
				}
				claude, other := connected("claude-code"), connected("t")
				has := func(c *mcpclient.Client, tool string) bool { return byName(t, c)[tool] != nil }
				eventually(t, "Claude Code is shown all tools", func() bool { return has(claude, "u__echo") })
				eventually(t, "another client is told how to find them", func() bool {
					return !has(other, "u__echo") && strings.Contains(comesTo(other, "tools/call", `{"name":"mcp_list_tools","arguments":{}}`), "echo")
				})
				if got := [4]string{meta(claude, "mcp_search", loadHint), meta(claude, "read_large_result", loadHint), meta(other, "read_large_result", loadHint), meta(claude, "u__echo", askHint)}; got != [4]string{"", "true", "", ""} {
					t.Errorf("hints %q", got)
				}
				again := connected("claude-code").Server().Instructions // once its own process has the tools
				if strings.Contains(again, "more tools are not listed") {
					t.Errorf("Claude Code is told of tools that are not listed: %s", again)
				}
				reconfigure(t, config, "discovery: search\n"+many)
				eventually(t, "the search is asked for", func() bool {
					return !has(claude, "u__echo") && !has(other, "read_file") && meta(claude, "mcp_search", loadHint) == "true"
				})
				reconfigure(t, config, "tools: {u__echo: {confirm: true}}\n"+many)
				eventually(t, "a person has to agree", func() bool {
					return meta(claude, "u__echo", askHint) == "true" && meta(other, "u__echo", askHint) == ""
				})
				reconfigure(t, config, many)
				eventually(t, "nobody has to agree", func() bool { return has(claude, "u__echo") && meta(claude, "u__echo", askHint) == "" })
			})
		}
	}
}

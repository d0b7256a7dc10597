package config_test

import (
	"strings"
	"testing"
)

// TestSlips has what people write by habit of other programs: the message says what to
// write instead, and nothing is taken for what it was not meant to be.
func TestSlips(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for text, want := range map[string]string{
		`server: {http: 8080}`:                            `write it as in http: 127.0.0.1:8080`,
		`sandbox: {network: [github.com]}`:                `write it as in network: {allow: [...]}`,
		`server: {tokens: [{token: abc}]}`:                `did you mean "hash"? toolserver token new NAME makes one`,
		`mcp_servers: {a: {type: sse, url: "http://x/"}}`: `did you mean "transport"?`,
		`tools: {bash: {allowed_commands: {ls: true}}}`:   `write it as in allowed_commands: [`,
		`working_directory: $HOME/x`:                      `write ${NAME} for a variable`,
		`working_directory: "%USERPROFILE%/x"`:            `write ${NAME} for a variable`,
		`working_directory: ~bob/x`:                       `~ is your own home directory`,
		`logging: {file: file:///x.log}`:                  `write a path, not a URL`,
		`working_directory: "C:\Users\ann"`:               `1:1: invalid YAML: a backslash in double quotes begins an escape; write paths of Windows in single quotes, or with /`,
		`working_directory: "C:\Projects"`:                `a backslash in double quotes begins an escape`,
		`working_directory: "C:\temp"`:                    `a backslash in double quotes begins an escape`,
		`linkedin: {interval: 2000}`:                      `must be at most 1m, not 2000 seconds`,
	} {
		if _, err := load(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}

// TestMilliseconds warns of numbers that are times in milliseconds, and of no time that
// people give in seconds.
func TestMilliseconds(t *testing.T) {
	for text, want := range map[string]string{
		"500": "500ms", "1_000": "1s", "1000": "1s", "2000": "2s", "5000": "5s", "10000": "10s", "30000": "30s", "60000": "1m",
		"30": "", "120": "", "300": "", "450": "", "600": "", "900": "", "1200": "", "1800": "", "3600": "", "5400": "", "7200": "", "86400": "", "500s": "", "1000s": "", "0.5": "",
	} {
		l, err := load(t, "limits: {timeout: "+text+"}")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := strings.Join(l.Warnings(), "\n")
		if warned := strings.Contains(got, ":1:19: limits.timeout: "+text+" is "); warned != (want != "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q; want %q", text, got, want)
		}
	}
}

package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
)

// TestProfiles has configurations that keep people apart, and some that do not.
func TestProfiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "work"), 0o700); err != nil {
		t.Fatal(err)
	}
	load := func(text string) (*Loaded, error) {
		file := filepath.Join(dir, "c.yaml")
		if err := os.WriteFile(file, fmt.Appendf(nil, "working_directory: %s\n%s", dir, strings.ReplaceAll(text, "WORK", filepath.Join(dir, "work"))), 0o600); err != nil {
			t.Fatal(err)
		}
		return Load(Overrides{File: file})
	}
	const each = "profiles: [{name: a, working_directory: 'WORK/{principal}'"
	const pods = "sandbox: {driver: kubernetes, kubernetes: {namespace: n, warm_pool: p, token: x"
	for text, want := range map[string]string{
		each + "}]": "",
		"profiles: [{name: a, working_directory: 'WORK/{principal}/files', tools: {bash: {enabled: false}, write_file: {allowed_paths: ['WORK/{principal}/files']}}}]": "",
		"profiles: [{name: a, shared: true}]":                                                 "",
		"profiles: [{name: a}]":                                                               "set either shared: true",
		each + ", shared: true}]":                                                             "set either shared: true",
		each + ", roots: [WORK]}]":                                                            "into each other's files",
		each + ", tools: {write_file: {allowed_paths: [WORK]}}}]":                             "into each other's files",
		each + ", groups: [x]}, {name: b, working_directory: 'WORK/{principal}'}]":            "",
		"profiles: [{name: a, shared: true, tools: {bash: {enabled: false}}}]":                "no settings of its own",
		each + "}, {name: a, shared: true}]":                                                  "that of another profile",
		"profiles: [{name: a, working_directory: '/nowhere/at/all/{principal}'}]":             "has to be there",
		"server: {public_url: https://x.example.com}\nauth: {issuers: [{issuer: https://i}]}": "need a workspace each",
		"sandbox: {enforcement: parse_only}\nserver: {public_url: https://x.example.com}\nauth: {issuers: [{issuer: https://i}]}\nprofiles: [{name: a, shared: true}]": "does not keep people apart",
		"server: {public_url: https://x.example.com, http: '0.0.0.0:1'}\nauth: {issuers: [{issuer: https://i}]}\nprofiles: [{name: a, shared: true}]":                  "go over the network",
		"sandbox: {enforcement: parse_only}\n" + each + "}]":                                    "does not keep people apart",
		"server: {http: '0.0.0.0:1'}\n" + each + "}]":                                           "go over the network",
		"server: {http: '0.0.0.0:1', trusted_proxies: [10.0.0.0/8]}\n" + each + "}]":            "",
		each + ", uid_range: 5-x}]":                                                             "no range of user IDs",
		"profiles: [{name: a, shared: true, uid_range: 100000-100009}]":                         "workspaces of their own",
		pods + "}}\nprofiles: [{name: a}]":                                                      "",
		pods + "}}":                                                                             "add profiles:",
		pods + "}}\nprofiles: [{name: a}, {name: a}]":                                           "that of another profile",
		pods + "}}\nprofiles: [{name: a, shared: true}]":                                        "are for those on this machine",
		pods + "}}\nprofiles: [{name: a, working_directory: 'WORK/{principal}'}]":               "are for those on this machine",
		"sandbox: {driver: kubernetes}\nprofiles: [{name: a}]":                                  "sandbox.kubernetes.namespace",
		each + "}, {name: b, sandbox: {driver: kubernetes, kubernetes: {namespace: n}}}]":       "profiles[1].sandbox.kubernetes.warm_pool",
		pods + ", port: 70000}}\nprofiles: [{name: a}]":                                         "port",
		pods + "}}\nprofiles: [{name: a, sandbox: {kubernetes: {warm_pool: other, idle: 1h}}}]": "",
		pods + "}}\n" + each + ", sandbox: {driver: local}}]":                                   "",
	} {
		if _, err := load(text); (err == nil) != (want == "") || want != "" && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	l, err := load("sandbox: {network: {allow: [example.com]}}\nlimits: {per_tool: 3}\ntools: {bash: {denied_commands: [rm], timeout: 5s}}\n" + each +
		", groups: [Eng], network: none, limits: {per_principal: 2}, tools: {bash: {denied_commands: [git]}}}, {name: b, shared: true}]")
	if err != nil {
		t.Fatal(err)
	}
	eng, other := l.ProfileOf(domain.Principal{Groups: []string{"eng"}}), l.ProfileOf(domain.Principal{})
	if eng.Name != "a" || other.Name != "b" {
		t.Errorf("%+v, %+v", eng, other)
	}
	ann, err := l.Workspace(eng, "token:ann")
	if err != nil {
		t.Fatal(err)
	}
	policy, before := ann.Policy(), l.Policy()
	if bash := policy.Tools["bash"]; len(bash.DeniedCommands) != 1 || reflect.DeepEqual(bash.DeniedCommands, before.Tools["bash"].DeniedCommands) || ann.Tools["bash"].Timeout != l.Tools["bash"].Timeout ||
		len(policy.Settings.Network.Allow) != 0 || len(before.Settings.Network.Allow) != 1 || ann.Limits.PerPrincipal != 2 || ann.Limits.PerTool != 3 || l.Limits.PerPrincipal == 2 {
		t.Errorf("%+v", policy)
	}
	if info, err := os.Stat(ann.WorkingDirectory); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info, err)
	}
	bob := PrincipalDirectory("token:bob")
	if err := os.Symlink(ann.WorkingDirectory, filepath.Join(dir, "work", bob)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Workspace(eng, "token:bob"); err == nil {
		t.Error("a link in place of the directory")
	}
}

// TestPrincipalDirectory names directories of whoever there may be.
func TestPrincipalDirectory(t *testing.T) {
	seen := map[string]string{}
	for _, id := range []string{"token:ann", "https://a#ann", "https://b#ann", "token:ANN", "token:a/../b", "token:", "token:" + strings.Repeat("é", 300), "token:.", "https://a#\x00\n", "x"} {
		name := PrincipalDirectory(id)
		if seen[name] != "" || name != filepath.Base(name) || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || name[0] == '-' || len(name) > 64 {
			t.Errorf("%q of %q and %q", name, id, seen[name])
		}
		seen[name] = id
	}
}

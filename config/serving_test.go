package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/sandbox"
)

// TestServing has an address, origin, host or path that nobody could reach, each with what
// to write instead.
func TestServing(t *testing.T) {
	for yaml, want := range map[string]string{
		"http: nonsense":                               `1:10: server.http: "nonsense" is not an address to serve on; write HOST:PORT`,
		"http: 127.0.0.1:99999":                        `"127.0.0.1:99999" is not an address`,
		"http: 'http://127.0.0.1:80'":                  "is not an address",
		"path: mcp":                                    `server.path: must start with /, not "mcp"`,
		"path: '/mcp?x'":                               "is more than a path",
		"path: /livez":                                 "is that of a probe",
		"allowed_origins: [example.com]":               `1:28: server.allowed_origins[0]: "example.com" is not an origin`,
		"allowed_origins: ['*']":                       "any web page could use the server",
		"allowed_origins: ['https://a.com/']":          "never sent by a browser; write https://a.com",
		"allowed_origins: ['https://A.com:443/x']":     "write https://a.com",
		"allowed_origins: ['https://*.a.com']":         "is not an origin",
		"allowed_hosts: ['https://x']":                 `1:26: server.allowed_hosts[0]: "https://x" is not a host name`,
		"allowed_hosts: ['*.example.com']":             "has a wildcard",
		"allowed_hosts: ['[::1]']":                     "is not a host name",
		"allowed_hosts: ['']":                          "is not a host name",
		"http: ':8080'":                                "",
		"http: '[::1]:0'":                              "",
		"http: 'localhost:http'":                       "",
		"allowed_origins: ['http://localhost:3000']":   "",
		"allowed_origins: ['chrome-extension://abcd']": "",
		"allowed_hosts: [a, 'b:8080', 10.0.0.1, '::1', '[::1]:80', a_b.example]": "",
	} {
		_, err := load(t, "server: {"+yaml+"}\n")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v; want %q", yaml, err, want)
		}
	}
	if _, err := load(t, "mcp_servers: {a: {command: x, tools: {deny: ['a[']}}}\n"); err == nil || !strings.Contains(err.Error(), `1:46: mcp_servers.a.tools.deny[0]: "a[" is not a pattern`) {
		t.Error(err)
	}
}

// TestGroupsNobodyHas warns of groups that keep everybody out, and of users that nobody is.
func TestGroupsNobodyHas(t *testing.T) {
	hash := "sha256:" + strings.Repeat("ab", 32)
	l, err := load(t, `
server: {tokens: [{name: ann, hash: "`+hash+`", groups: [Staff]}]}
users:
  ann: {groups: [ops]}
  local: {groups: [desk]}
  bob: {groups: [elsewhere]}
tools:
  bash: {groups: [staf, OPS, elsewhere]}
  echo: {groups: [staff, desk]}
resources: {health: {groups: [nobody]}}
prompts: {}
mcp_servers: {up: {command: x, groups: [deskk]}}
`)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(l.Warnings(), "\n")
	for _, want := range []string{
		`:6:3: users.bob: no token has the name "bob", nor has server.user; known: local, anonymous, ann`,
		`:8:19: tools.bash.groups[0]: nobody is in the group "staf": no entry of server.tokens has it, nor the user local; did you mean Staff?`,
		`:8:30: tools.bash.groups[2]: nobody is in the group "elsewhere"`,
		`:10:31: resources.health.groups[0]: nobody is in the group "nobody"`,
		`:12:41: mcp_servers.up.groups[0]: nobody is in the group "deskk"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if n := strings.Count(got, "\n"); n != 4 {
		t.Errorf("got\n%s", got)
	}
}

// TestHomeDirectory warns where a home directory is served, however that was said.
func TestHomeDirectory(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(base, "me")
	project, link := filepath.Join(home, "project"), filepath.Join(base, "link")
	if err := os.MkdirAll(project, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(home, link); err != nil {
		t.Skip(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(base, "none"))
	t.Setenv("TOOLSERVER_CONFIG", "")
	for _, test := range []struct {
		in    string
		given []string
		yaml  string
		warns string // a part; none if empty
	}{
		{home, nil, "", "was started in " + home},
		{base, nil, "", "was started in " + base},
		{project, nil, "", ""},
		{home, []string{home}, "", home + " is served"},
		{home, []string{"."}, "", home + " is served"},
		{project, []string{".."}, "", home + " is served"},
		{project, []string{link}, "", link + " is served"},
		{project, []string{"/"}, "", "/ is served"},
		{home, []string{"project", home}, "", home + " is served"},
		{home, []string{"project"}, "", ""},
		{project, nil, "working_directory: " + home, home + " is served"},
		{project, nil, "roots: [" + base + "]", base + " is served"},
		{home, nil, "working_directory: " + project, ""},
	} {
		t.Chdir(test.in)
		o := config.Overrides{Directories: test.given}
		if test.yaml != "" {
			o.File = filepath.Join(base, "c.yaml")
			if err := os.WriteFile(o.File, []byte(test.yaml+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		l, err := config.Load(o)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(l.Warnings(), "\n")
		if strings.Contains(got, "all of your home directory") != (test.warns != "") || !strings.Contains(got, test.warns) {
			t.Errorf("%+v: %q", test, got)
		}
	}
	t.Chdir(home)
	for given, want := range map[string]string{
		"~/project": "the directory ~/project does not exist: only shells replace ~; write " + project,
		"projekt":   "write an absolute path",
	} {
		if _, err := config.Load(config.Overrides{Directories: []string{given}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", given, err)
		}
	}
}

// TestOwnFiles keeps from tools what replicas and pods are known by.
func TestOwnFiles(t *testing.T) {
	l, err := load(t, "server: {keys: [{id: k1, file: k1.key}]}\nstore: {url: 'redis://h', password_file: store.pw}\n"+
		"sandbox: {driver: kubernetes, kubernetes: {namespace: n, warm_pool: p, tls: {ca: ca.crt, cert: c.crt, key: pods.key}}}\nprofiles: [{name: a}]")
	if err != nil {
		t.Fatal(err)
	}
	own := l.Policy().Own
	for _, name := range []string{"k1.key", "store.pw", "pods.key"} {
		if !slices.ContainsFunc(own, func(f sandbox.OwnFile) bool { return filepath.Base(f.Path) == name && f.Secret }) {
			t.Errorf("%s may be read", name)
		}
	}
}

// TestKeys names keys that cannot be used.
func TestKeys(t *testing.T) {
	dir := t.TempDir()
	for name, secret := range map[string]string{"k": strings.Repeat("k", 32), "short": "k"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for keys, want := range map[string]string{
		"{id: a, file: k}, {id: b, file: k}": "",
		"{id: a, file: k}, {id: a, file: k}": `server.keys[1].id: each key needs a name that no other has, not "a"`,
		"{file: k}":                          `server.keys[0].id: each key needs a name`,
		"{id: a, file: short}":               "server.keys[0].file: the key has 1 bytes",
		"{id: a, file: none}":                "server.keys[0].file: ",
	} {
		l, err := load(t, "server: {keys: ["+strings.ReplaceAll(keys, "file: ", "file: "+filepath.ToSlash(dir)+"/")+"]}\n")
		if err == nil {
			_, err = config.Keys(l)
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v; want %q", keys, err, want)
		}
	}
}

// TestApprovals has settings of approvals that have no effect, or cannot be obeyed.
func TestApprovals(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("s", 16)), 0o600); err != nil {
		t.Fatal(err)
	}
	for yaml, want := range map[string]string{
		"enabled: true": "",
		"enabled: true, second: [bash, 'files__*']":                              "",
		"enabled: true, webhook: {url: 'https://a.com/', secret_file: '#'}":      "",
		"enabled: true, webhook: {url: 'https://a.com/', format: slack}":         "",
		"enabled: true, wait: 11m":                                               "approvals.wait",
		"enabled: true, expires: 0s":                                             "approvals.expires",
		"enabled: true, second: ['a[']":                                          "is not a pattern",
		"enabled: true, webhook: {url: 'ftp://a.com'}":                           "approvals.webhook.url",
		"enabled: true, webhook: {url: 'https://a.com/'}":                        "what is sent as JSON is signed",
		"enabled: true, webhook: {url: 'https://a.com/', secret_file: /nowhere}": "approvals.webhook.secret_file",
		"second: [bash]": "nobody is asked: set enabled: true",
		"webhook: {url: 'https://a.com/', format: ntfy}": "nobody is asked: set enabled: true",
	} {
		l, err := load(t, "approvals: {"+strings.ReplaceAll(yaml, "#", filepath.ToSlash(secret))+"}\n")
		if err == nil {
			err = config.CheckApprovals(l)
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v; want %q", yaml, err, want)
		}
	}
	l, err := load(t, "approvals: {enabled: true, second: [bash, bsh]}\n")
	if err != nil {
		t.Fatal(err)
	}
	if warnings, err := l.CheckNames(config.Names{Tools: []string{"bash"}}); err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], `"bsh" is the name of no tool`) {
		t.Errorf("%q, %v", warnings, err)
	}
}

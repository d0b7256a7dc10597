//go:build unix

package e2e

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"gopkg.in/yaml.v3"

	"github.com/toolserver/toolserver/test/fakes/covered"
)

// operator runs commands as an operator does, in a directory of their own.
type operator struct {
	t   *testing.T
	dir string
	env []string
}

func newOperator(t *testing.T) *operator {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return &operator{t: t, dir: dir, env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "XDG_STATE_HOME=" + filepath.Join(dir, "state"),
		"XDG_CACHE_HOME=/dev/null/x", "XDG_CONFIG_HOME=" + filepath.Join(dir, "none"),
	}}
}

func (o *operator) file(name, text string) string {
	o.t.Helper()
	path := filepath.Join(o.dir, name)
	must(o.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// run runs the program in the directory. A server gets no input, and ends with that.
func (o *operator) run(args ...string) (stdout, stderr string, code int) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary(), args...)
	cmd.Dir, cmd.Env = o.dir, append(covered.Env(), o.env...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok || ctx.Err() != nil {
			o.t.Fatalf("%q: %v\n%s", args, err, errOut.String())
		}
		code = exit.ExitCode()
	}
	return out.String(), errOut.String(), code
}

// certificate writes a certificate and its key.
func (o *operator) certificate(name string, from, until time.Time) {
	o.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(o.t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: until, DNSNames: []string{"localhost"}}
	cert, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	must(o.t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(o.t, err)
	o.file(name+".pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})))
	o.file(name+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
}

// TestCheckFindsWhatServeRefuses has check and serve say the same, at the same place.
func TestCheckFindsWhatServeRefuses(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	now := time.Now()
	o.certificate("good", now.Add(-time.Hour), now.Add(24*time.Hour))
	o.certificate("other", now.Add(-time.Hour), now.Add(24*time.Hour))
	o.certificate("old", now.Add(-48*time.Hour), now.Add(-24*time.Hour))
	o.certificate("young", now.Add(24*time.Hour), now.Add(48*time.Hour))
	o.file("broken.pem", "nothing\n")
	must(t, os.Mkdir(filepath.Join(o.dir, "folder"), 0o700))
	const http = "http: '127.0.0.1:0', "
	for yaml, want := range map[string]string{
		"server: {" + http + "tls: {cert: none.pem, key: good.key}}\n":                                "c.yaml:1:37: server.tls.cert: open DIR/none.pem: no such file",
		"server: {" + http + "tls: {cert: good.pem, key: none.key}}\n":                                "c.yaml:1:53: server.tls.key: open DIR/none.key: no such file",
		"server: {" + http + "tls: {cert: good.pem, key: folder}}\n":                                  "server.tls.key: read DIR/folder: is a directory",
		"server: {" + http + "tls: {cert: good.pem, key: other.key}}\n":                               "c.yaml:1:31: server.tls: DIR/good.pem with DIR/other.key: private key does not match public key",
		"server: {" + http + "tls: {cert: broken.pem, key: good.key}}\n":                              "server.tls: DIR/broken.pem with DIR/good.key: failed to find any PEM data",
		"server: {" + http + "tls: {cert: good.pem, key: good.key, client_ca: broken.pem}}\n":         "server.tls.client_ca: DIR/broken.pem has no certificate in PEM",
		"server: {" + http + "tls: {cert: old.pem, key: old.key}}\n":                                  "server.tls.cert: DIR/old.pem expired on ",
		"server: {" + http + "tls: {cert: young.pem, key: young.key}}\n":                              "server.tls.cert: DIR/young.pem is not valid before ",
		"server: {" + http + "tls: {cert: good.pem}}\n":                                               "server.tls: set both cert and key",
		"server: {" + http + "diagnostics: '127.0.0.1:0'}\ntelemetry: {otlp: {headers_file: none}}\n": "c.yaml:2:1: telemetry: open DIR/none: no such file",
		"logging: {file: nowhere/x.log}\n":                                                            "c.yaml:1:11: logging.file: open DIR/nowhere/x.log: no such file",
		"logging: {file: folder}\n":                                                                   "logging.file: open DIR/folder: is a directory",
		"server: {" + http + "allowed_origins: [example.com]}\n":                                      `server.allowed_origins[0]: "example.com" is not an origin`,
		"server: {" + http + "allowed_hosts: ['https://x']}\n":                                        `server.allowed_hosts[0]: "https://x" is not a host name`,
		"server: {http: nonsense}\n":                                                                  `server.http: "nonsense" is not an address`,
		"server: {http: '127.0.0.1:99999'}\n":                                                         `"127.0.0.1:99999" is not an address`,
		"server: {http: '0.0.0.0:0'}\n":                                                               "0.0.0.0:0 is not a loopback address and neither tokens nor issuers are configured",
		"tools: {bash: {timeout: soon}}\n":                                                            "c.yaml:1:25: tools.bash.timeout must be ",
		"tools: {bash: {timeout: 25h}}\n":                                                             "c.yaml:1:25: tools.bash.timeout must be at most 24h",
		"tools: {system_info: {mask: ['(']}}\n":                                                       `c.yaml:1:30: tools.system_info.mask[0]: `,
		"tools: {bash: {allowed_commands: ['git (']}}\n":                                              `c.yaml:1:35: tools.bash.allowed_commands[0]: "git ("`,
		"tools: {bash: {allowed_commands: ['']}}\n":                                                   `c.yaml:1:35: tools.bash.allowed_commands[0]: ""`,
		"tools: {bash: {denied_commands: ['^rm']}}\n":                                                 `c.yaml:1:34: tools.bash.denied_commands[0]: "^rm"`,
		"tools: {read_file: {denied_paths: ['regex:.*']}}\n":                                          `c.yaml:1:36: tools.read_file.denied_paths[0]: `,
		"tools: {web_fetch: {denied_hosts: ['*.a.com']}}\n":                                           `c.yaml:1:36: tools.web_fetch.denied_hosts[0]: `,
		"mcp_servers: {a: {command: x, tools: {deny: ['[']}}}\n":                                      `c.yaml:1:46: mcp_servers.a.tools.deny[0]: `,
		"web: {search: {providers: [gogle]}}\n":                                                       `c.yaml:1:28: web.search.providers[0]: `,
		"sandbox: {network: {allow: ['https://a.org']}}\n":                                            `c.yaml:1:29: sandbox.network.allow[0]: `,
		"server: {tokens: [{name: ann, hash: 'sha256:12'}]}\n":                                        `c.yaml:1:31: server.tokens[0].hash: `,
		"working_directory: nowhere\n":                                                                `c.yaml:1:1: working_directory: `,
		"roots: [., nowhere]\n":                                                                       `c.yaml:1:12: roots[1]: `,
		"mcpServers: {files: {command: npx}}\n":                                                       "toolserver config import FILE takes over",
		"allowed_directories: [.]\n":                                                                  `did you mean "roots"?`,
		"working_dir: .\n":                                                                            `did you mean "working_directory"?`,
		"server: {" + http + "path: mcp}\n":                                                           "server.path: must start with /",
		"tools: {bassh: {enabled: false}}\n":                                                          `c.yaml:1:9: tools.bassh: there is no tool "bassh"; did you mean bash?`,
	} {
		c := o.file("c.yaml", yaml)
		want = strings.ReplaceAll(want, "DIR", o.dir)
		if out, _, code := o.run("check", "-c", c); code != 1 || !strings.Contains(out, want) {
			t.Errorf("check of %s ends with %d, without %q:\n%s", yaml, code, want, out)
		}
		if _, said, code := o.run("serve", "-c", c); code == 0 || !strings.Contains(said, want) {
			t.Errorf("serve with %s ends with %d, without %q:\n%s", yaml, code, want, said)
		}
	}
	if out, _, code := o.run("check", "-c", o.file("c.yaml", "server: {http: '192.0.2.1:80', tokens: [{name: a, hash: 'sha256:"+strings.Repeat("ab", 32)+"'}]}\n")); code != 1 || !strings.Contains(out, "192.0.2.1:80: no interface of this machine") {
		t.Errorf("a foreign address: %s", out)
	}
	c := o.file("c.yaml", "server: {"+http+"tls: {cert: good.pem, key: good.key}}\nlogging: {file: new.log}\n")
	out, _, _ := o.run("check", "-c", c)
	contain(t, "check", out, "tls            "+o.dir+"/good.pem, valid until "+now.Add(24*time.Hour).UTC().Format(time.DateOnly), "log            "+o.dir+"/new.log")
	if strings.Contains(out, "fail tls") || strings.Contains(out, "fail log") {
		t.Error(out)
	}
	if _, err := os.Stat(filepath.Join(o.dir, "new.log")); err == nil {
		t.Error("check has left a log")
	}
}

// TestCheckNotes has a note for what may be meant so: groups nobody is in, paths and
// commands that are not there, a home directory.
func TestCheckNotes(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	c := o.file("c.yaml", "working_directory: .\ntools:\n  bash: {groups: [nobodyhas], allowed_commands: [ls, frobnicate]}\n  read_file: {denied_paths: [docs]}\nusers: {local: {groups: [nobodyhad]}}\n")
	out, _, _ := o.run("check", "-c", c)
	contain(t, "check", out,
		`c.yaml:3:19: tools.bash.groups[0]: nobody is in the group "nobodyhas": no entry of server.tokens has it, nor the user local; did you mean nobodyhad?`,
		`c.yaml:3:54: tools.bash.allowed_commands[1]: "frobnicate" matches nothing here now`,
		`c.yaml:4:30: tools.read_file.denied_paths[0]: "docs" matches nothing here now`)
	if _, said, code := o.run("serve", "-c", c); code != 0 || !strings.Contains(said, "nobodyhas") {
		t.Errorf("serve ends with %d:\n%s", code, said)
	}
	const home = "tools may use all of your home directory"
	o.env = append(o.env, "HOME="+o.dir)
	out, _, _ = o.run("check")
	contain(t, "check in a home directory", out, "warn warning        "+home)
	_, said, _ := o.run("serve", "--stdio")
	contain(t, "serve in a home directory", said, home, "set working_directory")
	for _, args := range [][]string{{"serve", "--stdio", "."}, {"serve", "--stdio", "--config", c}} {
		_, said, _ := o.run(args...)
		contain(t, fmt.Sprint(args), said, home, o.dir+" is served")
	}
	for given, want := range map[string]string{
		"~/project": "the directory ~/project does not exist: only shells replace ~; write " + o.dir + "/project",
		"relative":  "the directory " + o.dir + "/relative does not exist: it starts where the server is started, which a client chooses; write an absolute path",
	} {
		if _, said, code := o.run("serve", "--stdio", given); code != 2 || !strings.Contains(said, want) {
			t.Errorf("serve %s ends with %d: %s", given, code, said)
		}
	}
}

// TestInstallAsks asks on a terminal before it adds an entry that serves the home directory.
func TestInstallAsks(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("script"); err != nil {
		t.Skip(err)
	}
	for says, want := range map[string]string{"n\n": "nothing was changed", "\n": "nothing was changed", "y\n": "cursor: added in"} {
		o := newOperator(t)
		o.env = append(o.env, "HOME="+o.dir)
		cmd := exec.Command("script", "-qec", binary()+" install cursor", "/dev/null")
		cmd.Dir, cmd.Env, cmd.Stdin = o.dir, append(covered.Env(), o.env...), strings.NewReader(says)
		out, _ := cmd.CombinedOutput()
		contain(t, fmt.Sprintf("%q", says), string(out), "This would let tools use all of your home directory ("+o.dir+")", "[y/N]", want)
		if _, err := os.Stat(filepath.Join(o.dir, ".cursor", "mcp.json")); (err == nil) != (says == "y\n") {
			t.Errorf("%q: %v", says, err)
		}
	}
}

// TestConfigShow prints what is in force so that it can be read again from anywhere, with
// the same effect and the same bytes, and without secrets.
func TestConfigShow(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	must(t, os.MkdirAll(filepath.Join(o.dir, "sub", "key"), 0o700))
	o.file("sub/key/file", "key-from-a-file\n")
	o.env = append(o.env, "BRAVE_API_KEY=brave-from-env", "HUB_TOKEN=hub-from-env", "PORT=127.0.0.1:0")
	hash := "sha256:" + strings.Repeat("ab", 32)
	o.file("sub/seed.yaml", `
tools:
  execute_command:
    allowed_commands: [ls, cat, grep, find]
    denied_commands: [rm, sudo, chmod]
    timeout: 30
  write_file:
    allowed_paths: [/tmp, ./output]
    denied_paths: [/etc, /usr]
`)
	o.file("sub/all.yaml", `
working_directory: .
roots: [..]
server: {http: "${PORT}", tokens: [{name: ann, hash: "`+hash+`", groups: [staff], expires: 2030-01-01T00:00:00Z}]}
tools:
  bash: {timeout: 90, allowed_commands: [ls, {name: go, args_deny: [-exec]}], denied_commands: [], inline_code: deny}
  read_file: {denied_paths: ["*.key", docs], search_parents: true, groups: [staff]}
  write_file: {create_dirs: false, allowed_paths: []}
  web_fetch: {enabled: false}
  hub__search: {confirm: true}
  google: {tier: full}
sandbox: {network: {allow: ["*.example.org:443"]}, env: {A: "${HUB_TOKEN}"}, protect_default: false, limits: {memory: 1GiB}}
anthropic: {api_key: plain-secret-key}
google: {client_id: me, client_secret: "${file:key/file}"}
mcp_servers:
  hub: {url: "https://example.com/mcp", headers: {Authorization: "Bearer ${HUB_TOKEN}", X-Api-Key: plain-header-key}, enabled: false}
  local: {command: [sh, -c, x], enabled: false, tools: {allow: ["a*"]}}
users: {ann: {groups: [ops], compliance_level: high}}
compliance: {levels: {high: {allowed_with: [low]}, low: {}}}
resources: {config: {groups: [ops]}}
prompts: {}
`)
	for _, args := range [][]string{nil, {"-C", "sub"}, {"-c", "sub/seed.yaml"}, {"-c", "sub/all.yaml"}} {
		shown, said, code := o.run(append([]string{"config", "show"}, args...)...)
		if code != 0 {
			t.Fatalf("config show %q: %s", args, said)
		}
		for _, secret := range []string{"from-env", "from-a-file", "plain-"} {
			if strings.Contains(shown, secret) {
				t.Errorf("config show %q shows %q:\n%s", args, secret, shown)
			}
		}
		x := o.file("x.yaml", shown)
		again, said, _ := o.run("config", "show", "-c", x)
		if again != shown {
			t.Errorf("config show %q:\n%s\nread again: %s\n%s", args, shown, said, again)
		}
		if out, _, _ := o.run("check", "-c", x); !strings.Contains(out, "ok   configuration  "+x) {
			t.Errorf("check of what config show %q prints:\n%s\n%s", args, out, shown)
		}
		for _, odd := range []string{"null", "memory: 0\n", `""`} {
			if strings.Contains(shown, odd) {
				t.Errorf("config show %q has %q:\n%s", args, odd, shown)
			}
		}
	}
	shown, _, _ := o.run("config", "show", "-c", "sub/all.yaml")
	contain(t, "config show", shown,
		"working_directory: "+o.dir+"/sub\n", "roots: ["+o.dir+"]\n", "api_key: ${BRAVE_API_KEY}\n", "A: ${HUB_TOKEN}\n", "Authorization: Bearer ${HUB_TOKEN}\n",
		`X-Api-Key: "********"`, "client_secret: ${file:"+o.dir+"/sub/key/file}\n", "http: ${PORT}\n", "memory: 1GiB\n", "state_directory: "+o.dir+"/state/toolserver\n",
		"  write_file:\n    allowed_paths: []\n    create_dirs: false\n", "  web_fetch:\n    enabled: false\n")
}

// TestConfigResource is the same text as config show prints.
func TestConfigResource(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	c := o.file("c.yaml", "working_directory: .\ntools: {bash: {timeout: 5}}\n")
	o.env = append(o.env, "HOME=/nonexistent", "XDG_STATE_HOME=") // as that of the server is
	shown, _, _ := o.run("config", "show", "-c", c)
	s := start(t, "-c", c)
	var read struct{ Contents []struct{ Text string } }
	must(t, json.Unmarshal(s.request("resources/read", map[string]string{"uri": "config://server"}), &read))
	if len(read.Contents) != 1 || read.Contents[0].Text != shown {
		t.Errorf("the resource is\n%s\nconfig show\n%s", read.Contents, shown)
	}
}

// TestConfigInit writes a file whose keys can be set by removing the comment sign, some
// and all together, and which changes nothing as it is.
func TestConfigInit(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	bare, _, _ := o.run("config", "show", "-C", o.dir)
	if _, said, code := o.run("config", "init", "c.yaml"); code != 0 {
		t.Fatal(said)
	}
	text, err := os.ReadFile(filepath.Join(o.dir, "c.yaml"))
	must(t, err)
	contain(t, "the file", string(text), "# yaml-language-server: $schema=toolserver.schema.json\n", "toolserver config schema > toolserver.schema.json\n")
	if same, said, _ := o.run("config", "show", "-c", "c.yaml", "-C", o.dir); same != bare {
		t.Errorf("the file changes the defaults: %s\n%s\nfrom\n%s", said, same, bare)
	}
	setting := regexp.MustCompile(`(?m)^( *)#([a-z_]+: )`)
	if n := len(setting.FindAll(text, -1)); n < 70 {
		t.Errorf("only %d keys in\n%s", n, text)
	}
	// Each key without its neighbours: a program for each would take as long as many tests.
	const apart = 10
	for first := range apart {
		i, keys := 0, []string{}
		some := setting.ReplaceAllStringFunc(string(text), func(key string) string {
			if i++; i%apart != first {
				return key
			}
			keys = append(keys, strings.TrimSpace(key))
			return strings.Replace(key, "#", "", 1)
		})
		if _, said, code := o.run("config", "show", "-c", o.file("some.yaml", some)); code != 0 {
			t.Errorf("one of %q: %s", keys, said)
		}
	}
	// Not check, which would start the servers of the examples, and fetch one.
	all := setting.ReplaceAll(text, []byte("$1$2"))
	if _, said, code := o.run("config", "show", "-c", o.file("all.yaml", string(all))); code != 0 {
		t.Error(said)
	}
}

// TestConfigSchema refuses what check refuses, and accepts what config show prints.
func TestConfigSchema(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	text, said, code := o.run("config", "schema")
	if code != 0 {
		t.Fatal(said)
	}
	compiler := jsonschema.NewCompiler()
	must(t, compiler.AddResource("config.json", strings.NewReader(text)))
	schema, err := compiler.Compile("config.json")
	must(t, err)
	shown, _, _ := o.run("config", "show", "-C", o.dir)
	for _, file := range []struct {
		yaml string
		good bool
	}{
		{shown, true},
		{"tools: {execute_command: {allowed_commands: [ls], denied_commands: [rm], timeout: 30}, write_file: {allowed_paths: [/tmp, ./output], denied_paths: [/etc]}}\n", true},
		{"tools: {other__tool: {enabled: false}}\nmcp_servers: {other: {command: sh, enabled: false}}\n", true},
		{"tools: {frobnicate: {enabled: false}}\n", false},
		{"tools: {bash: {search_parents: true}}\n", false},
		{"tools: {write_file: {allowed_hosts: [x]}}\n", false},
		{"tools: {bash: {timeout: 100000}}\n", false},
		{"tools: {bash: {timeout: 0s}}\n", false},
		{"tools: {bash: {denied_commands: ['^rm']}}\n", false},
		{"server: {allowed_origins: [example.com]}\n", false},
		{"sandbox: {presets: [cobol]}\n", false},
		{"prompts: {nonesuch: {enabled: false}}\n", false},
	} {
		out, _, _ := o.run("check", "-c", o.file("c.yaml", file.yaml))
		var v any
		must(t, yaml.Unmarshal([]byte(file.yaml), &v))
		raw, err := json.Marshal(v)
		must(t, err)
		must(t, json.Unmarshal(raw, &v))
		if invalid := schema.Validate(v); (invalid == nil) != file.good || strings.Contains(out, "ok   configuration") != file.good {
			t.Errorf("%s: the schema says %v, check\n%s", file.yaml, invalid, out)
		}
	}
}

// TestFailedAuthenticationIsLogged guesses tokens in a flood from one address, and once
// from another: the log has both, in a few lines, and nothing of what was guessed.
func TestFailedAuthenticationIsLogged(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	c := o.file("c.yaml", "working_directory: .\nlogging: {format: json}\nserver: {tokens: ["+tokenEntry("ann", "the-token-of-ann")+"]}\n")
	s := startHTTP(t, binary(), "--config", c)
	ask := func(from, token string) int {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		client := &http.Client{Transport: &http.Transport{DialContext: d.DialContext, MaxIdleConnsPerHost: 8}, Timeout: patience}
		defer client.CloseIdleConnections()
		status := 0
		for i := range map[bool]int{true: 2000, false: 1}[token == "flood"] {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, strings.NewReader(initializeMessage("2025-11-25")))
			must(t, err)
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			if token != "" {
				req.Header.Set("Authorization", fmt.Sprintf("Bearer %s-guess-%d", token, i))
			}
			r, err := client.Do(req)
			must(t, err)
			_, _ = io.Copy(io.Discard, r.Body)
			r.Body.Close()
			status = r.StatusCode
		}
		return status
	}
	if got := ask("127.0.0.1", ""); got != 401 {
		t.Fatalf("without a token: %d", got)
	}
	ask("127.0.0.2", "flood")
	ask("127.0.0.3", "slow")
	failed := func() int { return strings.Count(s.log(), "authentication failed") }
	eventually(t, "the log has each address", func() bool { return failed() >= 3 })
	if n := failed(); n != 3 {
		t.Errorf("%d lines:\n%s", n, s.log())
	}
	must(t, s.cmd.Process.Signal(syscall.SIGTERM))
	s.end()
	log := s.log()
	contain(t, "the log", log,
		`"address":"127.0.0.1","reason":"a bearer token is required"`, `"address":"127.0.0.2","reason":"the bearer token is not known"`, `"address":"127.0.0.3"`,
		`"attempts":2001,"addresses":2,"more_addresses":false,"most_from":"127.0.0.2","most":2000`)
	if strings.Contains(log, "guess") || failed() != 4 {
		t.Errorf("the log is\n%s", log)
	}
}

// TestCheckWithoutShell runs check where there is no shell, as in an image that has nothing
// but the program.
func TestCheckWithoutShell(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root may change the root directory")
	}
	o := newOperator(t)
	for _, dir := range []string{"data", "tmp"} {
		must(t, os.Mkdir(filepath.Join(o.dir, dir), 0o700))
	}
	// Not written here: a process that another test starts meanwhile would have it open for writing.
	must(t, exec.Command("cp", binary(), filepath.Join(o.dir, "toolserver")).Run())
	o.file("off.yaml", "working_directory: /data\ntools: {bash: {enabled: false}, execute_command: {enabled: false}}\n")
	check := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "/toolserver", append([]string{"check"}, args...)...)
		cmd.Path, cmd.Dir, cmd.Env, cmd.SysProcAttr = "/toolserver", "/data", []string{"PATH=/bin"}, &syscall.SysProcAttr{Chroot: o.dir}
		out, _ := cmd.CombinedOutput() // it fails, as there are no processes to look at
		return string(out)
	}
	if out := check(); !strings.Contains(out, "off  tool           unavailable: bash, execute_command, bash_jobs (source shell): needs a shell, bash or sh") {
		t.Errorf("check says\n%s", out)
	}
	if out := check("-c", "/off.yaml"); !strings.Contains(out, "ok   configuration") || strings.Contains(out, " shell ") {
		t.Errorf("check without commands says\n%s", out)
	}
}

// TestExplainTellsWhatTheSandboxStops has what the kernel will stop beside what the call
// then does.
func TestExplainTellsWhatTheSandboxStops(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	for command, stopped := range map[string]string{
		"touch /etc/zz":                "it writes /etc/zz, which is outside the allowed paths",
		"echo x > /etc/zz":             "it writes /etc/zz",
		"rm -rf /usr/share/nothing":    "it writes /usr/share/nothing",
		"curl -s http://example.com":   "it connects to example.com, and commands may reach nothing",
		"echo x > here && cat here":    "",
		"ls /etc":                      "",
		"git -C . status || echo none": "",
	} {
		out, said, code := o.run("explain", "-C", o.dir, "bash", command)
		if stopped == "" && (code != 0 || !strings.HasPrefix(out, "verdict:  allowed\n")) || stopped != "" && (code != 1 || !strings.Contains(out, "the sandbox will stop it: "+stopped)) {
			t.Errorf("explain bash %q ends with %d:\n%s%s", command, code, out, said)
		}
		if _, _, code := o.run("call", "-C", o.dir, "bash", command); (code == 0) != (stopped == "") && !strings.HasPrefix(command, "rm -rf") {
			t.Errorf("call bash %q ends with %d", command, code)
		}
	}
}

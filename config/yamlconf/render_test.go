package yamlconf_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/config/yamlconf"
	"github.com/toolserver/toolserver/domain/structschema"
)

const everything = `
working_directory: /srv
errors: result
server:
  name: front
  tokens:
    - {user: ann, hash: abcdef123}
    - {user: bob, hash: "${TOKEN_VALUE}"}
  tls: {cert: /c.pem, key: /k.pem}
limits: {max_result: 5MB, strict: false, ratio: 1e-7, codes: [0, 1]}
tools:
  bash: {timeout: 0.25, allowed_commands: [ls, "true", "a b", "${x}", "007", "-", "..", ./x, "#"]}
  other: {enabled: true, timeout: 10m}
mcp_servers:
  a: http://${HOST}/mcp
  "b c": {url: run, headers: {X: y, Z: ""}}
env: {KEY: plain-text-key}
prefixes: [10.0.0.0/8, "::1/128"]
labels: {copy: s3cr3t-token, "<<": "\u0085\u0007\ufeff\u2028é😀"}
`

func TestShow(t *testing.T) {
	c, source, err := decode(strings.ReplaceAll(everything, `"${x}"`, `"$${x}"`))
	if err != nil {
		t.Fatal(err)
	}
	c.Labels["zone"] = "z"
	const want = `working_directory: /srv
errors: result
server:
  name: front
  port: 8080
  tokens:
    - user: ann
      hash: "********"
    - user: bob
      hash: ${TOKEN_VALUE}
  tls:
    cert: /c.pem
    key: /k.pem
limits:
  max_result: 5000000
  ratio: 1e-07
  retries: 3
  strict: false
  codes: [0, 1]
tools:
  bash:
    enabled: true
    timeout: 250ms
    allowed_commands: [ls, "true", a b, '$${x}', "007", '-', .., ./x, '#']
    allowed_paths: [/tmp, /var/tmp]
  execute_command:
    enabled: true
    timeout: 1m30s
    allowed_commands: []
  other:
    enabled: true
    timeout: 10m
mcp_servers:
  a: http://${HOST}/mcp
  b c:
    url: run
    headers:
      X: "********"
      Z: ""
env:
  KEY: "********"
prefixes: [10.0.0.0/8, '::1/128']
labels:
  "<<": "\N\a\uFEFF\Lé\U0001F600"
  copy: "********"
  zone: z
`
	if got := string(yamlconf.Show(c, defaults(), source)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	secrets := strings.Join(source.Secrets(), ",")
	if secrets != "abcdef123,example.org,http://example.org/mcp,plain-text-key,s3cr3t-token" {
		t.Errorf("secrets %s", secrets)
	}
	if got := string(yamlconf.Show(&c, defaults(), new(yamlconf.Source))); strings.Contains(got, "abcdef123") {
		t.Errorf("without a source got\n%s", got)
	}
	if got := string(yamlconf.Show(struct{}{}, struct{}{}, new(yamlconf.Source))); got != "{}\n" {
		t.Errorf("an empty struct shows as %q", got)
	}
}

func TestShowDecodesToTheSame(t *testing.T) {
	text := strings.ReplaceAll(everything, `"${x}"`, `"$${x}"`)
	for _, cut := range []string{"env: {KEY: plain-text-key}", `http://${HOST}/mcp`, ", headers: {X: y, Z: \"\"}"} {
		text = strings.Replace(text, cut, map[bool]string{true: "x"}[strings.HasPrefix(cut, "http")], 1)
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "hash: abcdef123", ""), `hash: "${TOKEN_VALUE}"`, "")
	c, source, err := decode(text)
	if err != nil {
		t.Fatal(err)
	}
	shown := yamlconf.Show(c, defaults(), source)
	again, _, err := decode(string(shown))
	if err != nil || !reflect.DeepEqual(c, again) {
		t.Errorf("%s\nerr %v\n got %+v\nwant %+v", shown, err, again, c)
	}
}

func TestTemplateDecodesToTheDefaults(t *testing.T) {
	yes := true
	full := defaults()
	full.WorkDir = "/w"
	full.Limits.Strict = &yes
	full.Server.TLS = &tlsPair{Cert: "/c", Key: "/k"}
	full.Server.Tokens = []token{{User: "a", Hash: "h"}}
	full.Servers = map[string]remote{"x": {URL: "y"}}
	full.Env = map[string]string{"A": "b"}
	full.Prefixes = nil
	listed := defaults()
	listed.Server.Tokens = []token{{User: "a"}}
	listed.Labels = map[string]string{}
	for name, c := range map[string]testConfig{"plain": defaults(), "full": full, "listed": listed, "zero": {}} {
		text := yamlconf.Template(c)
		got, want := c, c
		err := yamlconf.Decode("/etc/ts/c.yaml", text, &got, new(yamlconf.Source))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%s\nerr %v\n got %+v\nwant %+v", name, text, err, got, want)
		}
	}
}

func TestTemplateText(t *testing.T) {
	type small struct {
		Home   string             `yaml:"home" path:"true" doc:"Where files are."`
		Size   structschema.Bytes `yaml:"size" min:"1" doc:"Largest file."`
		Key    string             `yaml:"key" secret:"true" doc:"Password."`
		Tokens []token            `yaml:"tokens" doc:"Who may connect."`
		By     map[string]*token  `yaml:"by" example:"{x: {user: y}}"`
		Test   string             `yaml:"test" template:"-" doc:"Of use for tests."`
		Words  []string           `yaml:"words" max:"3" doc:"Some words."`
		Sub    struct {
			TLS  *tlsPair `yaml:"tls" doc:"Certificate."`
			Mode string   `yaml:"mode" enum:"a|b" doc:"Which."`
		} `yaml:"sub" doc:"More."`
	}
	const want = `# Where files are.
#home: ./files

# Largest file. At least 1.
#size: 1MiB

# Password.
#key: ""

# Who may connect.
#tokens: []

#by: {x: {user: y}}

# Some words. At most 3 items.
#words: []

# More.
sub:
  # Certificate.
  #tls: {cert: "", key: ""}
  # Which. One of: a, b.
  #mode: a
`
	text := string(yamlconf.Template(small{Home: "./files", Size: 1 << 20, Key: "hunter2"}))
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

// TestShowKeepsReferences shows them as they can be read again from any folder, but nothing
// secret that stands beside them.
func TestShowKeepsReferences(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("from-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel("/etc/ts", file)
	if err != nil {
		t.Fatal(err)
	}
	c, source, err := decode(`
working_directory: ${HOME}/x
errors: ${MODE}
server: {port: "${PORT}", name: "${NOBODY:-front}-$${x}"}
env: {A: "${TOKEN_VALUE}", B: "Bearer ${file:` + relative + `}", C: "hunter2${MODE}", D: "${NOBODY:-hunter3}"}
labels: {a: "${NOBODY:-hunter4}", b: "${MODE:-x}"}
`)
	if err != nil {
		t.Fatal(err)
	}
	shown := string(yamlconf.Show(c, defaults(), source))
	for _, want := range []string{
		"working_directory: " + home + "/x\n", "errors: ${MODE}\n", "port: ${PORT}\n", "name: ${NOBODY:-front}-$${x}\n",
		"A: ${TOKEN_VALUE}\n", "B: Bearer ${file:" + file + "}\n", `C: "********"`, `D: "********"`,
		"a: ${NOBODY:-********}\n", "b: ${MODE:-********}\n",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in\n%s", want, shown)
		}
	}
	for _, secret := range []string{"hunter", "s3cr3t", "from-a-file"} {
		if strings.Contains(shown, secret) {
			t.Errorf("%q is shown in\n%s", secret, shown)
		}
	}
	again, source, err := decode(shown)
	if err != nil || string(yamlconf.Show(again, defaults(), source)) != shown {
		t.Errorf("read again: %v\n%s\nfrom\n%s", err, yamlconf.Show(again, defaults(), source), shown)
	}
}

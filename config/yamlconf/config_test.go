package yamlconf_test

import (
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/toolserver/toolserver/config/yamlconf"
	"github.com/toolserver/toolserver/domain/structschema"
)

// testConfig has a field of every kind.
type testConfig struct {
	WorkDir  string            `yaml:"working_directory" path:"true" doc:"Where relative paths start."`
	Errors   string            `yaml:"errors" enum:"jsonrpc|result" doc:"How failures reach the client."`
	Server   serverConfig      `yaml:"server" doc:"How clients connect."`
	Limits   limitsConfig      `yaml:"limits" doc:"Bounds of every call."`
	Tools    toolsConfig       `yaml:"tools" doc:"Settings of single tools."`
	Servers  map[string]remote `yaml:"mcp_servers" doc:"Other servers by name."`
	Env      map[string]string `yaml:"env" secret:"true" doc:"Variables for commands."`
	Prefixes []netip.Prefix    `yaml:"prefixes" doc:"Networks that may be reached."`
	Labels   map[string]string `yaml:"labels" max:"3" doc:"Words to tell servers apart."`
	Ignored  func()            `yaml:"-"`
}

type serverConfig struct {
	Name   string   `yaml:"name" min:"1" max:"20" doc:"Name told to clients."`
	Port   int      `yaml:"port" min:"1" max:"65535" doc:"TCP port."`
	Tokens []token  `yaml:"tokens" doc:"Who may connect."`
	TLS    *tlsPair `yaml:"tls" doc:"Certificate; unset means plain HTTP."`
}

type token struct {
	User string `yaml:"user" doc:"Name of the holder."`
	Hash string `yaml:"hash" secret:"true" doc:"SHA-256 of the token."`
}

type tlsPair struct {
	Cert string `yaml:"cert" path:"true" doc:"File with the certificate."`
	Key  string `yaml:"key" path:"true" doc:"File with the key."`
}

type limitsConfig struct {
	MaxResult structschema.Bytes `yaml:"max_result" min:"1KiB" max:"10MiB" doc:"Largest result."`
	Ratio     float64            `yaml:"ratio" min:"0" max:"1" doc:"Share of the head in a cut result."`
	Retries   int                `yaml:"retries" max:"127" doc:"How often to try again."`
	Strict    *bool              `yaml:"strict" doc:"Whether to be strict; unset leaves it to the tool."`
	Codes     []int              `yaml:"codes" min:"1" max:"3" doc:"Exit codes that count as success."`
}

type common struct {
	Enabled bool          `yaml:"enabled" doc:"Whether it can be called."`
	Timeout time.Duration `yaml:"timeout" min:"0s" max:"10m" doc:"Time limit of a call."`
}

type toolsConfig struct {
	Bash   commandTool       `yaml:"bash" doc:"The shell."`
	Exec   commandTool       `yaml:"execute_command" doc:"One command."`
	Others map[string]common `yaml:",inline"`
}

type commandTool struct {
	common   `yaml:",inline"`
	Allowed  []string `yaml:"allowed_commands" doc:"What may run; unset means anything."`
	Writable []string `yaml:"allowed_paths" path:"relative" doc:"Where it may write."`
}

// remote is either a URL or a mapping.
type remote struct {
	URL     string            `yaml:"url" short:"true" doc:"Where it listens."`
	Retry   bool              `yaml:"retry" doc:"Whether to start it again."`
	Headers map[string]string `yaml:"headers" secret:"true" doc:"Sent with every request."`
}

func defaults() testConfig {
	return testConfig{
		WorkDir: ".",
		Errors:  "jsonrpc",
		Server:  serverConfig{Name: "toolserver", Port: 8080},
		Limits:  limitsConfig{MaxResult: 1 << 20, Ratio: 0.5, Retries: 3, Codes: []int{0}},
		Tools: toolsConfig{
			Bash: commandTool{common: common{Enabled: true, Timeout: 30 * time.Second}, Writable: []string{"/tmp", "/var/tmp"}},
			Exec: commandTool{common: common{Enabled: true, Timeout: 90 * time.Second}, Allowed: []string{}},
		},
		Labels: map[string]string{"zone": "${here} : # 'a' \"b\"\n\u00e9"},
	}
}

// home is the home directory of the tests.
const home = "/home/someone"

func TestMain(m *testing.M) {
	for name, value := range map[string]string{
		"HOST": "example.org", "PORT": "9000", "EMPTY": "", "YES": "true", "HOME": home,
		"YAML": "]\nserver: {port: 1}", "TOKEN_VALUE": "s3cr3t-token", "MODE": "result",
	} {
		os.Setenv(name, value)
	}
	m.Run()
}

func decode(text string) (testConfig, *yamlconf.Source, error) {
	c, source := defaults(), new(yamlconf.Source)
	err := yamlconf.Decode("/etc/ts/c.yaml", []byte(text), &c, source)
	return c, source, err
}

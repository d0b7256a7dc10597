package yamlconf_test

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/config/yamlconf"
)

func TestValues(t *testing.T) {
	yes := true
	for _, test := range []struct {
		in   string
		edit func(*testConfig)
	}{
		{"", func(*testConfig) {}},
		{"# nothing\n", func(*testConfig) {}},
		{"---\n", func(*testConfig) {}},
		{"\ufeffserver:\r\n  # port: 1\r\n", func(*testConfig) {}},
		{"server: {port: 1_000}\n...\n", func(c *testConfig) { c.Server.Port = 1000 }},
		{"server: {port: 0x10}", func(c *testConfig) { c.Server.Port = 16 }},
		{"server: {port: 80.0}", func(c *testConfig) { c.Server.Port = 80 }},
		{"server: {port: \"${PORT}\"}", func(c *testConfig) { c.Server.Port = 9000 }},
		{"server: {name: 2024-01-01}", func(c *testConfig) { c.Server.Name = "2024-01-01" }},
		{"server: {tls: {cert: a.pem, key: ~/k.pem}}", func(c *testConfig) {
			c.Server.TLS = &tlsPair{"/etc/ts/a.pem", "/home/someone/k.pem"}
		}},
		{"server: {tls: null}", func(*testConfig) {}},
		{"limits: {strict: true, ratio: 1}", func(c *testConfig) { c.Limits.Strict, c.Limits.Ratio = &yes, 1 }},
		{"limits: {strict: \"${YES}\"}", func(c *testConfig) { c.Limits.Strict = &yes }},
		{"limits: {max_result: 1.5 MiB, codes: [1, 2]}", func(c *testConfig) {
			c.Limits.MaxResult, c.Limits.Codes = 3<<19, []int{1, 2}
		}},
		{"limits: {max_result: 2e3}", func(c *testConfig) { c.Limits.MaxResult = 2000 }},
		{"limits: {codes: null}", func(c *testConfig) { c.Limits.Codes = nil }},
		{"errors: \"${MODE}\"", func(c *testConfig) { c.Errors = "result" }},
		{"tools: {bash: {timeout: 30, allowed_commands: []}}", func(c *testConfig) { c.Tools.Bash.Allowed = []string{} }},
		{"tools: {bash: {timeout: 1.5}}", func(c *testConfig) { c.Tools.Bash.Timeout = 1500 * time.Millisecond }},
		{"tools: {bash: {timeout: 1m30s}}", func(c *testConfig) { c.Tools.Bash.Timeout = 90 * time.Second }},
		{"tools: {bash: {timeout: \"45\"}}", func(c *testConfig) { c.Tools.Bash.Timeout = 45 * time.Second }},
		{"tools: {bash: {allowed_commands: [\"true\"], allowed_paths: [/tmp, ./output, ~, .., ~/x, ~y]}}", func(c *testConfig) {
			c.Tools.Bash.Allowed = []string{"true"}
			c.Tools.Bash.Writable = []string{"/tmp", "./output", "/home/someone", "..", "/home/someone/x", "~y"}
		}},
		{"tools: {up__x: {enabled: true}}", func(c *testConfig) { c.Tools.Others = map[string]common{"up__x": {Enabled: true}} }},
		{"mcp_servers:\n  a: http://${HOST}/mcp\n  b: {url: x, retry: true}\n", func(c *testConfig) {
			c.Servers = map[string]remote{"a": {URL: "http://example.org/mcp"}, "b": {URL: "x", Retry: true}}
		}},
		{"mcp_servers:\n", func(*testConfig) {}},
		{"labels: {a: \"$${X} $HOST ${NONE:-d} ${EMPTY:-e} ${EMPTY}${NONE:-}$$${\"}", func(c *testConfig) {
			c.Labels["a"] = "${X} $HOST d e $${"
		}},
		{"labels: {a: \"${YAML}\", zone: b}", func(c *testConfig) {
			c.Labels["a"], c.Labels["zone"] = "]\nserver: {port: 1}", "b"
		}},
		{"env: {1: a, \"${HOST}\": b}", func(c *testConfig) { c.Env = map[string]string{"1": "a", "${HOST}": "b"} }},
		{"labels: null", func(c *testConfig) { c.Labels = nil }},
		{"prefixes: [10.0.0.0/8]", func(c *testConfig) { c.Prefixes = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} }},
		{"tools:\n  bash: &b {timeout: 5}\n  execute_command: *b\n", func(c *testConfig) {
			c.Tools.Bash.Timeout, c.Tools.Exec.Timeout = 5*time.Second, 5*time.Second
		}},
	} {
		got, _, err := decode(test.in)
		want := defaults()
		test.edit(&want)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q:\n got %+v\nwant %+v\n err %v", test.in, got, want, err)
		}
	}
}

func TestDefaultsAreNotWrittenTo(t *testing.T) {
	yes := true
	shared := defaults()
	shared.Limits.Strict = &yes
	c := shared
	if err := yamlconf.Decode("c.yaml", []byte("labels: {zone: z, b: c}\nlimits: {strict: false, codes: [9]}"), &c, new(yamlconf.Source)); err != nil {
		t.Fatal(err)
	}
	if len(shared.Labels) != 1 || !yes || shared.Limits.Codes[0] != 0 {
		t.Errorf("the defaults changed to %+v", shared)
	}
	if *c.Limits.Strict || c.Labels["zone"] != "z" || c.Labels["b"] != "c" {
		t.Errorf("got %+v", c)
	}
}

func TestAliasBombs(t *testing.T) {
	type deep struct {
		A []string       `yaml:"a"`
		X [][][][]string `yaml:"x"`
	}
	nested := "&a [" + strings.Repeat("x,", 100) + "]"
	for _, level := range []string{"b", "c", "d"} {
		previous := string(level[0] - 1)
		nested = "&" + level + " [" + nested + strings.Repeat(",*"+previous, 99) + "]"
	}
	for name, test := range map[string]struct {
		in   string
		into any
	}{
		"lists": {"x: " + nested, &deep{}},
		"cycle": {"x: &a [*a]", &deep{}},
	} {
		err := yamlconf.Decode("c.yaml", []byte(test.in), test.into, new(yamlconf.Source))
		if err == nil {
			t.Errorf("%s: no error", name)
		} else if name != "cycle" && !strings.Contains(err.Error(), "the file has more than 250000 values") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestSourceFindsPlaces(t *testing.T) {
	_, source, err := decode("server:\n  name: x\nmcp_servers:\n  a: {url: x}\n")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"server.name":           "/etc/ts/c.yaml:2:3: server.name: is wrong",
		"server.tls.cert":       "/etc/ts/c.yaml:1:1: server.tls.cert: is wrong",
		"mcp_servers.a.headers": "/etc/ts/c.yaml:4:3: mcp_servers.a.headers: is wrong",
		"limits":                "/etc/ts/c.yaml:1:1: limits: is wrong",
	} {
		if got := source.Errorf(path, "is\nwrong").Error(); got != want {
			t.Errorf("%s: got %s; want %s", path, got, want)
		}
	}
	if got := new(yamlconf.Source).Errorf("a", "b").Error(); got != ": a: b" {
		t.Errorf("without a file: got %s", got)
	}
}

func TestWrongDeclarations(t *testing.T) {
	type loop struct {
		Next []loop `yaml:"next"`
	}
	for name, into := range map[string]any{
		"channel": &struct {
			A chan int `yaml:"a"`
		}{},
		"loop": &loop{},
		"int keys": &struct {
			A map[int]string `yaml:"a"`
		}{},
		"bad bound": &struct {
			A int `yaml:"a" min:"1s"`
		}{},
		"enum of int": &struct {
			A int `yaml:"a" enum:"1|2"`
		}{},
		"same key": &struct {
			A int `yaml:"x"`
			B int `yaml:"x"`
		}{},
		"inline slice": &struct {
			A []int `yaml:",inline"`
		}{},
		"no name":       &struct{ A int }{},
		"not a pointer": testConfig{},
		"not a struct":  new(int),
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			_ = yamlconf.Decode("c.yaml", nil, into, new(yamlconf.Source))
		}()
	}
}

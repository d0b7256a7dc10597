package yamlconf_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/config/yamlconf"
)

func TestMistakes(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		// keys
		{"tolls: {}", `1:1: unknown key "tolls"; did you mean "tools"?`},
		{"tools:\n  execute_command:\n    allowed_comands: [ls]", `3:5: unknown key "allowed_comands" in tools.execute_command; did you mean "allowed_commands"?`},
		{"server: {colour: red}", `1:10: unknown key "colour" in server; known keys: name, port, tokens, tls`},
		{"server: {Ports: 1}", `1:10: unknown key "Ports" in server; did you mean "port"?`},
		{"\"a\\nb\": 1", `1:1: unknown key "a\nb"; known keys: working_directory, errors, server, limits, tools, mcp_servers, env, prefixes, labels`},
		{"errors: result\nserver: {}\nerrors: result", `3:1: duplicate key "errors"; it is already on line 1`},
		{"labels: {a: b, a: c}", `1:16: duplicate key "a" in labels; it is already on line 1`},
		{"? [a]\n: b", `1:3: a key in the file must be text, not a list`},
		{"~: b", `1:1: a key in the file must be text, not null`},
		// types
		{"[a]", "1:1: the file must be a mapping of keys to values, not a list"},
		{"hello", `1:1: the file must be a mapping of keys to values, not "hello"`},
		{"tools: {bash: {timeout: soon}}", `1:25: tools.bash.timeout must be a number of seconds or a duration such as 30s, not "soon"`},
		{"tools: {bash: {timeout: .inf}}", `1:25: tools.bash.timeout must be a number of seconds or a duration such as 30s, not .inf`},
		{"tools: {bash: {timeout: [1]}}", `1:25: tools.bash.timeout must be a number of seconds or a duration such as 30s, not a list`},
		{"tools: {bash: {enabled: yes}}", `1:25: tools.bash.enabled must be true or false, not "yes"`},
		{"tools: {bash: {allowed_commands: ls}}", `1:34: tools.bash.allowed_commands must be a list such as [a, b], not "ls"`},
		{"tools: {bash: {allowed_commands: [ls, true]}}", `1:39: tools.bash.allowed_commands[1] must be text, not true; put it in quotes: "true"`},
		{"tools: {x.y: {enabled: 1}}", `1:24: tools."x.y".enabled must be true or false, not 1`},
		{"server: {name: 42}", `1:16: server.name must be text, not 42; put it in quotes: "42"`},
		{"server: {name: {a: b}}", `1:16: server.name must be text, not a mapping`},
		{"server: {port: \"80\"}", `1:16: server.port must be a whole number, not "80"`},
		{"server: {port: 80.5}", `1:16: server.port must be a whole number, not 80.5`},
		{"limits: {ratio: .nan}", `1:17: limits.ratio must be a number, not .nan`},
		{"limits: {max_result: 10M}", `1:22: limits.max_result must be a number of bytes or a size such as 10MiB, not "10M"`},
		{"server: []", "1:9: server must be a mapping of keys to values, not a list"},
		{"prefixes: [10.0.0.0]", `1:12: prefixes[0]: netip.ParsePrefix("10.0.0.0"): no '/'`},
		{"server: !secret x", "1:9: server: unknown YAML tag !secret"},
		{"server: {name: !!binary aGk=}", "1:16: server.name: unknown YAML tag !!binary"},
		// null
		{"server:\n  name:\n", "2:3: server.name has no value: it must be text; remove the key to keep the default"},
		{"server: {name: null}", "1:10: server.name must be text, not null"},
		{"server:\n  tls:\n", "2:3: server.tls has no value: it must be a mapping of keys to values; remove the key to keep the default"},
		{"tools:\n  bash:\n    allowed_commands:\n      # - ls\n", "3:5: tools.bash.allowed_commands has no value: write [] for an empty list, or remove the key"},
		{"tools:\n  bash:\n    allowed_commands: [ls, ~]\n", "3:28: tools.bash.allowed_commands[1] has no value: write one, or remove the item"},
		// rules
		{"errors: jsonrcp", `1:9: errors must be one of jsonrpc, result, not "jsonrcp"; did you mean jsonrpc?`},
		{"errors: loud", `1:9: errors must be one of jsonrpc, result, not "loud"`},
		{"tools: {bash: {timeout: 601}}", "1:25: tools.bash.timeout must be at most 10m, not 601 seconds"},
		{"tools: {bash: {timeout: 11m}}", `1:25: tools.bash.timeout must be at most 10m, not "11m"`},
		{"tools: {bash: {timeout: 9223372036854775807}}", "1:25: tools.bash.timeout is out of range: it must be at most 292 years, not 9223372036854775807"},
		{"limits: {max_result: 1}", "1:22: limits.max_result must be at least 1KiB, not 1"},
		{"limits: {max_result: -1}", "1:22: limits.max_result is out of range: it must be from 0 to 9223372036854775807 bytes, not -1"},
		{"limits: {retries: 128}", "1:19: limits.retries must be at most 127, not 128"},
		{"server: {port: 65536}", "1:16: server.port must be at most 65535, not 65536"},
		{"server: {port: 0}", "1:16: server.port must be at least 1, not 0"},
		{"limits: {retries: 9223372036854775808}", "1:19: limits.retries is out of range: it must be a number that fits in 64 bits, not 9223372036854775808"},
		{"limits: {codes: []}", "1:17: limits.codes must not be empty"},
		{"labels: {a: x, b: y, c: z}", "1:9: labels must have at most 3 keys, not 4"},
		{"server: {name: ''}", "1:16: server.name must not be empty"},
		{"server: {name: ééééééééééééééééééééé}", "1:16: server.name must have at most 20 characters, not 21"},
		// references
		{"server:\n  tokens:\n    - hash: ${TOKEN}", "3:13: server.tokens[0].hash: environment variable TOKEN is not set"},
		{"server: {name: \"${file:/nonexistent/x}\"}", "1:16: server.name: cannot read ${file:/nonexistent/x}: no such file or directory"},
		{"server: {name: \"${file:/}\"}", "1:16: server.name: cannot read ${file:/}: not a regular file"},
		{"server: {name: \"${file:}\"}", "1:16: server.name: ${file:} names no file"},
		{"server: {name: \"a${HOST\"}", `1:16: server.name: "${HOST" has no closing }; write $${ for a plain ${`},
		{"server: {name: \"${1X}\"}", `1:16: server.name: "${1X}" is not a reference: write ${NAME}, ${NAME:-text} or ${file:PATH}, or $${ for a plain ${`},
		{"server: {port: \"${HOST}\"}", `1:16: server.port must be a whole number, not the value of "${HOST}"`},
		{"prefixes: [\"${HOST}\"]", `1:12: prefixes[0]: not accepted: the value of "${HOST}"`},
		{"env: {A: [1]}", "1:10: env.A must be text, not a list"},
		{"env: {A: 12345}", "1:10: env.A must be text, not the value given"},
		// short forms
		{"mcp_servers: {x: {urll: a}}", `1:19: unknown key "urll" in mcp_servers.x; did you mean "url"?`},
		{"mcp_servers: {x: {retry: true}}", "1:18: mcp_servers.x: has no url"},
		{"mcp_servers: {x: [a]}", "1:18: mcp_servers.x must be a mapping of keys to values, not a list"},
		// merge keys
		{"server: &a {<<: *a}", "1:13: << in server is not supported: write the keys, or an alias for the whole value"},
		// syntax
		{"server: {name: ${X}}", "1:1: invalid YAML: a mapping opened with { here is not closed, or a comma is missing (quote text that holds { or })"},
		{"server:\n\tname: x", "2:1: a tab indents this line; YAML allows only spaces"},
		{"server:\n  name: x\n  \tport: 1", "3:3: a tab indents this line; YAML allows only spaces"},
		{"server:\n  tokens: [a,\n", "3:1: invalid YAML: a value is missing or a bracket is not closed"},
		{"a: b: c", `1:1: invalid YAML: unexpected colon: check the indentation, or quote text that holds ": "`},
		{"server:\n  name: \"x", "2:3: invalid YAML: a quoted text is not closed"},
		{"tools:\n    - a\n   - b", "3:4: invalid YAML: the indentation does not fit the block here"},
		{"errors: @x", "1:1: invalid YAML: quote text that starts with @, ` or %"},
		{"errors: x\n\nlabels: {a: *b}", "3:13: no anchor &b before this alias"},
		{"errors: result\n---\nerrors: result", "2:1: a second document starts here; the file must hold one (remove the line ---)"},
		{"errors: \xff", "1:9: the file is not plain UTF-8 text: byte 0xff"},
		{"a: 1\nb: \x00", "2:4: the file is not plain UTF-8 text: byte 0x00"},
		{strings.Repeat("# x\n", 1<<18) + "#", "1:1: the file is larger than 1 MiB"},
		{strings.Repeat("[", 20_000), "1:1: invalid YAML: exceeded max depth of 10000"},
	} {
		_, _, err := decode(test.in)
		want := "/etc/ts/c.yaml:" + test.want
		if err == nil || err.Error() != want {
			t.Errorf("%.80q:\n got %v\nwant %s", test.in, err, want)
		}
	}
}

func TestEveryMistakeIsReportedInOrder(t *testing.T) {
	_, _, err := decode("server: {prot: 1, name: 5}\nerrors: x\nlabels: {a: ${X}}\nserver: {}")
	if err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("a syntax error is reported alone; got %v", err)
	}
	_, _, err = decode("server: {prot: 1, name: 5}\nerrors: x\nlabels: {a: \"${X}\"}\nserver: {}")
	all := mistakes(err)
	var places []string
	for _, e := range all {
		places = append(places, fmt.Sprintf("%d:%d", e.Line, e.Column))
	}
	if got := strings.Join(places, " "); got != "1:10 1:25 2:9 3:13 4:1" {
		t.Errorf("places %s", got)
	}
	_, _, err = decode("labels:\n" + strings.Repeat("  ? [a]\n  : b\n", 100))
	if n := len(mistakes(err)); n != 20 {
		t.Errorf("%d mistakes reported; want 20", n)
	}
}

// mistakes returns the mistakes that an error joins.
func mistakes(err error) (all []*yamlconf.Error) {
	switch err := err.(type) {
	case *yamlconf.Error:
		all = append(all, err)
	case interface{ Unwrap() []error }:
		for _, one := range err.Unwrap() {
			all = append(all, one.(*yamlconf.Error))
		}
	}
	return all
}

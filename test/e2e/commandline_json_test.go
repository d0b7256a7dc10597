package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
)

// TestJSONEverywhere has each command that prints something print JSON, with --json before and after,
// and nothing else on standard output.
func TestJSONEverywhere(t *testing.T) {
	t.Parallel()
	y := newTypist(t)
	config := gateway(entry("u", "", upstreamBinary(t)), entry("gone", "", "/nonexistent/program"))
	y.file("up.yaml", config)
	y.file("toolserver.yaml", "tools: {echo: {enabled: false}}\n")
	y.file("other.json", `{"mcpServers": {"files": {"command": "files"}}}`)
	for _, test := range []struct {
		args string
		code int
		key  string // of what is printed, "" for a list
	}{
		{"version", 0, "platform"}, {"check -c up.yaml", 1, "findings"}, {"explain bash ls", 0, "allowed"}, {"explain write_file /etc/x y", 1, "reason"},
		{"call echo hi", 0, "content"}, {"call read_file nope", 1, "isError"}, {"call read_file", 2, "structuredContent"}, {"utility echo hi", 0, "content"},
		{"tools", 0, "tools"}, {"tools --all", 0, "tools"}, {"file", 0, "tools"}, {"-c up.yaml u", 0, "tools"}, {"-c up.yaml u echo --message x", 0, "content"},
		{"config show", 0, "anthropic"}, {"config schema", 0, "$schema"}, {"config init new.yaml", 0, "file"}, {"config import other.json", 0, "mcp_servers"},
		{"-c up.yaml config import other.json --write --replace", 0, "added"},
		{"token new ann --print", 0, "token"}, {"-c up.yaml token list", 0, "tokens"}, {"-c up.yaml auth check x", 1, "accepted"},
		{"audit key a.key", 0, "public"}, {"-c up.yaml usage", 0, "usage"}, {"trust toolserver.yaml", 0, "trusted"}, {"trust --list", 0, "trusted"}, {"trust --revoke toolserver.yaml", 0, "was_trusted"}, {"untrust toolserver.yaml", 0, "was_trusted"},
		{"-c up.yaml upstream list", 0, ""}, {"-c up.yaml upstream ping u", 0, ""}, {"-c up.yaml upstream ping u gone", 1, ""}, {"-c up.yaml upstream tools u", 0, "tools"}, {"-c up.yaml upstream tools gone", 1, "tools"},
		{"-c up.yaml upstream approve u", 0, "changed"}, {"-c up.yaml upstream approve u --yes", 0, "pinned"},
		{"-c up.yaml upstream add more --replace -- true", 0, "added"}, {"-c up.yaml upstream remove more", 0, "removed"},
		{"install cursor --dry-run", 0, ""}, {"install cursor --print", 0, ""}, {"uninstall cursor", 0, ""}, {"clients", 0, ""},
	} {
		before, after := append([]string{"--json"}, strings.Fields(test.args)...), append(strings.Fields(test.args), "--json")
		if i := strings.Index(test.args, " -- "); i >= 0 {
			after = append(append(strings.Fields(test.args[:i]), "--json"), strings.Fields(test.args[i:])...)
		}
		for _, args := range [][]string{before, after} {
			switch test.args {
			case "config init new.yaml":
				args[slices.Index(args, "new.yaml")] = "new" + args[0] + ".yaml"
			case "-c up.yaml upstream remove more":
				y.types("", "-c", "up.yaml", "upstream", "add", "more", "--replace", "--", "true")
			}
			got := y.types("", args...)
			var object map[string]any
			var list []any
			err := json.Unmarshal([]byte(got.out), &list)
			if test.key != "" {
				err = json.Unmarshal([]byte(got.out), &object)
			}
			if _, has := object[test.key]; err != nil || test.key != "" && !has || test.key == "" && len(list) == 0 || got.code != test.code {
				t.Errorf("%v: exit code %d, %v, %s%s", args, got.code, err, got.out, got.err)
			}
		}
	}
	// What goes on prints a line for each.
	cmd := y.command(binary(), "-c", "up.yaml", "upstream", "logs", "loud", "--json")
	y.file("up.yaml", gateway(entry("loud", "", upstreamBinary(t), "--says", "a line")))
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadBytes('\n')
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait()
	var said struct{ Server, Line string }
	if bad := json.Unmarshal(line, &said); err != nil || bad != nil || said.Server != "loud" || said.Line != "a line" {
		t.Errorf("%s: %v, %v", line, err, bad)
	}
}

package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/toolserver/toolserver/"

// levels are the packages of the product from the top down. Each may import those of lower
// lines only, and none of its own line.
var levels = []string{
	"cmd/toolserver",
	"cmd/toolserver/cli",
	"cmd/toolserver/console",
	"cmd/toolserver/app",
	"clients cmd/toolserver/logging cmd/toolserver/top",
	"clients/edit cmd/toolserver/live cmd/toolserver/record cmd/toolserver/screen",
	"config",
	"config/yamlconf config/yamledit identity",
	"server",
	"server/passport server/task server/wellknown",

	"tools",
	"tools/google tools/skills",
	"tools/discovery tools/google/calendar tools/google/gmail tools/meta tools/resources tools/shell",
	"tools/anthropic tools/files tools/google/api tools/linkedin tools/prompts tools/system tools/utility tools/web tools/websearch upstream",
	"tools/files/content tools/google/signin tools/lift upstream/oauth upstream/search",
	"kubernetes upstream/mcpclient upstream/mcpshape upstream/skills",
	"outbound/signin",
	"outbound/httpcall",

	"text/mail",
	"text/document text/jq",
	"text/frontmatter text/html text/linematch text/picture text/textdiff text/textfile",

	"sandbox/declare",
	"sandbox",
	"sandbox/programs",
	"sandbox/confine",
	"sandbox/broker",
	"sandbox/pathguard sandbox/runner sandbox/walk",
	"sandbox/command sandbox/glob sandbox/netproxy sandbox/repository sandbox/scratch",
	"sandbox/netguard sandbox/process",

	"domain/call",
	"domain",
	"approval",
	"audit store usage telemetry domain/redact domain/schema",
	"domain/structschema",
	"domain/brief domain/lazyregexp domain/nearest domain/share keyring",
	"wire/jsonrpc",
	"osfile osfile/filewatch wire/rawjson wire/sse",
}

// fakes are what stand-ins of services may import: they share no code with what they judge, but
// a client and the framing of its messages.
var fakes = []string{"upstream/mcpclient", "wire/jsonrpc", "wire/sse"}

// TestImports keeps the arrows between packages pointing down.
func TestImports(t *testing.T) {
	level := map[string]int{}
	for i, line := range levels {
		for _, name := range strings.Fields(line) {
			level[name] = i
		}
	}
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "../../...").Output()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		from := strings.TrimPrefix(words[0], module)
		below, product := level[from]
		if !product && from != "test" && !strings.HasPrefix(from, "test/") {
			t.Errorf("%s has no level", from)
		}
		for _, imported := range words[1:] {
			to, ours := strings.CutPrefix(imported, module)
			switch at, ok := level[to]; {
			case !ours:
			case product && (!ok || at <= below):
				t.Errorf("%s imports %s", from, to)
			case strings.HasPrefix(from, "test/fakes/") && !strings.HasPrefix(to, "test/fakes/") && !slices.Contains(fakes, to):
				t.Errorf("%s imports %s", from, to)
			}
			if ours {
				checked++
			}
		}
	}
	if checked < 200 {
		t.Errorf("only %d imports checked", checked)
	}
}

package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// layers are the packages of the module from the top down, each tree with the
// trees it may import besides its own.
var layers = map[string][]string{
	"cmd":          {"config", "server", "tools", "record", "sandbox", "domain", "filewatch", "rawjson", "mcpclient", "osfile", "textdiff", "lazyregexp"},
	"config":       {"server", "tools", "sandbox", "domain", "structschema", "osfile", "lazyregexp"},
	"server":       {"domain", "share", "jsonrpc", "sse", "rawjson"},
	"tools":        {"sandbox", "domain", "share", "filewatch", "mcpclient", "mcpshape", "jsonrpc", "sse", "rawjson", "osfile", "textdiff", "lazyregexp"},
	"sandbox":      {"share", "proxy", "osfile", "lazyregexp"},
	"domain":       {"share", "structschema", "rawjson", "lazyregexp"},
	"structschema": {"rawjson"},
	"mcpclient":    {"jsonrpc", "sse", "rawjson", "lazyregexp"},
	"mcpshape":     {"rawjson", "lazyregexp"},
	"jsonrpc":      {"rawjson"},
	"rawjson":      {},
	"sse":          {},
	"share":        {},
	"proxy":        {},
	"filewatch":    {},
	"record":       {"osfile", "rawjson"},
	"lazyregexp":   {},
	"osfile":       {},
	"textdiff":     {},
	"bench":        {"cmd", "server", "tools", "sandbox", "domain", "mcpclient", "jsonrpc", "fakes"},
	"test":         {"cmd", "record", "tools", "sandbox", "domain", "fakes", "mcpclient", "jsonrpc", "proxy", "rawjson"},
	"fakes":        {"mcpclient", "jsonrpc", "sse"},
}

// TestImports keeps the arrows between packages pointing down.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-test", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "../../...").Output()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		from, ok := tree(words[0])
		if !ok {
			continue
		}
		allowed, known := layers[from]
		if !known {
			t.Errorf("%s is in no layer", words[0])
		}
		for _, imported := range words[1:] {
			to, ours := tree(imported)
			if !ours || to == from {
				continue
			}
			checked++
			if (to == "fakes" || from == "mcpclient" || strings.HasPrefix(imported, "toolserver/test/tooltest")) && strings.Contains(line, ".test]") {
				continue // tests may use them
			}
			if !slices.Contains(allowed, to) {
				t.Errorf("%s imports %s", words[0], imported)
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d imports checked", checked)
	}
}

// tree returns the top directory of one of our packages. Stand-ins of services
// are a tree of their own.
func tree(path string) (string, bool) {
	path, ours := strings.CutPrefix(path, "toolserver/")
	if strings.HasPrefix(path, "test/fakes/") {
		return "fakes", ours
	}
	top, _, _ := strings.Cut(path, "/")
	top, _, _ = strings.Cut(top, ".")
	return strings.TrimSuffix(top, "_test"), ours
}

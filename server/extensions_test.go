package server

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of extensions in docs/protocol.md anew")

// TestExtensionsPage holds the table of docs/protocol.md to what the server has.
func TestExtensionsPage(t *testing.T) {
	const file, begin, end = "../docs/protocol.md", "<!-- extensions -->\n", "<!-- end of extensions -->\n"
	var table strings.Builder
	table.WriteString("| extension | stage | the client declares it | methods | header `Mcp-Name` | |\n|---|---|---|---|---|---|\n")
	for _, e := range extensions {
		declares, header := "no", ""
		if e.declared || e.negotiated {
			declares = "yes"
		}
		if e.header != "" {
			header = "`" + e.header + "`"
		}
		methods := ""
		if e.methods != nil {
			methods = "`" + strings.Join(e.methods, "`, `") + "`"
		}
		fmt.Fprintf(&table, "| `%s` (`%s`) | %s | %s | %s | %s | %s |\n", e.id, e.name, e.stage, declares, methods, header, e.purpose)
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(page), begin)
	_, tail, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatalf("%s has no table of extensions", file)
	}
	want := head + begin + table.String() + end + tail
	if string(page) == want {
		return
	}
	if !*update {
		t.Errorf("%s differs; go test ./server -run TestExtensionsPage -update writes it", file)
	} else if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

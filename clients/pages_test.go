package clients

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/clients/edit"
)

var update = flag.Bool("update", false, "write the pages in docs/clients anew")

const pages = "../docs/clients"

// readers are the packages that read what install writes, in test/clients and test/clients/readers.
var readers = map[string]string{
	"amp": "@ampcode/cli", "claude-code": "@anthropic-ai/claude-code", "cline": "@cline/core", "codex": "@openai/codex", "continue": "@continuedev/config-yaml",
	"copilot": "@github/copilot", "droid": "@factory/cli", "gemini": "@google/gemini-cli", "kilo": "@kilocode/cli", "opencode": "opencode", "qwen-code": "@qwen-code/qwen-code",
}

// TestPages holds the pages to what install writes.
func TestPages(t *testing.T) {
	behaviour, err := os.ReadFile(filepath.Join(pages, "behaviour.md")) // test/clients/turns writes it
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{"README.md": index(), "behaviour.md": behaviour}
	for _, c := range All() {
		want[c.Name+".md"] = page(t, c)
	}
	if *update {
		if err := os.RemoveAll(pages); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(pages, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range want {
			if err := os.WriteFile(filepath.Join(pages, name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	found, err := filepath.Glob(filepath.Join(pages, "*"))
	if err != nil || len(found) != len(want) {
		t.Errorf("%d pages, want %d (%v); go test ./cmd/toolserver/clients -update writes them", len(found), len(want), err)
	}
	for name, text := range want {
		if got, err := os.ReadFile(filepath.Join(pages, name)); err != nil || !bytes.Equal(got, text) {
			t.Errorf("docs/clients/%s is not what the table says (%v); go test ./cmd/toolserver/clients -update writes it", name, err)
		}
	}
}

func index() []byte {
	var out bytes.Buffer
	out.WriteString(`# MCP clients

` + "```sh" + `
toolserver install                      # asks about each client on this machine
toolserver install cursor --dir ~/work  # one client; the directory that tools may use
toolserver clients                      # which are here, where their files are, whether the entry works
toolserver uninstall cursor
` + "```" + `

An entry is added to the client's file and nothing else is changed in it. The change is shown, what was there before is kept beside the
file (` + "`FILE.toolserver-DATE.bak`" + `), and what the entry starts is tried as the client would start it.

| option | meaning |
|---|---|
| ` + "`--dir DIRECTORY`, `--config FILE`" + ` | what the entry serves; the current directory if neither says |
| ` + "`--project`" + ` | the file of the project in the current directory |
| ` + "`--env NAME`" + ` | the client passes its own variable on, or asks for it: the file has no secret |
| ` + "`--env NAME=VALUE`" + ` | the value is written, and only you can read the file from then on |
| ` + "`--url URL --token-env NAME`" + ` | a server that is reached over HTTP; the variable has its token |
| ` + "`--dry-run`, `--print`, `--print-link`" + ` | show the change, the entry, or a link that adds it; nothing is changed |
| ` + "`--force`" + ` | replace an entry of that name that differs, such as after the program has moved |
| ` + "`--name NAME`, `--yes`, `--json`" + ` | the name of the entry; all clients that are here without asking; the outcome as JSON |

* A file that cannot be parsed, that is in UTF-16, that has a key twice or that is read-only is left as it is, and the exit code is 1.
  Symlinks stay. A byte order mark is dropped, since some clients lose all servers over it.
* ` + "`uninstall`" + ` gives the file the bytes back that it had, if nothing else has changed since. It removes a file that has nothing else, the
  directories that were made for it (` + "`FILE.toolserver-made`" + ` notes them), and entries in files that older versions of a client had.
* "The entry works" means that what the file says to the client starts a server, or reaches one. What is left to do, such as to restart the
  client or to trust a folder, is the line after it. Where all of the home directory would be served, ` + "`install`" + ` asks, and requires ` + "`--dir`" + `
  without a terminal.
* [` + "`toolserver config import FILE`" + `](../upstreams.md) reads all these files, with the unit that the client's timeouts have.
* Entries have ` + "`--errors result`" + ` ([errors](../errors.md#two-modes)), except for Claude Code and Codex, whose models see the message of a protocol
  error.
* [What clients do](behaviour.md) is what the real clients send, and what they show the model.
* What ` + "`install`" + ` writes is read in the tests by the clients that have their program or parser in npm. The others have none there (the packages
  of Crush and Junie only download a program); their formats are taken from their documentation, those of Crush and Roo Code from their
  source.

| client | name | files of projects | read in the tests by |
|---|---|---|---|
`)
	for _, c := range All() {
		reader := "no package"
		if own := readers[c.Name]; own != "" {
			reader = "`" + own + "`"
		}
		fmt.Fprintf(&out, "| [%s](%s.md) | `%[2]s` | %s | %s |\n", c.Title, c.Name, map[bool]string{true: "yes", false: ""}[c.Project != nil], reader)
	}
	return out.Bytes()
}

func page(t *testing.T, c Client) []byte {
	t.Helper()
	var out bytes.Buffer
	fmt.Fprintf(&out, "# %s\n\n```sh\ntoolserver install %s --dir /path/to/project\n```\n\n%s\n\n", c.Title, c.Name, c.After)
	out.WriteString("## By hand\n")
	if c.Files != nil {
		out.WriteString("\n| system | file |\n|---|---|\n")
	}
	for _, system := range [][2]string{{"linux", "Linux"}, {"darwin", "macOS"}, {"windows", "Windows"}} {
		if c.Files != nil {
			fmt.Fprintf(&out, "| %s | %s |\n", system[1], strings.Join(shown(system[0], c.Files), ", or "))
		}
	}
	if c.Project != nil {
		fmt.Fprintf(&out, "| a project | %s |\n", strings.Join(shown("linux", c.Project), ", or "))
	}
	format := edit.FormatOf(strings.Join(c.Files, " "))
	language := map[edit.Format]string{edit.JSON: "json", edit.TOML: "toml", edit.YAML: "yaml"}[format]
	snippet := func(s Server) {
		text, err := (&Site{Client: c, format: format}).Snippet(s)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		fmt.Fprintf(&out, "\n```%s\n%s```\n", language, text)
	}
	snippet(Server{Name: "toolserver", Command: "/usr/local/bin/toolserver", Args: []string{"serve", "--stdio", "/path/to/project"}})
	if c.Shape.URL != "" {
		remote := Server{Name: "toolserver", URL: "https://tools.example.com/mcp"}
		if c.Shape.Reference != "" || c.Shape.TokenEnv != "" {
			remote.TokenEnv = "TOOLSERVER_TOKEN"
		}
		out.WriteString("\nA server that is reached over HTTP:\n")
		snippet(remote)
	}
	for i, note := range c.Notes {
		if i == 0 {
			out.WriteString("\n## Good to know\n\n")
		}
		fmt.Fprintf(&out, "* %s\n", note)
	}
	return out.Bytes()
}

// shown returns places as people write them.
func shown(system string, templates []string) (all []string) {
	m := Machine{OS: system, Home: "~", Project: ".", Getenv: func(name string) string {
		if system == "windows" {
			return "%" + name + "%"
		}
		return ""
	}}
	for _, template := range templates {
		place, ok := m.expand(template)
		if strings.HasPrefix(template, "$") {
			place, ok = template, true
		}
		if !ok {
			continue
		}
		if system == "windows" {
			place = strings.ReplaceAll(place, "/", `\`)
			if home, ok := strings.CutPrefix(place, "~"); ok {
				place = "%USERPROFILE%" + home
			}
		}
		place = "`" + strings.TrimPrefix(place, "./") + "`"
		for _, v := range variable().FindAllStringSubmatch(template, -1) {
			if v[1] != "config" && v[1] != "xdg" && v[1] != "LOCALAPPDATA" {
				place += " (`" + v[1] + "` may say another directory)"
			}
		}
		all = append(all, place)
	}
	return slices.Compact(all)
}

package edit_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/clients/edit"
)

var (
	servers = edit.Place{Keys: []string{"mcpServers"}, Name: "toolserver"}
	nested  = edit.Place{Keys: []string{"mcp", "servers"}, Name: "tool.server/~"}
	input   = edit.Place{Keys: []string{"inputs"}, ID: "id", Name: "toolserver-KEY"}
	tables  = edit.Place{Keys: []string{"mcp_servers"}, Name: "tool server"}
	listed  = edit.Place{Keys: []string{"mcpServers"}, ID: "name", Name: "toolserver"}
)

// entry is an entry with texts that each format must quote.
func entry(p edit.Place) edit.Object {
	e := edit.Object{
		{"command", `/opt/tööl server/$a"b\c`},
		{"args", []string{"serve", "--stdio", "yes", "1.10", "#x", "é\u007f"}},
		{"env", edit.Object{{"KEY", "${KEY:-}"}}},
		{"enabled", true},
		{"timeout", 30},
	}
	if p.ID != "" {
		e = append(edit.Object{{p.ID, p.Name}}, e...)
	}
	return e
}

func TestSet(t *testing.T) {
	const small = `"toolserver": {"command": "x"}`
	for _, tt := range []struct {
		name         string
		f            edit.Format
		p            edit.Place
		before, want string
	}{
		{"JSON, empty", edit.JSON, servers, "", "{\n  \"mcpServers\": {\n    \"toolserver\": {\n      \"command\": \"x\"\n    }\n  }\n}\n"},
		{"JSON, empty object", edit.JSON, servers, "{}", "{\n  \"mcpServers\": {\n    \"toolserver\": {\n      \"command\": \"x\"\n    }\n  }\n}"},
		{"JSON, only a comment", edit.JSON, servers, "// mine", "// mine\n{\n  \"mcpServers\": {\n    \"toolserver\": {\n      \"command\": \"x\"\n    }\n  }\n}\n"},
		{"JSON, no section", edit.JSON, servers, "{\n\t\"a\": 9007199254740993 // c\n}\n", "{\n\t\"a\": 9007199254740993, // c\n\t\"mcpServers\": {\n\t\t\"toolserver\": {\n\t\t\t\"command\": \"x\"\n\t\t}\n\t}\n}\n"},
		{"JSON, trailing comma", edit.JSON, servers, "{\"mcpServers\": {\n    \"a\": {}, // a\n    // b\n  },\n}", "{\"mcpServers\": {\n    \"a\": {}, // a\n    // b\n    \"toolserver\": {\n        \"command\": \"x\"\n    },\n  },\n}"},
		{"JSON, one line", edit.JSON, servers, `{"mcpServers": {"a": {}}}`, `{"mcpServers": {"a": {}, ` + small + `}}`},
		{"JSON, no blanks", edit.JSON, servers, `{"mcpServers":{"a":{}}}`, `{"mcpServers":{"a":{},` + small + `}}`},
		{"JSON, replaced", edit.JSON, servers, "\ufeff{\r\n  \"mcpServers\": {\r\n    \"toolserver\": 1, // t\r\n    \"b\": {}\r\n  }\r\n}", "{\r\n  \"mcpServers\": {\r\n    \"toolserver\": {\r\n      \"command\": \"x\"\r\n    }, // t\r\n    \"b\": {}\r\n  }\r\n}"},
		{"JSON, missing in two levels", edit.JSON, nested, "{\n  \"mcp\": {} // c\n}", "{\n  \"mcp\": {\n    \"servers\": {\n      \"tool.server/~\": {\n        \"command\": \"x\"\n      }\n    }\n  } // c\n}"},
		{"JSON, list", edit.JSON, input, "{\n  \"inputs\": [\n    {\"id\": \"b\"}\n  ]\n}", "{\n  \"inputs\": [\n    {\"id\": \"b\"},\n    {\n      \"id\": \"toolserver-KEY\",\n      \"command\": \"x\"\n    }\n  ]\n}"},
		{"TOML, empty", edit.TOML, tables, "", "[mcp_servers.\"tool server\"]\ncommand = \"x\"\n"},
		{"TOML, behind the rest", edit.TOML, tables, "n = 9007199254740993 # c\r\n", "n = 9007199254740993 # c\r\n\r\n[mcp_servers.\"tool server\"]\r\ncommand = \"x\"\r\n"},
		{
			"TOML, replaced", edit.TOML, tables,
			"[mcp_servers.'tool server'] # t\ncommand = 1\n\n[mcp_servers.\"tool server\".env]\nA = \"b\" # b\n\n# mine\n[a]\nd = 2024-01-01\n",
			"[mcp_servers.\"tool server\"]\ncommand = \"x\"\n\n# mine\n[a]\nd = 2024-01-01\n",
		},
		{"YAML, mapping", edit.YAML, servers, "version: 1.10 # v\nmcpServers:\n  a: {} # a\n# o\non: yes\n", "version: 1.10 # v\nmcpServers:\n  a: {} # a\n  toolserver:\n    command: x\n# o\non: yes\n"},
		{"YAML, list", edit.YAML, listed, "mcpServers:\n- name: a # a\n  command: b\n# o\non: yes\n", "mcpServers:\n- name: a # a\n  command: b\n- name: toolserver\n  command: x\n# o\non: yes\n"},
		{"YAML, dash alone", edit.YAML, listed, "mcpServers:\n  -\n    name: toolserver\n  - name: b\n", "mcpServers:\n  - name: toolserver\n    command: x\n  - name: b\n"},
		{"YAML, no list", edit.YAML, listed, "a: b\r\n", "a: b\r\n\r\nmcpServers:\r\n  - name: toolserver\r\n    command: x\r\n"},
	} {
		e := edit.Object{{"command", "x"}}
		if tt.p.ID != "" {
			e = append(edit.Object{{tt.p.ID, tt.p.Name}}, e...)
		}
		got, err := tt.f.Set([]byte(tt.before), tt.p, e)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %v, got:\n%s\nwant:\n%s", tt.name, err, got, tt.want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, tt := range []struct {
		f          edit.Format
		p          edit.Place
		text, want string
	}{
		{edit.JSON, servers, "{\n  \"a\": ]\n}", "line 2, column 8"},
		{edit.JSON, servers, "[]", "the file is not an object"},
		{edit.JSON, servers, `{"mcpServers": null}`, "mcpServers is not an object"},
		{edit.JSON, servers, `{"mcpServers": []}`, "mcpServers is not an object"},
		{edit.JSON, input, `{"inputs": {}}`, "inputs is not a list"},
		{edit.JSON, servers, "{\"mcpServers\": {},\n \"mcpServers\": {}}", `line 2, column 2: duplicate key "mcpServers"`},
		{edit.JSON, servers, `{"mcpServers": {"toolserver": 1, "toolserver": 2}}`, `duplicate key "toolserver"`},
		{edit.TOML, tables, "a = 1\nb = ", "line 2"},
		{edit.TOML, tables, "a = 1\na = 2", "line 2"},
		{edit.TOML, tables, "mcp_servers = {}", "edit it by hand"},
		{edit.YAML, servers, "a: b\n  c: d", "line 2"},
		{edit.YAML, servers, "mcpServers: {}\nmcpServers: {}\n", "already defined"},
		{edit.YAML, servers, "a: b\n---\nc: d\n", "edit it by hand"},
		{edit.YAML, listed, "mcpServers: {a: b}\n", "not a list"},
	} {
		if got, err := tt.f.Set([]byte(tt.text), tt.p, entry(tt.p)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q; got:\n%s", tt.text, err, tt.want, got)
		}
	}
}

// hold checks what holds for every file: the entry is there and nothing else is different, setting
// it again changes nothing, and removing it gives back what was there.
func hold(t *testing.T, f edit.Format, p edit.Place, text []byte) {
	t.Helper()
	original := bytes.Clone(text)
	after, err := f.Set(text, p, entry(p))
	if !bytes.Equal(text, original) {
		t.Fatalf("the text was changed in place")
	}
	if err != nil {
		return
	}
	found, err := f.Get(after, p)
	if err != nil || !edit.Same(found, entry(p)) {
		t.Fatalf("%q became %q: %v, %v", text, after, found, err)
	}
	if again, err := f.Set(after, p, entry(p)); err != nil || !bytes.Equal(again, after) {
		t.Fatalf("%q and again became %q: %v", after, again, err)
	}
	removed, err := f.Remove(after, p)
	if err != nil {
		t.Fatalf("%q cannot be removed: %v", after, err)
	}
	if found, err := f.Get(removed, p); found != nil || err != nil {
		t.Fatalf("%q is still there: %v, %v", removed, found, err)
	}
	original = bytes.TrimPrefix(original, []byte("\ufeff")) // which is dropped
	if before, err := f.Get(original, p); err == nil && before == nil && !(f == edit.YAML && bytes.ContainsAny(text, "{[")) {
		emptied := []byte(strings.NewReplacer(" {}", "", " []", "").Replace(string(removed))) // which says that a section is empty
		if f != edit.YAML {
			emptied = removed
		}
		if !within(original, after) || !within(emptied, after) || !within(unspaced(original), removed) {
			t.Fatalf("%q became %q, then %q", original, after, removed)
		}
	}
}

// within reports whether all bytes of a text are in another, in their order.
func within(part, whole []byte) bool {
	for _, b := range whole {
		if len(part) > 0 && part[0] == b {
			part = part[1:]
		}
	}
	return len(part) == 0
}

func unspaced(text []byte) []byte { return bytes.Join(bytes.Fields(text), nil) }

// samples are files with what editors lose.
var samples = map[edit.Format][]string{
	edit.JSON: {
		"", "{}", "{ }", "{\n}\n", " \n", "{\"mcpServers\":{}}", "{/*a*/}", "{// a\n}", "{\"mcpServers\": {/*a*/}}", "{\"a\":1,}", "[1]",
		"// head\n{\n\t\"a\": 1.10, // one\n\t\"mcpServers\": {\n\t\t// first\n\t\t\"b\": {\"command\": \"c\"}, // b\n\t},\n\t/* z */ \"z\": 9007199254740993\n}\n",
		"{\r\n  \"mcpServers\": {\r\n    \"b\": {}\r\n  }\r\n}\r\n", "\ufeff{\"mcpServers\": {\"b\": {} // b\n}}",
		"{\"mcpServers\": {\"toolserver\": {\"command\": \"old\"}, \"b\": {}}}", "{\"mcpServers\": {\"b\": {}, \"toolserver\": 1,}, \"mcp\": {\"servers\": {}}, \"inputs\": [{\"id\": \"a,b\"}]}",
		"{\"inputs\": [{\"id\": \"toolserver-KEY\"}, 3]}", "{\"mcpServers\": {\"a\": 1, // x\n \"toolserver\": 2 }}",
	},
	edit.TOML: {
		"", "a = 1", "# c\n[a.b]\nc = 1979-05-27T07:32:00Z\n", "[mcp_servers]\n", "[mcp_servers.a]\ncommand = \"x\"\nargs = [\n  \"y\", # y\n]\n\n# last\n",
		"[mcp_servers.'tool server']\nx = 1\n[mcp_servers.'tool server'.env]\nA = 'b'\n\n[b]\n", "[[a]]\r\nx = 0x1F\r\n", "mcp_servers.a.b = 1\n", "a = '''\n# x '''\n", "mcp_servers = {}",
		"[mcp_servers.'tool server'.env]\nA = 'b'\n[c]\n[mcp_servers.'tool server']\n",
	},
	edit.YAML: {
		"", "a: b", "# c\nversion: 1.10\non: yes\nday: 2024-01-01\n", "mcpServers:\n", "mcpServers: {}\n", "mcpServers: []\n", "mcpServers:\n  a:\n    b: c # d\n\n# e\nf: |\n  g\n  # h\n",
		"mcpServers:\n- name: a\n  x: y\n- name: toolserver\n  command: z\n# k\n", "mcpServers:\n  toolserver:\n    a: b\n  c: d\n", "---\na: b\n...\n", "\ufeffa: b\r\nc: d\n", "mcpServers: &x\n  a: b\nc: *x\n",
		"mcpServers: !\n  toolserver:\n    a: b\n", "mcpServers: &x !!map # c\n  toolserver:\n    a: b\nc: *x\n", "mcpServers:\n  !\n  a: b\n", "? mcpServers\n: a: b\n", "? mcpServers\n: - a: b\n",
		"mcpServers: # c\n", "mcpServers: !\n", "mcpServers: !\n-\n  # d\n  name: toolserver\n  a: b\n- c\n",
		"mcpServers:\n   #", "mcpServers:\n !", "mcpServers:\n\n   # c\n\n  # d\nb: 1\n", "mcpServers:\n  a: b\n...\n", "mcpServers:\n---\na: b\n",
		"mcpServers: [{name: a}]\n", "mcpServers: {a: {b: 1.10}} # c\n", "{a: b}", "a: >-\n  x\n\n",
	},
}

// places are where entries are in files of each format.
var places = map[edit.Format][]edit.Place{edit.JSON: {servers, nested, input}, edit.TOML: {tables}, edit.YAML: {servers, listed}}

func TestProperties(t *testing.T) {
	for f, texts := range samples {
		for _, text := range texts {
			for _, p := range places[f] {
				hold(t, f, p, []byte(text))
			}
		}
	}
}

// TestGivenBack holds removal to the bytes that were there, where the section was.
func TestGivenBack(t *testing.T) {
	for f, texts := range samples {
		for _, text := range texts {
			for _, p := range places[f] {
				before, err := f.Get([]byte(text), p)
				if err != nil || before != nil || !f.Has([]byte(text), p.Keys) || !strings.HasSuffix(text, "\n") {
					continue
				}
				after, err := f.Set([]byte(text), p, entry(p))
				if err != nil || strings.Contains(text, ": [") || strings.Contains(text, ": {") && f == edit.YAML {
					continue // refused, or written in braces
				}
				if got, err := f.Remove(after, p); err != nil || string(got) != text {
					t.Errorf("%q became %q: %v", text, got, err)
				}
			}
		}
	}
}

func TestDecode(t *testing.T) {
	for _, tt := range []struct {
		f          edit.Format
		text, want string
	}{
		{edit.JSON, "\xff\xfe{\x00}\x00", "UTF-16"},
		{edit.JSON, "\xfe\xff\x00{\x00}", "UTF-16"},
		{edit.JSON, "{\x00}\x00", "UTF-16"},
		{edit.TOML, "\x00a", "UTF-16"},
		{edit.YAML, "\xff\xfea\x00", "UTF-16"},
		{edit.JSON, `{"command": "C:\Users\ann"}`, `needs \\ or /`},
		{edit.TOML, `command = "C:\Xsers\ann"`, `needs \\ or /`},
		{edit.YAML, `command: "C:\Qsers\ann"`, `needs \\ or /`},
	} {
		if got, err := tt.f.Decode([]byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, %v; want %s", tt.text, got, err, tt.want)
		}
	}
}

func TestBegin(t *testing.T) {
	const head = "name: x\nversion: 1.0.0\n"
	for _, tt := range []struct{ text, want string }{
		{"", head},
		{"# c\na: 1\n", head + "# c\na: 1\n"},
		{"\ufeffa: 1\r\n", "name: x\r\nversion: 1.0.0\r\na: 1\r\n"},
		{"version: 2\n", "name: x\nversion: 2\n"},
		{head, head},
		{"a: [", "a: ["}, // which is refused elsewhere
		{"---\na: 1\n", ""},
		{"{a: 1}\n", ""},
		{"- a\n", ""},
		{"name:\n", ""},
	} {
		got, err := edit.YAML.Begin([]byte(tt.text), head)
		if string(got) != tt.want || (err == nil) == (tt.want == "") && tt.text != "" {
			t.Errorf("%q became %q, %v; want %q", tt.text, got, err, tt.want)
		}
	}
}

func TestSame(t *testing.T) {
	text, err := edit.JSON.Set(nil, servers, entry(servers))
	if err != nil {
		t.Fatal(err)
	}
	found, err := edit.JSON.Get(text, servers)
	if err != nil || !edit.Same(found, entry(servers)) || edit.Same(found, edit.Object{{"command", "x"}}) || edit.Same(nil, entry(servers)) {
		t.Errorf("%v, %v", found, err)
	}
}

func fuzz(f *testing.F, format edit.Format) {
	for _, text := range samples[format] {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, p := range places[format] {
			hold(t, format, p, text)
		}
	})
}

func FuzzJSON(f *testing.F) { fuzz(f, edit.JSON) }
func FuzzTOML(f *testing.F) { fuzz(f, edit.TOML) }
func FuzzYAML(f *testing.F) { fuzz(f, edit.YAML) }

package clients

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/toolserver/toolserver/clients/edit"
)

// Client is a program that starts MCP servers, or connects to them.
type Client struct {
	Name, Title string // on the command line, and to people

	Files    []string // of the user: places in the order in which they are tried; nil if none is documented
	Project  []string // of a project; nil if there is none
	Legacy   []string // of both, which the client does not read any more
	Programs []string // that show that the client is here
	Traces   []string // paths that do; by default the directories of Files

	Keys  [][]string // of the section: the first that the file has, else the last; mcpServers by default
	ID    string     // if the section is a list: the member that has the name of an item
	Head  string     // lines without which the client rejects a file
	Shape Shape

	// Add and Drop are the arguments of the client's own commands, with {name} and {entry}, which are used instead
	// of editing the user's file while the program is here: a client may write the file at any time.
	Add, Drop []string

	// ShowsErrors says that the model of this client is known to see the message of a protocol error.
	ShowsErrors bool     `yaml:"shows_errors"`
	Link        string   // an address that has the client add an entry, with what link fills in
	After       string   // what to do when the entry is written
	Notes       []string // what people trip over
}

// Shape is how a client writes an entry.
type Shape struct {
	Type       string      // value of type for a command; empty if there is none
	RemoteType string      `yaml:"remote_type"` // likewise for an address
	Command    string      // the key of the command; "command" by default
	Argv       bool        // the command has its arguments
	Env        string      // the key of the variables; "env" by default
	EnvNames   string      `yaml:"env_names"` // the key of a list of variables that are the client's own
	URL        string      // the key of an address; empty if the file takes none
	SSE        string      // the key of an address that is one of SSE if the entry has no type
	TokenEnv   string      `yaml:"token_env"` // the key of the variable that has the token
	Headers    string      // the path to the headers; "headers" by default
	Reference  string      // how an entry refers to a variable, with NAME for it; empty if it cannot
	UserRefers bool        `yaml:"user_refers"` // only in the user's file: the client rejects one of a project that does
	Inputs     bool        // references are inputs, which the client asks for
	Named      bool        // an entry says its name
	Timeout    string      // the unit of timeout: ms or s; empty if that is not known
	More       edit.Object // what else is in each entry
}

//go:embed clients.yaml
var table []byte

// All returns the clients by name.
func All() (all []Client) {
	d := yaml.NewDecoder(bytes.NewReader(table))
	d.KnownFields(true)
	if err := d.Decode(&all); err != nil {
		panic(fmt.Sprintf("clients: %v", err)) // the table is ours
	}
	for i := range all {
		if all[i].Keys == nil {
			all[i].Keys = [][]string{{"mcpServers"}}
		}
	}
	return all
}

// filled returns a template of the table for an entry.
func filled(template, name string, entry edit.Object) string {
	command := url.Values{}
	for _, m := range entry {
		switch v := m.Value.(type) {
		case string:
			command[m.Name] = []string{v}
		case []string:
			command["arg"] = v
		}
	}
	return strings.NewReplacer(
		"{name}", url.QueryEscape(name),
		"{base64}", url.QueryEscape(base64.StdEncoding.EncodeToString(edit.Line(entry))),
		"{entry}", url.PathEscape(string(edit.Line(append(edit.Object{{Name: "name", Value: name}}, entry...)))),
		"{command}", url.Values{"cmd": command["cmd"], "arg": command["arg"]}.Encode(),
	).Replace(template)
}

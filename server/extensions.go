package server

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/wire/jsonrpc"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// Protocol says which extensions of the protocol clients are offered.
type Protocol struct {
	Extensions   Extensions `yaml:"extensions"`
	Experimental bool       `yaml:"experimental"` // also those that are experiments
}

// Extensions switch single extensions.
type Extensions struct {
	Tasks  bool `yaml:"tasks"`
	Skills bool `yaml:"skills"`
	Files  bool `yaml:"files"`
	UI     bool `yaml:"ui" template:"-"`
}

// DefaultProtocol has every extension that is no experiment.
func DefaultProtocol() Protocol {
	return Protocol{Extensions: Extensions{Tasks: true, Skills: true, Files: true, UI: true}}
}

// extension is a part of the protocol of its own, with methods for those who know
// it (SEP-2133).
type extension struct {
	name     string // in protocol.extensions
	id       string // in the capabilities of both sides
	stage    string // experimental, beta or stable (SEP-3392)
	settings string // that the server declares, a JSON object
	methods  []string
	header   string // the parameter that the header Mcp-Name repeats; empty for none
	// declared rejects requests of clients that do not declare it, which they do in each request: it is
	// none of protocol versions with sessions.
	declared bool
	// negotiated says that clients declare it in the handshake, too: only who does so notices anything of it.
	negotiated bool
	purpose    string // for people
	on         func(Extensions) bool
}

const stageExperimental = "experimental"

// The methods of extensions.
const (
	methodTasksGet    = "tasks/get"
	methodTasksUpdate = "tasks/update"
	methodTasksCancel = "tasks/cancel"
	methodSkillsList  = "skills/list"
	methodSkillsGet   = "skills/get"
	methodDirectory   = "resources/directory/read"
)

// The places of extensions in the table.
const (
	extensionTasks = iota
	extensionSkills
	extensionFiles
	extensionUI
	extensionCount
)

var extensions = [extensionCount]extension{
	extensionTasks: {
		name: "tasks", id: "io.modelcontextprotocol/tasks", stage: "stable", settings: "{}", header: "taskId", declared: true,
		methods: []string{methodTasksGet, methodTasksUpdate, methodTasksCancel},
		purpose: "A call that takes long is answered with a handle, and goes on",
		on:      func(s Extensions) bool { return s.Tasks },
	},
	extensionSkills: {
		name: "skills", id: "io.modelcontextprotocol/skills", stage: "beta", settings: `{"directoryRead":true}`,
		methods: []string{methodSkillsList, methodSkillsGet, methodDirectory},
		purpose: "Directories of instructions for models, with digests of all files",
		on:      func(s Extensions) bool { return s.Skills },
	},
	extensionFiles: {
		name: "files", id: call.FilesExtension, stage: stageExperimental, settings: `{"upload":{},"download":{}}`, declared: true,
		purpose: "Tools take files of the client and give it files by address, over HTTP only",
		on:      func(s Extensions) bool { return s.Files },
	},
	extensionUI: {
		name: "ui", id: "io.modelcontextprotocol/ui", stage: "stable", settings: "{}", negotiated: true,
		purpose: "Pages that show results of tools, in programs that show pages (MCP Apps)",
		on:      func(s Extensions) bool { return s.UI },
	},
}

// offering is what of the protocol clients are offered.
type offering struct {
	on             [extensionCount]bool
	legacy, modern string // capabilities of the server
}

// capabilities are those of the server without extensions, in all protocol versions.
const capabilities = `{"logging":{},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},` +
	`"tools":{"listChanged":true},"completions":{}`

// Offer says what clients are offered from now on.
func (s *Server) Offer(p Protocol) {
	o := offering{legacy: capabilities, modern: capabilities}
	for i, e := range extensions {
		if o.on[i] = e.on(p.Extensions) && (e.stage != stageExperimental || p.Experimental); !o.on[i] {
			continue
		}
		for _, c := range []*string{&o.legacy, &o.modern} {
			if e.declared && c == &o.legacy {
				continue
			}
			before := `,"extensions":{`
			if len(*c) > len(capabilities) {
				before = ","
			}
			*c += before + `"` + e.id + `":` + e.settings
		}
	}
	for _, c := range []*string{&o.legacy, &o.modern} {
		*c += strings.Repeat("}", 1+strings.Count(*c, `"extensions":{`))
	}
	s.offering.Store(&o)
}

// extensionOf returns the place of the extension that a method belongs to.
func extensionOf(method string) (place int, ok bool) {
	place = slices.IndexFunc(extensions[:], func(e extension) bool { return slices.Contains(e.methods, method) })
	return place, place >= 0
}

// uses reports whether a request may use an extension: whether the server offers it, and the
// client declares it.
func (in *incoming) uses(place int) bool {
	return in.server.offering.Load().on[place] && rawjson.Member(rawjson.Member(in.meta.capabilities, "extensions"), extensions[place].id) != nil
}

// shows reports whether the client of a request shows views, and is offered them.
func (in *incoming) shows() bool {
	switch {
	case !in.server.offering.Load().on[extensionUI]:
		return false
	case in.meta.modern:
		return showsViews(in.meta.capabilities)
	}
	return in.session.handshake().asks&asksViews != 0
}

// showsViews reports whether capabilities say that a client shows pages of the type that views have.
func showsViews(capabilities json.RawMessage) (shows bool) {
	types := rawjson.Member(rawjson.Member(rawjson.Member(capabilities, "extensions"), extensions[extensionUI].id), "mimeTypes")
	if len(types) == 0 || types[0] != '[' {
		return false
	}
	_ = rawjson.Array(types, func(t []byte) error {
		text, err := rawjson.String(t)
		shows = shows || err == nil && text == domain.ViewType
		return nil
	})
	return shows
}

// checkExtension holds a request to the extension that its method belongs to.
func (in *incoming) checkExtension() *jsonrpc.Error {
	place, ok := extensionOf(in.Method)
	if !ok {
		return nil
	}
	e := &extensions[place]
	switch {
	case !in.server.offering.Load().on[place] || e.declared && !in.meta.modern:
		return jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "%s is not a method of this server in this protocol version", in.Method)
	case e.declared && !in.uses(place):
		return missingExtension(place)
	}
	return nil
}

// missingExtension rejects a request that takes an extension which the client does not declare.
func missingExtension(place int) *jsonrpc.Error {
	id := extensions[place].id
	return &jsonrpc.Error{
		Code: mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, Message: "the request requires that the client declares the extension " + id,
		Data: map[string]any{"requiredCapabilities": map[string]any{"extensions": map[string]any{id: json.RawMessage("{}")}}},
	}
}

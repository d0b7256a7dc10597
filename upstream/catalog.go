package upstream

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/upstream/skills"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// catalog is what a server offers, as it said itself: items of its lists.
type catalog struct {
	Protocol     string            `json:"protocol"`
	Handshake    bool              `json:"handshake,omitempty"` // asked before that, the server has refused 2026-07-28
	Info         json.RawMessage   `json:"info,omitempty"`
	Instructions string            `json:"instructions,omitempty"`
	Tools        []json.RawMessage `json:"tools,omitempty"`
	Resources    []json.RawMessage `json:"resources,omitempty"`
	Templates    []json.RawMessage `json:"templates,omitempty"`
	Prompts      []json.RawMessage `json:"prompts,omitempty"`
	Skills       []json.RawMessage `json:"skills,omitempty"`
	Directories  bool              `json:"directories,omitempty"` // it lists those of skills
}

// empty reports whether nothing is known of the server.
func (c *catalog) empty() bool { return c.Protocol == "" }

// pinnable returns the tools by their names and, of skills, what is pinned by their addresses: of several with one name the first.
func (c *catalog) pinnable(server string) map[string]json.RawMessage {
	all := c.named()
	for _, raw := range c.Skills {
		if uri, pinned := skills.URIOf(raw), skills.Pinned(server, raw); pinned != nil && all[uri] == nil {
			all[uri] = pinned
		}
	}
	return all
}

// named returns the tools by their names: of several with one name the first.
func (c *catalog) named() map[string]json.RawMessage {
	tools := map[string]json.RawMessage{}
	for _, raw := range c.Tools {
		if name, err := rawjson.String(rawjson.Member(raw, "name")); err == nil && tools[name] == nil {
			tools[name] = raw
		}
	}
	return tools
}

// files keeps what is known of one server from run to run: its last catalog, so that
// its tools are listed while it starts or fails, and the pins of its tools.
type files struct {
	state  *sandbox.State
	server string // its name
	origin string // which server it is: a hash of its command or address
}

func newFiles(state *sandbox.State, name string, s *Settings) *files {
	b, _ := json.Marshal([]any{s.argv(), s.Cwd, s.URL}) // of strings, never fails
	sum := sha256.Sum256(b)
	return &files{state, name, hex.EncodeToString(sum[:])}
}

// keptCatalog is a catalog in its file.
type keptCatalog struct {
	Origin string `json:"origin"`
	catalog
}

func (f *files) catalogName() string { return "catalog." + f.server + ".json" }

// catalog returns the last catalog of the server, or an empty one if there is none. One of
// a server that was configured under the same name does not count.
func (f *files) catalog() (c catalog, err error) {
	var kept keptCatalog
	if err := f.read(f.catalogName(), &kept); err != nil || kept.Origin != f.origin {
		return c, err
	}
	return kept.catalog, nil
}

func (f *files) keepCatalog(c catalog) error {
	return f.write(f.catalogName(), keptCatalog{f.origin, c})
}

// read decodes what is kept under a name. That nothing is kept is no error.
func (f *files) read(name string, v any) error {
	b, err := f.state.Read(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s of the state directory is damaged: %w; remove it", name, err)
	}
	return nil
}

func (f *files) write(name string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return f.state.Write(name, b)
}

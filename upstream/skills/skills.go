// Package skills reads what other servers say of their skills (SEP-2640), and gives these
// addresses of this server. Nothing of an entry is repaired: clients compare it with the
// files. An entry that is wrong costs its skill.
package skills

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/text/frontmatter"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// An Entry is a skill as another server lists it.
type Entry struct {
	domain.Skill        // as this server has it, without functions
	URI          string // of SKILL.md, as the other server has it
}

// URIOf returns the address that an entry has, or "" if it has none.
func URIOf(raw json.RawMessage) string { return text(raw, "uri") }

// text returns a member that is a text, or "".
func text(raw json.RawMessage, name string) string {
	s, _ := rawjson.String(rawjson.Member(raw, name))
	return s
}

// Read reads an entry of skills/list of a server. What it returns with an error has a path for messages.
func Read(server string, raw json.RawMessage) (e Entry, err error) {
	e.Path, e.URI = server, URIOf(raw)
	scheme, rest, absolute := strings.Cut(e.URI, "://")
	root, named := strings.CutSuffix(rest, "/"+domain.SkillMain)
	if !absolute || !named {
		return e, fmt.Errorf("its address %q is not that of a %s", brief.Name(e.URI), domain.SkillMain)
	}
	if e.Path += "/" + root; scheme+"://" != domain.SkillScheme {
		e.Path = server + "/" + scheme + ":/" + root
	}
	if value, err := rawjson.Decode(rawjson.Member(raw, "frontmatter")); err == nil {
		e.Frontmatter, _ = json.Marshal(value) // without members that are there twice, of which readers see different ones
	}
	if e.Dynamic = text(raw, "resources") == "dynamic"; e.Dynamic {
		return e, nil
	}
	var files []struct {
		URI, Digest string
		Size        *int64
	}
	if err := json.Unmarshal(rawjson.Member(raw, "resources"), &files); err != nil || files == nil {
		return e, errors.New(`its resources are neither "dynamic" nor a list of files with address, digest and size`)
	}
	e.Files = []domain.SkillFile{}
	for _, f := range files {
		below, ours := strings.CutPrefix(f.URI, e.root())
		if !ours || f.Size == nil {
			return e, fmt.Errorf("its file %q has no address in it, or no size", brief.Name(f.URI))
		}
		e.Files = append(e.Files, domain.SkillFile{URI: domain.SkillScheme + e.Path + below, Digest: f.Digest, Size: *f.Size})
	}
	slices.SortFunc(e.Files, func(a, b domain.SkillFile) int { return strings.Compare(a.URI, b.URI) })
	return e, nil
}

// root returns the address of the directory, as the other server has it.
func (e *Entry) root() string { return strings.TrimSuffix(e.URI, "/"+domain.SkillMain) }

// Own returns the other server's address of what has one here.
func (e *Entry) Own(uri string) string {
	return e.root() + strings.TrimPrefix(uri, domain.SkillScheme+e.Path)
}

// Pinned returns what of an entry decides what a model makes of it, whatever order its files are in; nil of one that is not offered.
func Pinned(server string, raw json.RawMessage) json.RawMessage {
	e, err := Read(server, raw)
	if err != nil {
		return nil
	}
	b, _ := json.Marshal(map[string]any{"frontmatter": e.Frontmatter, "resources": e.Files}) // null if they are dynamic
	return b
}

// File returns what a file was read as, and its type. SKILL.md must have the frontmatter of the entry (SEP-2640, Frontmatter Verification).
func (e *Entry) File(uri string, content []domain.Content) (body []byte, mime string, err error) {
	i := slices.IndexFunc(content, func(c domain.Content) bool { return c.URI == uri })
	if i < 0 {
		return nil, "", domain.Errorf(domain.CodeExecutionFailed, "%s was read, and is not in the result", uri)
	}
	raw := content[i].Raw
	body = []byte(text(raw, "text"))
	if rawjson.Member(raw, "blob") != nil {
		if body, err = base64.StdEncoding.DecodeString(text(raw, "blob")); err != nil {
			return nil, "", domain.Errorf(domain.CodeExecutionFailed, "%s: what was read is not valid base64", uri)
		}
	}
	if uri == e.Skill.URI() {
		if has, err := frontmatter.Of(body); err != nil || !frontmatter.Same(has, e.Frontmatter) {
			return nil, "", domain.Errorf(domain.CodeExecutionFailed, "%s does not have the frontmatter that its server lists: it is not used", uri)
		}
	}
	return body, text(raw, "mimeType"), nil
}

// Children returns what a page of resources/directory/read of the other server lists below uri, which is an address of this one,
// and the cursor of the next.
func (e *Entry) Children(uri string, page json.RawMessage) (all []*domain.Resource, next string) {
	_ = rawjson.Array(rawjson.Member(page, "resources"), func(item []byte) error {
		name, ours := strings.CutPrefix(URIOf(item), e.Own(uri)+"/")
		if ours && name != "" && !strings.ContainsAny(name, "/?#") && name != "." && name != ".." {
			all = append(all, &domain.Resource{
				URI: uri + "/" + name, Name: cmp.Or(text(item, "name"), name), Description: text(item, "description"), MIMEType: text(item, "mimeType"),
			})
		}
		return nil
	}) // what is no list has nothing in it
	return all, text(page, "nextCursor")
}

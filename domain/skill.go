package domain

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// A Skill is a directory of files with instructions for models, the first of which is
// SKILL.md (SEP-2640, https://agentskills.io/specification). Like a [Tool] it is a plain
// value, and not changed once it is in a [Catalog].
type Skill struct {
	// Path is what its address has between skill:// and /SKILL.md. It is also the name that
	// configuration knows the skill by, unique among skills.
	Path        string
	Frontmatter json.RawMessage // that of SKILL.md, as a JSON object
	Files       []SkillFile     // all of them, by their addresses; nil if the skill is Dynamic
	Dynamic     bool            // nobody knows which files there are and what is in them
	Origins     []string        // what begins further addresses of the files, as documents of another server
	Listed      bool            // lists of resources have SKILL.md, for clients that do not know skills
	Audience

	// Read returns the file at an address. What it returns is checked against Files.
	Read func(ctx context.Context, uri string) (ToolResult, error)
	// Renew has the source look whether the skill still is as it says; nil if [Registry.Look]
	// does that.
	Renew func(ctx context.Context) error
	// Children returns what is in a directory of a dynamic skill; nil if that is unknown.
	Children func(ctx context.Context, uri string) ([]*Resource, error)
}

// A SkillFile is a file of a [Skill], as the skill's entry has it.
type SkillFile struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"` // sha256: and 64 hexadecimal digits
	Size   int64  `json:"size"`
	MIME   string `json:"-"` // empty if it is unknown
}

// Bounds of a skill, which all clients support (SEP-2640, Limits).
const (
	MaxSkillFiles = 512
	MaxSkillBytes = 16 << 20
)

// SkillScheme is what addresses of skills begin with, and SkillMain the name of the file that makes a directory a skill.
const (
	SkillScheme = "skill://"
	SkillMain   = "SKILL.md"
)

// Digest returns the digest of the content of a file.
func Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// URI returns the address of SKILL.md.
func (s *Skill) URI() string { return SkillScheme + s.Path + "/" + SkillMain }

// under returns what begins the addresses of the files.
func (s *Skill) under() string { return SkillScheme + s.Path + "/" }

func (s *Skill) kind() (Kind, string) { return KindSkill, s.Path }

func (s *Skill) ids() (string, string) { return s.Path, s.Path }

func (s *Skill) with(o Override) item {
	s = new(*s)
	s.Audience.override(o)
	return s
}

// looksLike reports whether s and old are the same to callers.
func (s *Skill) looksLike(old *Skill) bool {
	return s.Path == old.Path && bytes.Equal(s.Frontmatter, old.Frontmatter) && slices.Equal(s.Files, old.Files) &&
		s.Dynamic == old.Dynamic && s.Audience.equal(old.Audience)
}

var (
	skillName   = lazyregexp.New(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	skillDigest = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)
	authority   = lazyregexp.New(`^[A-Za-z0-9._~!$&'()*+,;=-]+$`)
	segments    = lazyregexp.New(`^(/?([A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})+)+$`)
)

// check holds a skill to the format (Agent Skills) and to what an entry requires (SEP-2640).
func (s *Skill) check() error {
	first, _, _ := strings.Cut(s.Path, "/")
	if !authority().MatchString(first) || !isAddress(s.Path) {
		return fmt.Errorf("its path %q cannot be part of an address", brief.Name(s.Path))
	}
	if err := s.checkFrontmatter(); err != nil {
		return err
	}
	if s.Read == nil || s.Dynamic == (s.Files != nil) {
		return errors.New("it cannot be read, or has no list of files")
	}
	if len(s.Files) > MaxSkillFiles {
		return fmt.Errorf("it has %d files; at most %d are allowed", len(s.Files), MaxSkillFiles)
	}
	total, known, complete := int64(0), map[string]bool{}, s.Dynamic
	for _, f := range s.Files {
		rel, within := strings.CutPrefix(f.URI, s.under())
		plain, _ := url.PathUnescape(rel) // without an error, if it is an address
		switch {
		case !within || !isAddress(rel):
			return fmt.Errorf("its file %q has no address in the skill", brief.Name(f.URI))
		case known[plain]:
			return fmt.Errorf("its file %s is listed twice", rel)
		case !skillDigest().MatchString(f.Digest):
			return fmt.Errorf("the digest of its file %s is not sha256: and 64 hexadecimal digits", rel)
		case f.Size < 0 || f.Size > MaxSkillBytes:
			return fmt.Errorf("its file %s has no valid size", rel)
		}
		known[plain], total, complete = true, total+f.Size, complete || f.URI == s.URI()
	}
	switch {
	case total > MaxSkillBytes:
		return fmt.Errorf("its files have %s bytes; at most %s are allowed", brief.Thousands(int(total)), brief.Thousands(MaxSkillBytes))
	case !complete:
		return errors.New("its list of files does not have " + SkillMain)
	}
	return nil
}

// isAddress reports whether a text is segments of an address, of which none leads elsewhere.
func isAddress(text string) bool {
	return segments().MatchString(text) && !slices.ContainsFunc(strings.Split(text, "/"), func(part string) bool {
		plain, err := url.PathUnescape(part)
		return err != nil || plain == "." || plain == ".." || strings.ContainsAny(plain, "/\x00")
	})
}

func (s *Skill) checkFrontmatter() error {
	if len(s.Frontmatter) == 0 || s.Frontmatter[0] != '{' {
		return errors.New("its frontmatter is no mapping")
	}
	name, noName := rawjson.String(rawjson.Member(s.Frontmatter, "name"))
	description, noText := rawjson.String(rawjson.Member(s.Frontmatter, "description"))
	reserved, textual := "", true
	metadata := rawjson.Member(s.Frontmatter, "metadata")
	if len(metadata) > 0 && metadata[0] == '{' {
		_ = rawjson.Object(metadata, func(key, value []byte) error {
			if textual = textual && value[0] == '"'; strings.HasPrefix(string(key), "io.modelcontextprotocol/") {
				reserved = string(key)
			}
			return nil
		})
	} else if metadata != nil {
		textual = false
	}
	compatibility := rawjson.Member(s.Frontmatter, "compatibility")
	says, noSaying := rawjson.String(compatibility)
	switch {
	case noName != nil:
		return errors.New("its frontmatter has no name that is a text")
	case len(name) > 64 || !skillName().MatchString(name):
		return fmt.Errorf("its name %q is not 1 to 64 lowercase letters, digits and single hyphens between them", brief.Name(name))
	case name != path.Base(s.Path):
		return fmt.Errorf("its name %q is not that of its directory, %q", name, brief.Name(path.Base(s.Path)))
	case noText != nil || strings.TrimSpace(description) == "":
		return errors.New("its frontmatter has no description that is a text")
	case len([]rune(description)) > 1024:
		return errors.New("its description has more than 1,024 characters")
	case rawjson.Member(s.Frontmatter, "__proto__") != nil:
		return errors.New("its frontmatter has the key __proto__, which clients in JavaScript reject")
	case !textual:
		return errors.New("its metadata does not map texts to texts; quote numbers")
	case compatibility != nil && (noSaying != nil || says == "" || len([]rune(says)) > 500):
		return errors.New("its compatibility is no text of 1 to 500 characters")
	case reserved != "":
		return fmt.Errorf("its metadata has the key %q, and MCP reserves those that begin with io.modelcontextprotocol/", brief.Name(reserved))
	}
	return nil
}

// maxSkillPage bounds the files of the skills of one page.
const maxSkillPage = 4 * MaxSkillFiles

// ListSkills returns the page of the skills that p may use that begins after cursor, and the
// cursor of the next page.
func (c *Catalog) ListSkills(p Principal, cursor string) (page []*Skill, next string, err error) {
	all := filter(c.skills, func(s *Skill) bool { return c.allowsSkill(p, s) })
	key := func(s *Skill) string { return s.Path }
	page, next, err = pageOf(all, key, cursor, c.Settings.Limits.PageSize)
	files := 0
	for i, s := range page {
		if files += len(s.Files); files > maxSkillPage && i > 0 {
			return pageOf(all, key, cursor, i)
		}
	}
	return page, next, err
}

// allowsSkill reports whether p may use a skill. Since a skill has all files of the skills in
// its directory, who may not use one of these may not use it either.
func (c *Catalog) allowsSkill(p Principal, s *Skill) bool {
	return c.allows(p, s.Audience) && !slices.ContainsFunc(c.withheldSkills(p), func(inner *Skill) bool { return strings.HasPrefix(inner.Path, s.Path+"/") })
}

// withheldOrigin reports whether an address is that of a file of a skill of another server that is withheld from p.
func (c *Catalog) withheldOrigin(p Principal, uri string) bool {
	plain, err := url.PathUnescape(uri)
	if err != nil {
		plain = uri
	}
	return slices.ContainsFunc(c.withheldSkills(p), func(s *Skill) bool {
		return slices.ContainsFunc(s.Origins, func(origin string) bool { return strings.HasPrefix(uri, origin) || strings.HasPrefix(plain, origin) })
	})
}

// withheldSkills returns the skills that p may not use.
func (c *Catalog) withheldSkills(p Principal) []*Skill {
	return append(filter(c.skills, func(s *Skill) bool { return !c.allows(p, s.Audience) }), c.disabledSkills...)
}

// FindSkill returns the skill whose SKILL.md has an address, if p may use it.
func (c *Catalog) FindSkill(p Principal, uri string) (*Skill, error) {
	for _, s := range c.skills {
		if s.URI() == uri && c.allowsSkill(p, s) {
			return s, nil
		}
	}
	err := NoSkill(uri)
	for _, m := range c.missing { // the names alone may be confidential
		if m.Kind == KindSkill && !c.private && uri == SkillScheme+m.Name+"/"+SkillMain {
			err.Message = "skill " + m.Name + " " + m.Reason
		}
	}
	return nil, err
}

// NoSkill is the error of an address that no skill has.
func NoSkill(uri string) *Error {
	hint := "Call skills/list for the skills there are."
	return &Error{Code: CodeInvalidParams, Message: fmt.Sprintf("no skill is served at %q", brief.Name(uri)), Hint: hint}
}

// skillFile returns a file of a skill as a resource, or nil if p may use no skill that has it.
func (c *Catalog) skillFile(p Principal, uri string) *Resource {
	for _, s := range slices.Backward(c.skills) { // a skill within another comes after it
		if !strings.HasPrefix(uri, s.under()) || !c.allowsSkill(p, s) {
			continue
		}
		file, listed := &SkillFile{URI: uri}, s.Dynamic
		if i := slices.IndexFunc(s.Files, func(f SkillFile) bool { return f.URI == uri }); i >= 0 {
			file, listed = &s.Files[i], true
		}
		if listed {
			r := s.resource(file)
			r.ReadRaw = func(ctx context.Context, _ Location) (ToolResult, error) {
				result, err := s.Read(ctx, uri)
				if err == nil {
					result.Content, err = c.verified(s, file, result.Content)
				}
				return result, err
			}
			return r
		}
	}
	return nil
}

// resource returns what lists say of a file.
func (s *Skill) resource(f *SkillFile) *Resource {
	r := &Resource{URI: f.URI, Name: lastSegment(f.URI), MIMEType: f.MIME}
	if f.URI == s.URI() {
		r.MIMEType = "text/markdown"
		r.Name, _ = rawjson.String(rawjson.Member(s.Frontmatter, "name")) // it was checked
		r.Description, _ = rawjson.String(rawjson.Member(s.Frontmatter, "description"))
	}
	return r
}

// lastSegment returns the name of the file or directory that has an address.
func lastSegment(uri string) string {
	name := path.Base(uri)
	if plain, err := url.PathUnescape(name); err == nil && utf8.ValidString(plain) {
		return plain
	}
	return name
}

// verified returns the one document that a file was read as. Neither what is not as the entry
// of its skill says nor what would have to be redacted is served: to a client, both are files
// that somebody has tampered with (SEP-2640, Verification on Read).
func (c *Catalog) verified(s *Skill, f *SkillFile, content []Content) ([]Content, error) {
	i := slices.IndexFunc(content, func(d Content) bool { return d.URI == f.URI })
	if i < 0 {
		return nil, Errorf(CodeExecutionFailed, "%s was read, and is not in the result", f.URI)
	}
	d, raw := content[i], []byte(content[i].Text)
	switch blob := rawjson.Member(d.Raw, "blob"); {
	case d.Data != nil:
		raw = d.Data
	case blob != nil:
		text, _ := rawjson.String(blob) // is text, as the shape of the document says
		var err error
		if raw, err = base64.StdEncoding.DecodeString(text); err != nil {
			return nil, Errorf(CodeExecutionFailed, "%s: what was read is not valid base64", f.URI)
		}
	case d.Raw != nil:
		text, _ := rawjson.String(rawjson.Member(d.Raw, "text"))
		raw = []byte(text)
	}
	if !s.Dynamic && (int64(len(raw)) != f.Size || Digest(raw) != f.Digest) {
		return nil, &Error{
			Code: CodeExecutionFailed, Message: f.URI + " is not as the entry of its skill says: it has changed, or was tampered with",
			Hint: "Call skills/get for the entry as it is now.",
		}
	}
	if clean := d.WithoutSecrets(&c.Redactor); clean.Text != d.Text || !bytes.Equal(clean.Data, d.Data) || !bytes.Equal(clean.Raw, d.Raw) {
		return nil, Errorf(CodeExecutionFailed, "%s is not served: it has a secret of this server's configuration", f.URI)
	}
	return content[i : i+1], nil
}

// mimeDirectory is the type of a directory (SEP-2640, Directory Resources).
const mimeDirectory = "inode/directory"

// ReadDirectory returns the page of what is directly in a directory of skills that p may use.
func (c *Catalog) ReadDirectory(ctx context.Context, p Principal, uri, cursor string) (page []*Resource, next string, err error) {
	byURI := map[string]*Resource{}
	add := func(s *Skill, f SkillFile) {
		rel, below := strings.CutPrefix(f.URI, uri+"/")
		if name, _, deeper := strings.Cut(rel, "/"); below && deeper {
			byURI[uri+"/"+name] = &Resource{URI: uri + "/" + name, Name: lastSegment(name), MIMEType: mimeDirectory}
		} else if below && (byURI[f.URI] == nil || f.URI == s.URI()) {
			byURI[f.URI] = s.resource(&f)
		}
	}
	for _, s := range c.skills {
		if !c.allowsSkill(p, s) {
			continue
		}
		if s.Dynamic && strings.HasPrefix(uri+"/", s.under()) && s.Children != nil {
			children, err := s.Children(ctx, uri)
			if err != nil {
				return nil, "", err
			}
			for _, r := range children {
				byURI[r.URI] = r
			}
		} else if s.Dynamic {
			add(s, SkillFile{URI: s.URI()})
		}
		for _, f := range s.Files {
			add(s, f)
		}
	}
	if len(byURI) == 0 {
		return nil, "", &Error{Code: CodeInvalidParams, Message: fmt.Sprintf("%q is no directory of a skill", brief.Name(uri))}
	}
	all := make([]*Resource, 0, len(byURI))
	for _, r := range byURI {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *Resource) int { return strings.Compare(a.URI, b.URI) })
	return pageOf(all, (*Resource).key, cursor, c.Settings.Limits.PageSize)
}

package domain

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
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
	Disabled    bool            // by configuration
	Origins     []string        // what begins further addresses of the files, as documents of another server
	Listed      bool            // lists of resources have SKILL.md, for clients that do not know skills
	Audience

	// Read returns the file at an address, and its type. It is checked against Files, and Differs called if it is not as they
	// say; Differs may be nil.
	Read    func(ctx context.Context, uri string) (body []byte, mime string, err error)
	Differs func()
	// Renew has the source look whether the skill still is as it says; nil if [Registry.Look]
	// does that.
	Renew func(ctx context.Context) error
	// Children returns a page of what is in a directory of a dynamic skill, as [Catalog.ReadDirectory] does; nil if that is unknown.
	Children func(ctx context.Context, uri, cursor string) (page []*Resource, next string, err error)
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
	s.Disabled = o.disabled()
	return s
}

// looksLike reports whether s and old are the same to callers.
func (s *Skill) looksLike(old *Skill) bool {
	return s.Path == old.Path && bytes.Equal(s.Frontmatter, old.Frontmatter) && slices.Equal(s.Files, old.Files) &&
		s.Dynamic == old.Dynamic && s.Disabled == old.Disabled && s.Audience.equal(old.Audience)
}

var (
	skillName   = lazyregexp.New(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	skillDigest = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)
)

// check holds a skill to the format (Agent Skills) and to what an entry requires (SEP-2640).
func (s *Skill) check() error {
	if _, ok := unescaped(s.URI()); !ok {
		return fmt.Errorf("its path %q cannot be part of an address", brief.Name(s.Path))
	}
	if err := s.checkFrontmatter(); err != nil {
		return err
	}
	if s.Read == nil || s.Dynamic == (s.Files != nil) {
		return errors.New("it cannot be read, or has no list of files")
	}
	total, known := int64(0), map[string]bool{}
	for _, f := range s.Files {
		plain, ok := unescaped(f.URI)
		switch {
		case !ok || !strings.HasPrefix(f.URI, s.under()):
			return fmt.Errorf("its file %q has no address in the skill", brief.Name(f.URI))
		case known[plain]:
			return fmt.Errorf("its file %s is listed twice", f.URI)
		case !skillDigest().MatchString(f.Digest):
			return fmt.Errorf("the digest of its file %s is not sha256: and 64 hexadecimal digits", f.URI)
		case f.Size < 0 || f.Size > MaxSkillBytes:
			return fmt.Errorf("its file %s has no valid size", f.URI)
		}
		known[plain], total = true, total+f.Size
	}
	if main := s.URI(); !s.Dynamic && !slices.ContainsFunc(s.Files, func(f SkillFile) bool { return f.URI == main }) {
		return errors.New("its list of files does not have " + SkillMain)
	}
	return CheckSkillSize(len(s.Files), total)
}

// CheckSkillSize holds a skill to the bounds of what it may have.
func CheckSkillSize(files int, bytes int64) error {
	switch {
	case files > MaxSkillFiles:
		return fmt.Errorf("it has %d files; at most %d are allowed", files, MaxSkillFiles)
	case bytes > MaxSkillBytes:
		return fmt.Errorf("its files have %s bytes; at most %s are allowed", brief.Thousands(int(bytes)), brief.Thousands(MaxSkillBytes))
	}
	return nil
}

// unescaped returns the path of an address of a skill, and whether that is one which everybody reads alike, and which leads
// nowhere else.
func unescaped(uri string) (plain string, ok bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Host == "" || u.Host != u.Hostname() || u.String() != uri {
		return "", false
	}
	return u.Path, u.User == nil && u.RawQuery == "" && u.Fragment == "" && path.Clean(u.Path) == u.Path &&
		!strings.Contains(u.Path, "\x00") && strings.Count(u.Path, "/") == strings.Count(u.EscapedPath(), "/")
}

func (s *Skill) checkFrontmatter() error {
	var has map[string]any
	if json.Unmarshal(s.Frontmatter, &has) != nil || has == nil {
		return errors.New("its frontmatter is no mapping")
	}
	name, named := has["name"].(string)
	description, _ := has["description"].(string)
	compatibility, says := has["compatibility"].(string)
	metadata, textual := has["metadata"].(map[string]any)
	reserved := ""
	for key, value := range metadata {
		if _, text := value.(string); !text {
			textual = false
		}
		if strings.HasPrefix(key, "io.modelcontextprotocol/") {
			reserved = key
		}
	}
	missing := func(key string) bool { _, ok := has[key]; return !ok }
	quoted := func(text string) string { return strconv.Quote(brief.Name(text)) }
	for _, rule := range []struct {
		holds  bool
		broken string
	}{
		{named, "its frontmatter has no name that is a text"},
		{len(name) <= 64 && skillName().MatchString(name), "its name " + quoted(name) + " is not 1 to 64 lowercase letters, digits and single hyphens between them"},
		{name == path.Base(s.Path), "its name " + quoted(name) + " is not that of its directory, " + quoted(path.Base(s.Path))},
		{strings.TrimSpace(description) != "", "its frontmatter has no description that is a text"},
		{len([]rune(description)) <= 1024, "its description has more than 1,024 characters"},
		{missing("__proto__"), "its frontmatter has the key __proto__, which clients in JavaScript reject"},
		{textual || missing("metadata"), "its metadata does not map texts to texts; quote numbers"},
		{says && compatibility != "" && len([]rune(compatibility)) <= 500 || missing("compatibility"), "its compatibility is no text of 1 to 500 characters"},
		{reserved == "", "its metadata has the key " + quoted(reserved) + ", and MCP reserves those that begin with io.modelcontextprotocol/"},
	} {
		if !rule.holds {
			return errors.New(rule.broken)
		}
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
	return !slices.ContainsFunc(c.withheldSkills(p), func(w *Skill) bool { return w == s || strings.HasPrefix(w.Path, s.Path+"/") })
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
	return filter(c.skills, func(s *Skill) bool { return s.Disabled || !c.allows(p, s.Audience) })
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

// GetSkill returns the skill whose SKILL.md has an address, as it is now, if p may use it.
func (r *Registry) GetSkill(ctx context.Context, p Principal, uri string) (*Skill, error) {
	s, err := r.Look(ctx, LookTime).FindSkill(p, uri)
	if err != nil || s.Renew == nil {
		return s, err
	}
	if err = s.Renew(ctx); err != nil {
		return nil, err
	}
	return r.Catalog().FindSkill(p, uri)
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
		file := SkillFile{URI: uri}
		if i := slices.IndexFunc(s.Files, func(f SkillFile) bool { return f.URI == uri }); i >= 0 {
			file = s.Files[i]
		} else if !s.Dynamic {
			continue
		}
		r := s.resource(file)
		r.ReadRaw = func(ctx context.Context, _ Location) (result ToolResult, err error) {
			body, mime, err := s.Read(ctx, uri)
			if err == nil {
				err = c.verify(s, file, body)
			}
			if d := (Content{Type: ResourceContent, URI: uri, MIMEType: mime}); err == nil {
				if d.Data = body; utf8.Valid(body) && !bytes.ContainsRune(body, 0) {
					d.Data, d.Text = nil, string(body)
				}
				result.Content = []Content{d}
			}
			return result, err
		}
		return r
	}
	return nil
}

// resource returns what lists say of a file.
func (s *Skill) resource(f SkillFile) *Resource {
	r := &Resource{URI: f.URI, Name: lastName(f.URI), MIMEType: f.MIME}
	if f.URI == s.URI() {
		r.MIMEType, r.Name = "text/markdown", path.Base(s.Path)                         // which is its name
		r.Description, _ = rawjson.String(rawjson.Member(s.Frontmatter, "description")) // it was checked
	}
	return r
}

// lastName returns the name of the file or directory that has an address.
func lastName(uri string) string {
	plain, _ := url.PathUnescape(path.Base(uri)) // a valid one, in a list
	return strings.ToValidUTF8(plain, "\ufffd")
}

// verify holds what was read of a file to the entry of its skill. Neither what is not as that says nor what would have to
// be redacted is served: to a client, both are files that somebody has tampered with (SEP-2640, Verification on Read).
func (c *Catalog) verify(s *Skill, f SkillFile, body []byte) error {
	switch {
	case !s.Dynamic && (int64(len(body)) != f.Size || Digest(body) != f.Digest):
		if s.Differs != nil {
			s.Differs()
		}
		return &Error{
			Code: CodeExecutionFailed, Message: f.URI + " is not as the entry of its skill says: it has changed, or was tampered with",
			Hint: "Call skills/get for the entry as it is now.",
		}
	case c.Redactor.Text(string(body)) != string(body):
		return Errorf(CodeExecutionFailed, "%s is not served: it has a secret of this server's configuration", f.URI)
	}
	return nil
}

// mimeDirectory is the type of a directory (SEP-2640, Directory Resources).
const mimeDirectory = "inode/directory"

// ReadDirectory returns the page of what is directly in a directory of skills that p may use.
func (c *Catalog) ReadDirectory(ctx context.Context, p Principal, uri, cursor string) (page []*Resource, next string, err error) {
	byURI := map[string]*Resource{}
	for _, s := range c.skills {
		if !c.allowsSkill(p, s) {
			continue
		}
		if s.Children != nil && strings.HasPrefix(uri+"/", s.under()) {
			return s.Children(ctx, uri, cursor)
		}
		for _, f := range append([]SkillFile{{URI: s.URI()}}, s.Files...) { // a dynamic one has that at least
			rel, below := strings.CutPrefix(f.URI, uri+"/")
			if name, _, deeper := strings.Cut(rel, "/"); below && deeper {
				byURI[uri+"/"+name] = &Resource{URI: uri + "/" + name, Name: lastName(name), MIMEType: mimeDirectory}
			} else if below {
				byURI[f.URI] = s.resource(f)
			}
		}
	}
	if len(byURI) == 0 {
		return nil, "", &Error{Code: CodeInvalidParams, Message: fmt.Sprintf("%q is no directory of a skill", brief.Name(uri))}
	}
	all := slices.SortedFunc(maps.Values(byURI), func(a, b *Resource) int { return strings.Compare(a.URI, b.URI) })
	return pageOf(all, (*Resource).key, cursor, c.Settings.Limits.PageSize)
}

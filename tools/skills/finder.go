package skills

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/redact"
	"github.com/toolserver/toolserver/osfile"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/pathguard"
	"github.com/toolserver/toolserver/text/frontmatter"
	"github.com/toolserver/toolserver/tools/resources"
)

// finder finds the skills in directories, and keeps what it knows of their files until they change.
type finder struct {
	dirs   []string
	reader *sandbox.Reader // of the directories

	known   map[string]digested // by path, those of the last look
	secrets []string            // of the configuration then
	stale   atomic.Bool         // a file has changed that looks as it did

	skills  []domain.Skill // as far as this look has found them
	missing []domain.Missing
}

func newFinder(dirs []string, box sandbox.Capabilities) (f *finder, err error) {
	f = &finder{}
	for _, dir := range dirs {
		if real := pathguard.Real(dir); !slices.Contains(f.dirs, real) { // of a directory named twice there is one
			f.dirs = append(f.dirs, real)
		}
	}
	f.reader, err = box.ReaderIn(f.dirs)
	return f, err
}

// Bounds of what is looked at in one directory.
const (
	maxEntries = 50_000
	maxSkills  = 1_000
)

// sureAge is how long ago a file must have changed for the next change to show in its time.
const sureAge = 2 * time.Second

// look returns the skills of the program and those in the directories, and those that are left out.
func (f *finder) look(secrets []string) ([]domain.Skill, []domain.Missing) {
	before, redactor := f.known, redact.New(secrets)
	if f.stale.Swap(false) || !slices.Equal(secrets, f.secrets) {
		before = nil
	}
	f.known, f.secrets = map[string]digested{}, secrets
	f.skills, f.missing = own(), nil
	for _, dir := range f.dirs {
		all, err := f.walk(dir)
		if err != nil {
			f.leave(dir, err.Error())
		}
		f.collect(dir, all, func(e entry) digested {
			full := filepath.Join(dir, filepath.FromSlash(e.rel))
			d, ok := f.known[full] // as a file of a skill within another
			if !ok {
				d, ok = before[full]
			}
			if !ok || d.info != e.info {
				d = f.digest(full, &redactor)
			}
			if d.info = e.info; d.err != nil || time.Since(e.info.ModTime) < sureAge {
				d.info = osfile.Info{} // it is read again next time
			}
			f.known[full] = d
			return d
		})
	}
	return f.skills, f.missing
}

// leave notes that a skill is left out.
func (f *finder) leave(name, reason string) {
	f.missing = append(f.missing, domain.Missing{Kind: domain.KindSkill, Name: name, Reason: "is left out: " + reason, Mistake: true})
}

// entry is what is in a directory.
type entry struct {
	rel     string // to the directory, with slashes
	info    osfile.Info
	problem string // why it cannot be part of a skill
}

const symlink = "is a symlink" // the problem of one

// walk returns what is in a directory, in the order of names, without repositories of git.
func (f *finder) walk(dir string) (all []entry, err error) {
	d, err := f.reader.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	root, err := os.OpenRoot(d.Info.Real)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(rel string, from fs.DirEntry, err error) error {
		switch {
		case rel == ".":
			return err
		case from.IsDir() && from.Name() == ".git":
			return fs.SkipDir
		case len(all) == maxEntries:
			return fmt.Errorf("it has more than %s entries", brief.Thousands(maxEntries))
		}
		info, unknown := from.Info()
		_, denied := d.Denied(filepath.FromSlash(rel), from.IsDir())
		e := entry{rel: rel}
		switch err = cmp.Or(err, unknown); {
		case err != nil:
			e.problem = plain(err)
		case denied:
			e.problem = "is denied by the policy"
		case from.Type() == fs.ModeSymlink:
			e.problem = symlink
		case !from.IsDir() && !from.Type().IsRegular():
			e.problem = "is no regular file"
		default:
			e.info = osfile.Of(info)
		}
		if all = append(all, e); from.IsDir() && e.problem != "" {
			return fs.SkipDir
		}
		return nil
	})
	return all, err
}

// plain returns an error as a clause without the path, which messages have already.
func plain(err error) string {
	if e, ok := errors.AsType[*pathguard.Error](err); ok {
		return e.Reason
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return "cannot be read: " + e.Err.Error()
	}
	return err.Error()
}

// collect adds the skills of a directory. That has one itself if it has a SKILL.md.
func (f *finder) collect(dir string, all []entry, digest func(entry) digested) {
	var roots []string // of skills, as what their files begin with
	for _, e := range all {
		if at, name := path.Split(e.rel); name == domain.SkillMain && !e.info.Mode.IsDir() {
			roots = append(roots, at)
		}
		if e.problem != symlink {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(e.rel), domain.SkillMain)); err == nil {
			f.leave(e.rel, "it is a symlink; name the directory that it leads to in skills.directories")
		}
	}
	above := ""
	if slices.Contains(roots, "") {
		above = filepath.Base(dir)
	}
	if len(roots) > maxSkills {
		f.leave(dir, fmt.Sprintf("it has %d skills; at most %d are allowed", len(roots), maxSkills))
		return
	}
	for _, at := range roots {
		s := domain.Skill{Path: path.Join(above, at), Listed: true, Files: []domain.SkillFile{}}
		if err := f.fill(&s, dir, at, all, digest); err != nil {
			f.leave(s.Path, err.Error())
		} else {
			f.skills = append(f.skills, s)
		}
	}
}

// fill completes a skill by its files, which are those below at.
func (f *finder) fill(s *domain.Skill, dir, at string, all []entry, digest func(entry) digested) error {
	var within []entry
	total := int64(0)
	for _, e := range all {
		switch rel, below := strings.CutPrefix(e.rel, at); {
		case below && e.problem != "":
			return fmt.Errorf("its file %s %s", brief.Name(rel), e.problem)
		case below && !e.info.Mode.IsDir():
			within, total = append(within, e), total+e.info.Size
		}
	}
	if err := domain.CheckSkillSize(len(within), total); err != nil {
		return err // before files are read
	}
	paths := map[string]string{}
	for _, e := range within {
		d, rel := digest(e), e.rel[len(at):]
		if d.err != nil {
			return fmt.Errorf("its file %s %s", brief.Name(rel), plain(d.err))
		}
		d.file.URI = domain.SkillScheme + s.Path + "/" + (&url.URL{Path: rel}).EscapedPath()
		paths[d.file.URI], s.Files = filepath.Join(dir, filepath.FromSlash(e.rel)), append(s.Files, d.file)
		if rel == domain.SkillMain {
			if s.Frontmatter = d.frontmatter; d.malformed != nil {
				return d.malformed
			}
		}
	}
	s.Read = func(_ context.Context, uri string) (domain.Content, error) {
		body, err := f.read(paths[uri])
		if err != nil {
			return domain.Content{}, domain.ResourceNotFound(uri, uri+" is not there any more, or cannot be read: call skills/get for the files that there are")
		}
		return content(uri, paths[uri], body), nil
	}
	s.Differs = func() { f.stale.Store(true) }
	return nil
}

// content returns a file as clients get it: as text, if its bytes are those of one.
func content(uri, name string, body []byte) domain.Content {
	c := domain.Content{Type: domain.ResourceContent, URI: uri, MIMEType: resources.TypeOf(name, body)}
	if utf8.Valid(body) && !bytes.ContainsRune(body, 0) {
		c.Text = string(body)
	} else {
		c.Data = body
	}
	return c
}

// read reads a file under the policy, which may not allow it any more, and no more than a skill may have.
func (f *finder) read(full string) ([]byte, error) {
	file, err := f.reader.Open(full)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if file.Info.Real != full {
		return nil, errors.New("has become a symlink")
	}
	body, err := io.ReadAll(io.LimitReader(file, domain.MaxSkillBytes+1))
	if err == nil && len(body) > domain.MaxSkillBytes {
		err = errors.New("is too large")
	}
	return body, err
}

// digested is what is known of a file.
type digested struct {
	info        osfile.Info      // how it looked; zero if it must be read again
	file        domain.SkillFile // without an address
	err         error            // why it cannot be offered
	frontmatter json.RawMessage  // of a SKILL.md
	malformed   error            // or why that has none
}

func (f *finder) digest(full string, redactor *redact.Redactor) (d digested) {
	body, err := f.read(full)
	c := content("", full, body)
	if d.err = err; err == nil && c.HasSecrets(redactor) {
		d.err = errors.New("has a secret of this server's configuration")
	}
	d.file = domain.SkillFile{Digest: domain.Digest(body), Size: int64(len(body)), MIME: c.MIMEType}
	if filepath.Base(full) == domain.SkillMain {
		d.frontmatter, d.malformed = frontmatter.Of(body)
	}
	return d
}

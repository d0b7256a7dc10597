package skills

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
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

// finder finds the skills in directories, and keeps what it has found until files change.
type finder struct {
	dirs   []string
	reader *sandbox.Reader // of the directories

	skills  []domain.Skill
	missing []domain.Missing
	state   string      // a hash of how the files looked that these were made of, and of the secrets then
	stale   atomic.Bool // files may be others although they look as they did
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

// seen is an entry of a directory.
type seen struct {
	rel     string // to the directory, with slashes
	dir     bool
	problem string // why it cannot be part of a skill
	info    osfile.Info
}

// Name and Rel are for [pathguard.Dir.Protected].
func (e seen) Name() string { return path.Base(e.rel) }
func (e seen) Rel() string  { return e.rel }

// look returns the skills of the program and those in the directories, and those that are left out.
func (f *finder) look(ctx context.Context, secrets []string) ([]domain.Skill, []domain.Missing) {
	state := sha256.New()
	fmt.Fprintf(state, "%q", secrets)
	found, failed, young := make([][]seen, len(f.dirs)), make([]error, len(f.dirs)), false
	for i, dir := range f.dirs {
		found[i], failed[i] = f.walk(ctx, dir)
		fmt.Fprintf(state, "%d %v\n", i, failed[i])
		for _, e := range found[i] {
			fmt.Fprintf(state, "%q %t %q %d %d %v\n", e.rel, e.dir, e.problem, e.info.Size, e.info.ModTime.UnixNano(), e.info.ID)
			young = young || time.Since(e.info.ModTime) < sureAge
		}
	}
	sum := string(state.Sum(nil))
	if f.state != "" && (ctx.Err() != nil || sum == f.state && !f.stale.Load()) {
		return f.skills, f.missing
	}
	f.state = sum
	f.stale.Store(young)
	before, left := f.skills, f.missing
	skills, err := own()
	f.skills, f.missing = skills, nil
	if err != nil {
		f.leave("toolserver", err.Error())
	}
	redactor := redact.New(secrets)
	for i, dir := range f.dirs {
		if failed[i] != nil {
			f.leave(dir, failed[i].Error())
		}
		f.collect(ctx, dir, found[i], &redactor)
	}
	if err := ctx.Err(); err != nil { // some were not read: the next who asks has them
		if f.stale.Store(true); errors.Is(err, context.Canceled) {
			f.skills, f.missing = before, left
		}
	}
	return f.skills, f.missing
}

// leave notes that a skill is left out.
func (f *finder) leave(name, reason string) {
	f.missing = append(f.missing, domain.Missing{Kind: domain.KindSkill, Name: name, Reason: "is left out: " + reason, Mistake: true})
}

const symlink = "is a symlink" // the problem of one

// walk returns what is in a directory, in the order of names, without repositories of git.
func (f *finder) walk(ctx context.Context, dir string) (all []seen, err error) {
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
	err = fs.WalkDir(root.FS(), ".", func(rel string, entry fs.DirEntry, err error) error {
		if rel == "." || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		e := seen{rel: rel, dir: entry.IsDir()}
		_, denied := d.Denied(filepath.FromSlash(rel), e.dir)
		rule, protected := d.Protected(e)
		switch {
		case e.dir && entry.Name() == ".git":
			return fs.SkipDir
		case len(all) >= maxEntries:
			return fmt.Errorf("it has more than %s entries", brief.Thousands(maxEntries))
		case err != nil:
			e.problem = plain(err)
		case denied:
			e.problem = "is denied by the policy"
		case protected:
			e.problem = "is " + rule
		case entry.Type() == fs.ModeSymlink:
			e.problem = symlink
		case !e.dir && !entry.Type().IsRegular():
			e.problem = "is no regular file"
		case !e.dir:
			info, err := entry.Info()
			if err != nil {
				e.problem = plain(err)
			} else {
				e.info = osfile.Of(info)
			}
		}
		all = append(all, e)
		if e.dir && e.problem != "" {
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
func (f *finder) collect(ctx context.Context, dir string, all []seen, redactor *redact.Redactor) {
	roots := map[string]string{} // paths of skills, by where they are
	for _, e := range all {
		if at, name := path.Split(e.rel); name == domain.SkillMain && !e.dir {
			roots[at] = strings.TrimSuffix(at, "/")
		}
		if e.problem != symlink {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(e.rel), domain.SkillMain)); err == nil {
			f.leave(e.rel, "it is a symlink; name the directory that it leads to in skills.directories")
		}
	}
	if _, itself := roots[""]; itself {
		for at := range roots {
			roots[at] = path.Join(filepath.Base(dir), at)
		}
	}
	if len(roots) > maxSkills {
		f.leave(dir, fmt.Sprintf("it has %d skills; at most %d are allowed", len(roots), maxSkills))
		return
	}
	read := map[string]*digested{}
	for _, at := range slices.Sorted(maps.Keys(roots)) {
		s := domain.Skill{Path: roots[at], Listed: true, Files: []domain.SkillFile{}}
		if err := f.fill(ctx, &s, dir, at, all, func(full string) *digested {
			if read[full] == nil { // otherwise it is one of a skill within another
				read[full] = f.digest(full, redactor)
			}
			return read[full]
		}); err != nil {
			f.leave(s.Path, err.Error())
		} else {
			f.skills = append(f.skills, s)
		}
	}
}

// fill completes a skill by its files, which are those below at.
func (f *finder) fill(ctx context.Context, s *domain.Skill, dir, at string, all []seen, digest func(full string) *digested) error {
	total, within := int64(0), all[:0:0]
	for _, e := range all {
		if !strings.HasPrefix(e.rel, at) || e.dir && e.problem == "" {
			continue
		}
		if e.problem != "" {
			return fmt.Errorf("its file %s %s", brief.Name(e.rel[len(at):]), e.problem)
		}
		within, total = append(within, e), total+e.info.Size
	}
	switch {
	case len(within) > domain.MaxSkillFiles:
		return fmt.Errorf("it has %d files; at most %d are allowed", len(within), domain.MaxSkillFiles)
	case total > domain.MaxSkillBytes:
		return fmt.Errorf("its files have %s bytes; at most %s are allowed", brief.Thousands(int(total)), brief.Thousands(domain.MaxSkillBytes))
	}
	paths := map[string]string{}
	for _, e := range within {
		full := filepath.Join(dir, filepath.FromSlash(e.rel))
		d := digest(full)
		if err := cmp.Or(ctx.Err(), d.err); err != nil {
			return fmt.Errorf("its file %s %s", brief.Name(e.rel[len(at):]), plain(err))
		}
		file := d.file
		file.URI = domain.SkillScheme + s.Path + "/" + (&url.URL{Path: e.rel[len(at):]}).EscapedPath()
		if paths[file.URI], s.Files = full, append(s.Files, file); file.URI == s.URI() {
			if d.malformed != nil {
				return d.malformed
			}
			s.Frontmatter = d.frontmatter
		}
	}
	s.Read = func(_ context.Context, uri string) (r domain.ToolResult, err error) {
		body, err := f.read(paths[uri])
		if err != nil {
			return r, domain.ResourceNotFound(uri, uri+" is not there any more, or cannot be read: call skills/get for the files that there are")
		}
		if !slices.ContainsFunc(s.Files, func(file domain.SkillFile) bool { return file.URI == uri && file.Digest == domain.Digest(body) }) {
			f.stale.Store(true)
		}
		r.Content = []domain.Content{content(uri, paths[uri], body)}
		return r, nil
	}
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
	file        domain.SkillFile // without an address
	err         error            // why it cannot be offered
	frontmatter json.RawMessage  // of a SKILL.md
	malformed   error            // or why that has none
}

func (f *finder) digest(full string, redactor *redact.Redactor) *digested {
	body, err := f.read(full)
	c := content("", full, body)
	if clean := c.WithoutSecrets(redactor); err == nil && (clean.Text != c.Text || !bytes.Equal(clean.Data, c.Data)) {
		err = errors.New("has a secret of this server's configuration")
	}
	d := &digested{file: domain.SkillFile{Digest: domain.Digest(body), Size: int64(len(body)), MIME: c.MIMEType}, err: err}
	if filepath.Base(full) == domain.SkillMain {
		d.frontmatter, d.malformed = frontmatter.Of(body)
	}
	return d
}

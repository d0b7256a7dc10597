package skills

import (
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
		if err := f.find(dir, func(full string, info osfile.Info) digested {
			d, ok := f.known[full] // as a file of a skill within another
			if !ok {
				d, ok = before[full]
			}
			if !ok || d.info != info {
				d = f.digest(full, &redactor)
			}
			if d.info = info; d.err != nil || time.Since(info.ModTime) < sureAge {
				d.info = osfile.Info{} // it is read again next time
			}
			f.known[full] = d
			return d
		}); err != nil {
			f.leave(dir, err.Error())
		}
	}
	return f.skills, f.missing
}

// leave notes that a skill is left out.
func (f *finder) leave(name, reason string) {
	f.missing = append(f.missing, domain.Missing{Kind: domain.KindSkill, Name: name, Reason: "is left out: " + reason, Mistake: true})
}

// find adds the skills of a directory. That has one itself if it has a SKILL.md.
func (f *finder) find(dir string, digest func(string, osfile.Info) digested) error {
	d, err := f.reader.OpenDir(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	root, err := os.OpenRoot(d.Info.Real)
	if err != nil {
		return err
	}
	defer root.Close()
	var roots []string
	entries := 0
	err = fs.WalkDir(root.FS(), ".", func(rel string, e fs.DirEntry, err error) error {
		switch entries++; {
		case rel == "." && err != nil:
			return err
		case entries > maxEntries:
			return fmt.Errorf("it has more than %s entries", brief.Thousands(maxEntries))
		case e.IsDir() && (err != nil || skips(d, rel, e)):
			return fs.SkipDir
		case e.Type() == fs.ModeSymlink && e.Name() != domain.SkillMain:
			if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(rel), domain.SkillMain)); err == nil {
				f.leave(rel, "it is a symlink; name the directory that it leads to in skills.directories")
			}
		case e.Name() == domain.SkillMain && !e.IsDir():
			roots = append(roots, path.Dir(rel))
		}
		return nil
	})
	if len(roots) > maxSkills {
		return fmt.Errorf("it has %d skills; at most %d are allowed", len(roots), maxSkills)
	}
	above := ""
	if slices.Contains(roots, ".") {
		above = filepath.Base(dir)
	}
	for _, at := range roots {
		s := domain.Skill{Path: path.Join(above, at), Listed: true, Files: []domain.SkillFile{}}
		if err := f.fill(&s, d, root, at, digest); err != nil {
			f.leave(s.Path, err.Error())
		} else {
			f.skills = append(f.skills, s)
		}
	}
	return err
}

// skips reports whether an entry of a directory is not looked into: a repository of git, or what the policy denies.
func skips(d *pathguard.Dir, rel string, e fs.DirEntry) bool {
	_, denied := d.Denied(filepath.FromSlash(rel), e.IsDir())
	return denied || e.IsDir() && e.Name() == ".git"
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

// fill completes a skill by its files, which are those below at.
func (f *finder) fill(s *domain.Skill, d *pathguard.Dir, root *os.Root, at string, digest func(string, osfile.Info) digested) error {
	total, paths := int64(0), map[string]string{}
	if err := fs.WalkDir(root.FS(), at, func(rel string, e fs.DirEntry, err error) error {
		within := strings.TrimPrefix(rel, at+"/")
		problem := func(text string) error { return fmt.Errorf("its file %s %s", brief.Name(within), text) }
		if err != nil {
			return problem(plain(err))
		}
		info, err := e.Info()
		switch {
		case err != nil:
			return problem(plain(err))
		case e.IsDir() && e.Name() == ".git":
			return fs.SkipDir
		case skips(d, rel, e):
			return problem("is denied by the policy")
		case e.IsDir():
			return nil
		case e.Type() == fs.ModeSymlink:
			return problem("is a symlink")
		case !e.Type().IsRegular():
			return problem("is no regular file")
		}
		total += info.Size()
		if err := domain.CheckSkillSize(len(s.Files)+1, total); err != nil {
			return err
		}
		full := filepath.Join(d.Info.Real, filepath.FromSlash(rel))
		has := digest(full, osfile.Of(info))
		if has.err != nil {
			return problem(plain(has.err))
		}
		has.file.URI = domain.SkillScheme + s.Path + "/" + (&url.URL{Path: within}).EscapedPath()
		if paths[has.file.URI], s.Files = full, append(s.Files, has.file); within == domain.SkillMain {
			s.Frontmatter, err = has.frontmatter, has.malformed
		}
		return err
	}); err != nil {
		return err
	}
	s.Read = func(_ context.Context, uri string) ([]byte, string, error) {
		body, err := f.read(paths[uri])
		if err != nil {
			err = domain.ResourceNotFound(uri, uri+" is not there any more, or cannot be read: call skills/get for the files that there are")
		}
		return body, resources.TypeOf(uri, body), err
	}
	s.Differs = func() { f.stale.Store(true) }
	return nil
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
	if d.err = err; err == nil && redactor.Text(string(body)) != string(body) {
		d.err = errors.New("has a secret of this server's configuration")
	}
	d.file = domain.SkillFile{Digest: domain.Digest(body), Size: int64(len(body)), MIME: resources.TypeOf(full, body)}
	if filepath.Base(full) == domain.SkillMain {
		d.frontmatter, d.malformed = frontmatter.Of(body)
	}
	return d
}

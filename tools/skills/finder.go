package skills

import (
	"bytes"
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
	"sync"
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

	last    string // what it saw, and under which secrets
	skills  []domain.Skill
	missing []domain.Missing

	mu    sync.Mutex
	known map[string]*digested // by path
}

// digested is what is known of a file, which is read again when it looks otherwise.
type digested struct {
	info        osfile.Info
	sure        bool // another content would have another time
	digest      string
	size        int64
	mime        string
	problem     string          // why it cannot be offered; "" if it can
	frontmatter json.RawMessage // of a SKILL.md
	malformed   string          // or why that has none
}

func newFinder(dirs []string, box sandbox.Capabilities) (f *finder, err error) {
	f = &finder{known: map[string]*digested{}}
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
	var state strings.Builder
	fmt.Fprintf(&state, "%q", secrets)
	found := make([][]seen, len(f.dirs))
	failed := make([]error, len(f.dirs))
	for i, dir := range f.dirs {
		found[i], failed[i] = f.walk(ctx, dir)
		fmt.Fprintf(&state, "%d %v\n", i, failed[i])
		for _, e := range found[i] {
			fmt.Fprintf(&state, "%q %t %q %d %d %v\n", e.rel, e.dir, e.problem, e.info.Size, e.info.ModTime.UnixNano(), e.info.ID)
		}
	}
	if ctx.Err() != nil && f.last != "" || state.String() == f.last && f.settled() {
		return f.skills, f.missing
	}
	f.last = state.String()
	skills, err := own()
	f.skills, f.missing = skills, nil
	if err != nil {
		f.leave("toolserver", err.Error())
	}
	redactor := redact.New(secrets)
	used := map[string]*digested{}
	for i, dir := range f.dirs {
		if failed[i] != nil {
			f.leave(dir, failed[i].Error())
		}
		f.collect(ctx, dir, found[i], &redactor, used)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known = used
	return f.skills, f.missing
}

// settled reports whether all digests are sure to be those of the files as they look.
func (f *finder) settled() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.known {
		if !d.sure {
			return false
		}
	}
	return true
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
			e.problem = "cannot be read: " + plain(err)
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
				e.problem = "cannot be read: " + plain(err)
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

// plain returns an error without the path, which messages have already.
func plain(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[*pathguard.Error](err); ok {
		return e.Reason
	}
	return err.Error()
}

// collect adds the skills of a directory. That has one itself if it has a SKILL.md.
func (f *finder) collect(ctx context.Context, dir string, all []seen, redactor *redact.Redactor, used map[string]*digested) {
	roots := map[string]string{} // paths of skills, by where they are
	for _, e := range all {
		if at, name := path.Split(e.rel); name == domain.SkillMain && !e.dir {
			roots[at] = strings.TrimSuffix(at, "/")
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
	for _, e := range all {
		_, inSkill := roots[""]
		for at := path.Dir(e.rel); at != "." && !inSkill; at = path.Dir(at) {
			_, inSkill = roots[at+"/"]
		}
		if e.problem != symlink || inSkill {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(e.rel), domain.SkillMain)); err == nil {
			f.leave(e.rel, "it is a symlink; name the directory that it leads to in skills.directories")
		}
	}
	for at, name := range roots {
		s := domain.Skill{Path: name, Listed: true, Files: []domain.SkillFile{}}
		if err := f.fill(ctx, &s, dir, at, all, redactor, used); err != nil {
			f.leave(name, err.Error())
		} else {
			f.skills = append(f.skills, s)
		}
	}
	slices.SortFunc(f.skills, func(a, b domain.Skill) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(f.missing, func(a, b domain.Missing) int { return strings.Compare(a.Name+a.Reason, b.Name+b.Reason) })
}

// fill completes a skill by its files, which are those below at.
func (f *finder) fill(ctx context.Context, s *domain.Skill, dir, at string, all []seen, redactor *redact.Redactor, used map[string]*digested) error {
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
		if err := ctx.Err(); err != nil {
			return err
		}
		full := filepath.Join(dir, filepath.FromSlash(e.rel))
		d := f.digest(full, e.info, redactor, used)
		if d.problem != "" {
			return fmt.Errorf("its file %s %s", brief.Name(e.rel[len(at):]), d.problem)
		}
		parts := strings.Split(e.rel[len(at):], "/")
		for i := range parts {
			parts[i] = url.PathEscape(parts[i])
		}
		file := domain.SkillFile{URI: domain.SkillScheme + s.Path + "/" + strings.Join(parts, "/"), Digest: d.digest, Size: d.size, MIME: d.mime}
		if paths[file.URI], s.Files = full, append(s.Files, file); file.URI == s.URI() {
			if d.malformed != "" {
				return errors.New(d.malformed)
			}
			s.Frontmatter = d.frontmatter
		}
	}
	s.Read = func(_ context.Context, uri string) (r domain.ToolResult, err error) {
		body, err := f.read(paths[uri])
		if err != nil {
			return r, domain.ResourceNotFound(uri, uri+" is not there any more, or cannot be read: call skills/get for the files that there are")
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if d := f.known[paths[uri]]; d != nil && d.digest != domain.Digest(body) { // whatever its time says
			d.sure = false
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

// sureAge is how old a change has to be for a later one to show in the time of a file.
const sureAge = 2 * time.Second

// digest returns what is known of a file, which it reads if it looks otherwise than before.
func (f *finder) digest(full string, info osfile.Info, redactor *redact.Redactor, used map[string]*digested) *digested {
	if d := used[full]; d != nil { // a file of a skill within another
		return d
	}
	f.mu.Lock()
	d := f.known[full]
	f.mu.Unlock()
	if d == nil || !d.sure || d.info != info || d.problem != "" || !redactor.Empty() {
		d = f.newDigest(full, info, redactor)
	}
	used[full] = d
	return d
}

func (f *finder) newDigest(full string, info osfile.Info, redactor *redact.Redactor) *digested {
	d := &digested{info: info, sure: time.Since(info.ModTime) > sureAge}
	body, err := f.read(full)
	if err != nil {
		d.problem = "cannot be read: " + plain(err)
		return d
	}
	c := content("", full, body)
	d.digest, d.size, d.mime = domain.Digest(body), int64(len(body)), c.MIMEType
	if clean := c.WithoutSecrets(redactor); clean.Text != c.Text || !bytes.Equal(clean.Data, c.Data) {
		d.problem = "has a secret of this server's configuration"
	}
	if filepath.Base(full) == domain.SkillMain {
		if d.frontmatter, err = frontmatter.Of(body); err != nil {
			d.malformed = err.Error()
		}
	}
	return d
}

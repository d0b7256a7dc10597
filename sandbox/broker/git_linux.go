package broker

import (
	"crypto/rand"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// This file says what is protected of repositories of git: a directory that is called
// .git, or has what git recognises one by. Others are no repositories, and what they
// hold is checked when they become one.

// gitMarks are names of which a repository has some.
var gitMarks = []string{"HEAD", "objects", "refs", "commondir"}

// gitNames are those that gitRule is about.
var gitNames = append([]string{"config", "config.worktree", "hooks", ".git"}, gitMarks...)

const (
	gitConfigRule = "protected: .git/config"
	gitHooksRule  = "protected: .git/hooks"

	// replacement begins the names of new configurations before they have theirs.
	replacement   = ".toolserver-"
	maxConfigSize = 1 << 20
)

// repository reports whether a directory is one, or is called so.
func (b *session) repository(dir int, name string) bool {
	return path.Base(name) == ".git" || strings.Contains(name, "/.git/modules/") || b.exists(dir, "HEAD") || b.exists(dir, "commondir") || b.exists(dir, "objects") && b.exists(dir, "refs")
}

func (b *session) exists(dir int, name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}

// gitConfig reports whether a place is the configuration of a repository.
func (b *session) gitConfig(p *place) bool {
	return (p.name == "config" || p.name == "config.worktree") && b.repository(p.dir, path.Dir(p.path))
}

// gitRule returns the rule that protects a place in a repository.
func (b *session) gitRule(o op, p *place) (rule string, refused bool) {
	dir := path.Dir(p.path)
	switch {
	case strings.HasPrefix(p.name, replacement):
		return gitConfigRule, true
	case b.gitConfig(p):
		return gitConfigRule, true
	case path.Base(dir) == "hooks" && !strings.HasSuffix(p.name, ".sample"):
		above, err := b.openat2(p.dir, "..", unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC})
		if err != nil {
			return gitHooksRule, true
		}
		defer unix.Close(above)
		return gitHooksRule, b.repository(above, path.Dir(dir))
	case p.name == "hooks" && o != opMkdir && o != opRename:
		return gitHooksRule, b.repository(p.dir, dir)
	case p.name == "commondir" && path.Base(dir) == ".git":
		return "protected: .git/commondir", true
	case p.name == "objects" && !b.exists(p.dir, "refs"), p.name == "refs" && !b.exists(p.dir, "objects"):
	case slices.Contains(gitMarks, p.name) && !b.repository(p.dir, dir):
		return gitConfigRule, !b.becomesRepository(p.dir)
	}
	return "", false
}

// permitRepository reports whether a directory may have the name of to for what git
// does with it.
func (b *session) permitRepository(from, to *place) error {
	dir, err := b.openat2(from.dir, from.name, unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | unix.O_DIRECTORY | unix.O_NOFOLLOW})
	if err != nil {
		return nil // it is no directory
	}
	defer unix.Close(dir)
	allowed := true
	switch {
	case to.name == ".git" && !b.repository(dir, from.path):
		allowed = b.becomesRepository(dir)
	case to.name == "hooks" && b.repository(to.dir, path.Dir(to.path)):
		allowed = b.onlySamples(dir)
	}
	if !allowed {
		b.record(opRename, to.path, gitConfigRule, nil)
		return unix.EACCES
	}
	return nil
}

// becomesRepository reports whether a directory may become one: its configuration runs
// nothing, and has no other name from here on, and it has no hooks.
func (b *session) becomesRepository(dir int) bool {
	for _, name := range []string{"config", "config.worktree"} {
		if !b.exists(dir, name) {
			continue
		}
		text, mode, err := b.read(dir, name)
		if err != nil || AddsProgram("", text, "") != "" || b.write(dir, name, text, mode) != nil {
			return false
		}
	}
	hooks, err := b.openat2(dir, "hooks", unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | unix.O_DIRECTORY | unix.O_NOFOLLOW})
	if err != nil {
		return err == unix.ENOENT
	}
	defer unix.Close(hooks)
	return b.onlySamples(hooks)
}

func (b *session) onlySamples(dir int) bool {
	fd, err := b.open(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	buf := make([]byte, 1<<16)
	for {
		n, err := unix.Getdents(fd, buf)
		if n <= 0 || err != nil {
			return err == nil
		}
		_, _, names := unix.ParseDirent(buf[:n], -1, nil)
		if slices.ContainsFunc(names, func(name string) bool { return !strings.HasSuffix(name, ".sample") }) {
			return false
		}
	}
}

// replaceConfig replaces the configuration of a repository by a copy of another file,
// if that adds nothing that runs a program. The command has no descriptor of the copy.
func (b *session) replaceConfig(from, to *place) error {
	text, mode, err := b.read(from.dir, from.name)
	if err != nil {
		return err
	}
	old, _, err := b.read(to.dir, to.name)
	if err != nil && err != unix.ENOENT {
		return err
	}
	if key := AddsProgram(old, text, path.Dir(to.path)); key != "" {
		b.record(opRename, to.path, gitConfigRule+" ("+key+")", nil)
		return unix.EACCES
	}
	if err := b.write(to.dir, to.name, text, mode); err != nil {
		b.record(opRename, to.path, "", err)
		return err
	}
	return b.call(unix.SYS_UNLINKAT, uintptr(from.dir), b.text(0, from.name), 0, 0, 0)
}

// read returns the text of a regular file and its mode.
func (b *session) read(dir int, name string) (text string, mode uint32, err error) {
	fd, err := b.open(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", 0, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size > maxConfigSize {
		return "", 0, unix.EACCES
	}
	buf := make([]byte, maxConfigSize+1)
	n := 0
	for n < len(buf) {
		got, err := unix.Read(fd, buf[n:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return "", 0, err
		}
		if got == 0 {
			return string(buf[:n]), st.Mode & 0o777, nil
		}
		n += got
	}
	return "", 0, unix.EFBIG
}

// write replaces a file, all at once.
func (b *session) write(dir int, name, text string, mode uint32) error {
	temp := replacement + rand.Text()
	fd, err := b.open(dir, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	for rest := text; rest != "" && err == nil; {
		var n int
		if n, err = unix.Write(fd, []byte(rest)); err == nil || err == unix.EINTR {
			rest, err = rest[max(n, 0):], nil
		}
	}
	if err == nil {
		err = unix.Fchmod(fd, mode)
	}
	unix.Close(fd)
	if err == nil {
		err = b.call(unix.SYS_RENAMEAT2, uintptr(dir), b.text(0, temp), uintptr(dir), b.text(1, name), 0)
	}
	if err != nil {
		_ = b.call(unix.SYS_UNLINKAT, uintptr(dir), b.text(0, temp), 0, 0, 0)
	}
	return err
}

package broker

import (
	"crypto/rand"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/toolserver/toolserver/sandbox/repository"
)

// replacement begins the names of new files before they have theirs.
const replacement = ".toolserver-"

// A directory is the [repository.Dir] of a descriptor.
type directory struct {
	*caller
	fd int
}

func (d directory) Exists(name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}

func (d directory) Above(levels int) (repository.Dir, error) {
	return d.below(strings.Repeat("../", levels) + ".")
}

func (d directory) Close() { unix.Close(d.fd) }

func (d directory) below(name string) (directory, error) {
	fd, err := d.openat2(d.fd, name, unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | unix.O_DIRECTORY | unix.O_NOFOLLOW})
	return directory{d.caller, fd}, err
}

func (d directory) List(name string) (names []string, err error) {
	fd, err := d.open(d.fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	buf := make([]byte, 1<<16)
	for {
		n, err := unix.Getdents(fd, buf)
		if n <= 0 || err != nil {
			return names, err
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

func (d directory) Read(name string) (text string, perm uint32, err error) {
	fd, err := d.open(d.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", 0, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	switch err := unix.Fstat(fd, &st); {
	case err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR:
		return "", 0, unix.ENOENT
	case err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size > repository.MaxConfig:
		return "", 0, unix.EACCES
	}
	buf := make([]byte, repository.MaxConfig+1)
	for n := 0; n < len(buf); {
		got, err := unix.Read(fd, buf[n:])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return "", 0, err
		case got == 0:
			return string(buf[:n]), st.Mode & 0o777, nil
		}
		n += max(got, 0)
	}
	return "", 0, unix.EFBIG
}

func (d directory) Replace(name, text string, perm uint32) error {
	temp := replacement + rand.Text()
	fd, err := d.open(d.fd, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
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
		err = unix.Fchmod(fd, perm)
	}
	unix.Close(fd)
	if err == nil {
		err = d.call(unix.SYS_RENAMEAT2, uintptr(d.fd), d.text(0, temp), uintptr(d.fd), d.text(1, name), 0)
	}
	if err != nil {
		d.unlink(d.fd, temp, false)
	}
	return err
}

// concerned reports whether a repository may have to do with a place.
func (p *place) concerned() bool {
	return p.name == ".git" || repository.Concerns(path.Dir(p.path), p.name)
}

// enter keeps others from changing repositories until leave, if a place is in one. It
// returns false if somebody else does right now.
func (b *session) enter(p *place) bool {
	if b.lock >= 0 && !b.entered && p.concerned() {
		err := unix.Flock(b.lock, unix.LOCK_EX|unix.LOCK_NB)
		b.entered = err == nil
		return err != unix.EWOULDBLOCK
	}
	return true
}

func (b *session) leave() {
	if b.entered {
		b.entered = false
		_ = unix.Flock(b.lock, unix.LOCK_UN)
	}
}

// change returns what a repository has to do with a call.
func (b *session) change(o op, p *place) repository.Change {
	return repository.Change{Dir: directory{b.caller, p.dir}, Path: path.Dir(p.path), Name: p.name, Directory: o == opMkdir || o == opRename}
}

// gitConfig reports whether a place is the configuration of a repository.
func (b *session) gitConfig(p *place) bool {
	return repository.IsConfig(directory{b.caller, p.dir}, path.Dir(p.path), p.name)
}

// permitRepository reports whether a directory may have the name of to for what git
// does with it, and returns a function that reports whether it still may, once it has.
func (b *session) permitRepository(from, to *place) (again func() error, err error) {
	dir, err := directory{b.caller, from.dir}.below(from.name)
	if err != nil {
		return func() error { return nil }, nil // it is no directory
	}
	become := to.name == ".git" && !repository.Is(dir, from.path)
	hooks := to.name == "hooks" && repository.Is(directory{b.caller, to.dir}, path.Dir(to.path))
	may := func() error {
		if become && !repository.MayBecome(dir) || hooks && !repository.OnlySamples(dir, ".") {
			b.record(opRename, to.path, "protected: .git/"+map[bool]string{true: "hooks", false: "config"}[hooks], nil)
			return unix.EACCES
		}
		return nil
	}
	if err := may(); err != nil || !become && !hooks {
		dir.Close()
		return func() error { return nil }, err
	}
	return func() error { defer dir.Close(); return may() }, nil
}

// replaceConfig replaces the configuration of a repository by a copy of another file,
// if that adds nothing that runs a program. The command has no descriptor of the copy.
func (b *session) replaceConfig(from, to *place) error {
	source, target := directory{b.caller, from.dir}, directory{b.caller, to.dir}
	text, perm, err := source.Read(from.name)
	if err != nil {
		return err
	}
	old, _, err := target.Read(to.name)
	if err != nil && err != unix.ENOENT {
		return err
	}
	if key := repository.AddsProgram(old, text, path.Dir(to.path)); key != "" {
		b.record(opRename, to.path, "protected: .git/config ("+key+")", nil)
		return unix.EACCES
	}
	if err := target.Replace(to.name, text, perm); err != nil {
		b.record(opRename, to.path, "", err)
		return err
	}
	return b.unlink(from.dir, from.name, false)
}

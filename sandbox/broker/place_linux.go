package broker

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/toolserver/toolserver/sandbox/repository"
)

// A place is where a name is or would be.
type place struct {
	dir  int    // descriptor of its directory
	name string // in that; "." if the path has no last name
	path string // of both, without links
	as   string // the name as the call gave it, with a slash at its end
	link bool   // the name is a magic link of /proc, which leads to what a process has open

	change repository.Change // of the last call of permit
}

func (p *place) close() { unix.Close(p.dir) }

const maxLinks = 40 // as many as Linux follows

// locate finds the place of a path that a thread gave. With follow the place is that of
// what a link leads to.
func (k *caller) locate(tid, dir int, name string, follow bool) (p place, err error) {
	if name == "" {
		return p, unix.ENOENT
	}
	at, owned := unix.AT_FDCWD, false
	release := func() {
		if owned {
			unix.Close(at)
		}
	}
	if !strings.HasPrefix(name, "/") {
		of := "/proc/" + strconv.Itoa(tid) + "/cwd"
		if dir != unix.AT_FDCWD {
			of = "/proc/" + strconv.Itoa(tid) + "/fd/" + strconv.Itoa(dir)
		}
		if at, err = k.open(unix.AT_FDCWD, of, unix.O_PATH|unix.O_CLOEXEC, 0); err != nil {
			if dir != unix.AT_FDCWD && err == unix.ENOENT {
				err = unix.EBADF
			}
			return p, err
		}
		owned = true
	}
	for links := 0; ; links++ {
		if links > maxLinks {
			release()
			return p, unix.ELOOP
		}
		parent, last, as := split(name)
		p = place{name: last, as: as}
		p.dir, err = k.directory(tid, at, parent)
		if err != nil {
			release()
			return p, err
		}
		canonical, err := k.descriptorPath(p.dir)
		if err != nil {
			p.close()
			release()
			return p, err
		}
		// The /proc/self of the broker is not that of the command.
		if rest, own := strings.CutPrefix(canonical+"/", k.self); own {
			p.close()
			release()
			at, owned, name = unix.AT_FDCWD, false, "/proc/"+strconv.Itoa(tid)+"/"+rest+last
			continue
		}
		p.path = path.Join(canonical, last)
		p.link = strings.HasPrefix(canonical, "/proc/") && strings.HasSuffix(canonical, "/fd")
		if !follow && as == last || p.link {
			release()
			return p, nil
		}
		target, err := k.readlink(p.dir, last)
		if err != nil { // it is no link, or is not there
			release()
			return p, nil
		}
		release()
		if as != last {
			target += "/"
		}
		at, owned, name = p.dir, true, target
		if strings.HasPrefix(target, "/") {
			p.close()
			at, owned = unix.AT_FDCWD, false
		}
	}
}

// split returns the directory and the last name of a path. As is the name with the
// slashes that follow it, which ask for a directory.
func split(name string) (parent, last, as string) {
	trimmed := strings.TrimRight(name, "/")
	if trimmed == "" {
		return "/", ".", "."
	}
	parent, last = ".", trimmed
	if i := strings.LastIndexByte(trimmed, '/'); i >= 0 {
		parent, last = trimmed[:i+1], trimmed[i+1:]
	}
	if last == ".." {
		return trimmed, ".", "."
	}
	if as = last; len(trimmed) < len(name) {
		as += "/"
	}
	return parent, last, as
}

// directory opens a directory to look in. A magic link of /proc in front is that of the
// command; any other is not followed.
func (k *caller) directory(tid, at int, name string) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS}
	fd, err := k.openat2(at, name, how)
	if err != unix.ELOOP {
		return fd, err
	}
	words := slices.DeleteFunc(strings.Split(name, "/"), func(w string) bool { return w == "" || w == "." })
	if len(words) > 2 && words[0] == "dev" && words[1] == "fd" {
		words = append([]string{"proc", "self", "fd"}, words[2:]...)
	}
	if len(words) < 3 || words[0] != "proc" {
		return -1, err
	}
	// Those of other processes are refused: the broker is a thread of one that has
	// another view of the file system than the command.
	if words[1] != "self" && words[1] != "thread-self" && words[1] != strconv.Itoa(tid) {
		return -1, unix.EACCES
	}
	words[1] = strconv.Itoa(tid)
	lead := 3
	if words[2] == "fd" && len(words) > 3 {
		lead = 4
	}
	start, err := k.open(unix.AT_FDCWD, "/"+strings.Join(words[:lead], "/"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil || len(words) == lead {
		return start, err
	}
	defer unix.Close(start)
	return k.openat2(start, strings.Join(words[lead:], "/"), how)
}

// descriptorPath returns the path of what a descriptor is open on.
func (k *caller) descriptorPath(fd int) (string, error) {
	return k.readlink(unix.AT_FDCWD, descriptorLink(fd))
}

func descriptorLink(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

func (k *caller) readlink(dir int, name string) (string, error) {
	n, err := unix.Readlinkat(dir, name, k.buffer)
	return string(k.buffer[:max(n, 0)]), err
}

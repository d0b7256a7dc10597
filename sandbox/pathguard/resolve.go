package pathguard

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is the number of symbolic links followed in one path, as in the
// Linux kernel; see path_resolution(7).
const maxLinks = 40

// resolved is the outcome of following a path. It is a snapshot that may be
// outdated when it is read: it says where to look, and only the descriptor that
// is then opened there, without following links, is trusted.
type resolved struct {
	// path is free of links as far as it exists; what does not exist is
	// appended as it was spelled.
	path string
	// err is nil if path exists, else why following it stopped.
	err error
	// creatable says that only plain names are missing, so that path
	// could be created.
	creatable bool
	// missing is what was not followed, as it was spelled.
	missing string
}

// resolve follows every link and ".." of the absolute path the way the kernel
// does, one name at a time.
func resolve(abs string) resolved {
	volume := filepath.VolumeName(abs)
	return resolveFrom(volume+separator, abs[len(volume):])
}

// resolveFrom follows rel from cur, a canonical directory.
func resolveFrom(cur, rel string) resolved {
	isDir, links, names := true, 0, splitPath(rel)
	for len(names) > 0 {
		name := names[0]
		if !isDir {
			return stopped(cur, names, syscall.ENOTDIR)
		}
		switch name {
		case "", ".":
			names = names[1:]
			continue
		case "..":
			cur, names = filepath.Dir(cur), names[1:]
			continue
		}
		next := filepath.Join(cur, name)
		info, err := os.Lstat(next)
		if err != nil {
			return stopped(cur, names, err)
		}
		target, err := "", error(nil)
		link := info.Mode()&fs.ModeSymlink != 0
		if link || info.Mode()&fs.ModeIrregular != 0 { // which junctions of Windows are
			target, err = os.Readlink(next)
			link = link || err == nil
		}
		if !link {
			cur, isDir, names = next, info.IsDir(), names[1:]
			continue
		}
		if links++; links > maxLinks {
			err = syscall.ELOOP
		}
		if err != nil {
			return stopped(cur, names, err)
		}
		if filepath.IsAbs(target) {
			volume := filepath.VolumeName(target)
			cur, target = volume+separator, target[len(volume):]
		}
		names = append(splitPath(target), names[1:]...)
	}
	return resolved{path: trueName(cur)}
}

// splitPath returns the names of path. A trailing separator leaves a last
// empty name, which like "." demands a directory before it.
func splitPath(path string) []string {
	return strings.Split(strings.TrimLeft(filepath.ToSlash(path), "/"), "/")
}

// stopped is the outcome when the first of names could not be followed.
func stopped(cur string, names []string, err error) resolved {
	r := resolved{path: filepath.Join(append([]string{trueName(cur)}, names...)...), err: err, missing: strings.Join(names, "/")}
	r.creatable = errors.Is(err, fs.ErrNotExist)
	for _, name := range names {
		r.creatable = r.creatable && name != ".."
	}
	return r
}

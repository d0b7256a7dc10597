package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/toolserver/toolserver/sandbox/pathguard"
)

func inAny(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return pathguard.Within(dir, path) })
}

// resolveLists follows the links in the lists that may name what does not exist.
func (s *Spec) resolveLists() error {
	var errs [5]error
	astray := s.Astray()
	s.ExecDirs = slices.DeleteFunc(slices.Clone(s.ExecDirs), func(dir string) bool { return slices.Contains(astray, dir) })
	for i, list := range []*[]string{&s.Read, &s.Write, &s.Deny, &s.ReadOnly, &s.ExecDirs} {
		*list, errs[i] = realPaths(*list)
	}
	return errors.Join(errs[:]...)
}

// Astray returns the directories of ExecDirs that are not granted: where commands may
// have put a link in their place, and it leads out of where commands write.
func (s Spec) Astray() (dirs []string) {
	for _, dir := range s.ExecDirs {
		real, err := realPath(dir)
		for _, root := range s.Write {
			if top, unknown := realPath(root); pathguard.Within(root, dir) && (err != nil || unknown != nil || !pathguard.Within(top, real)) {
				dirs = append(dirs, dir)
				break
			}
		}
	}
	return dirs
}

func realPaths(paths []string) ([]string, error) {
	var list []string
	for _, path := range paths {
		if err := checkPath(path); err != nil {
			return nil, err
		}
		resolved, err := realPath(path)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(list, resolved) {
			list = append(list, resolved)
		}
	}
	return list, nil
}

// realPath follows the links of path, also those to what does not exist. Where this
// process may not even go its commands cannot either, and the names stay as they are,
// and so does a link that leads in a circle.
func realPath(path string) (string, error) {
	const maxLinks = 40 // as the kernel
	for range maxLinks {
		resolved, err := filepath.EvalSymlinks(path)
		if err == nil || path == "/" {
			return resolved, err
		}
		circular := false
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.ENOTDIR) {
			_, why := os.Stat(path) // EvalSymlinks does not say that links lead in a circle
			if circular = errors.Is(why, syscall.ELOOP); !circular {
				return "", err
			}
		}
		dir, err := realPath(filepath.Dir(path))
		if err != nil {
			return "", err
		}
		path = filepath.Join(dir, filepath.Base(path))
		target, err := os.Readlink(path)
		if err != nil || circular {
			return path, nil // the first name that does not exist
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(dir, target)
		}
		path = filepath.Clean(target)
	}
	return "", &fs.PathError{Op: "resolve", Path: path, Err: errors.New("too many links")}
}

const maxPath = 4095 // bytes

func checkPath(path string) error {
	switch {
	case !filepath.IsAbs(path) || filepath.Clean(path) != path:
		return fmt.Errorf("%q is not an absolute path", path)
	case strings.IndexByte(path, 0) >= 0:
		return fmt.Errorf("the path %q holds a NUL byte", path)
	case len(path) > maxPath:
		return fmt.Errorf("the path %.40q... is too long", path)
	}
	return nil
}

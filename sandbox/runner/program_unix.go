//go:build unix

package runner

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// shellPath is the shell of [Request.Shell], looked for once and not in the PATH
// of a request, which may be anything.
var shellPath = sync.OnceValues(func() (string, error) {
	for _, path := range []string{"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"} {
		if executable(path) == nil {
			return path, nil
		}
	}
	for _, name := range []string{"bash", "sh"} {
		if path, err := lookPath(name, "/", os.Getenv("PATH")); err == nil {
			return path, nil
		}
	}
	return "/bin/sh", executable("/bin/sh")
})

// program decides what a request starts.
func program(r *Request, dir string) (launch, error) {
	if r.Shell != "" {
		path, err := shellPath()
		if err != nil {
			return launch{}, startError("find the shell", path, err)
		}
		// "--": a text that begins with a dash is no option.
		return launch{path: path, argv: []string{filepath.Base(path), "-c", "--", r.Shell}, sys: groupAttr()}, nil
	}
	path, err := lookPath(r.Argv[0], dir, lookupEnv(r.Env, "PATH"))
	if err != nil {
		return launch{}, startError("find the program", r.Argv[0], err)
	}
	return launch{path: path, argv: r.Argv, sys: groupAttr()}, nil
}

var errNotProgram = errors.New("not an executable file")

// lookPath finds a program as execvp(3) does, seen from dir.
func lookPath(name, dir, path string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, executable(name)
	}
	if path == "" {
		path = defaultPath
	}
	var found error = syscall.ENOENT
	for _, d := range filepath.SplitList(path) {
		if !filepath.IsAbs(d) {
			d = filepath.Join(dir, d)
		}
		file := filepath.Join(d, name)
		err := executable(file)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			found = err
		}
	}
	return "", found
}

func executable(path string) error {
	var info syscall.Stat_t // os.Stat allocates, for each directory of the PATH
	if err := syscall.Stat(path, &info); err != nil {
		return err
	}
	if info.Mode&syscall.S_IFMT != syscall.S_IFREG || info.Mode&0o111 == 0 {
		return errNotProgram
	}
	return nil
}

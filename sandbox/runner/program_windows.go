package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// program decides what a request starts.
func program(r *Request, dir string) (launch, error) {
	if r.Shell != "" {
		path := lookupEnv(r.Env, "COMSPEC")
		if path == "" {
			path = filepath.Join(os.Getenv("SYSTEMROOT"), "System32", "cmd.exe")
		}
		// With /S cmd.exe takes off the outer quotes and nothing else.
		return launch{path: path, argv: []string{path}, sys: groupAttr(syscall.EscapeArg(path) + ` /D /S /C "` + r.Shell + `"`)}, nil
	}
	name := r.Argv[0]
	if strings.ContainsAny(name, `/\`) && !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return launch{}, startError("find the program", r.Argv[0], err)
	}
	return launch{path: path, argv: r.Argv, sys: groupAttr("")}, nil
}

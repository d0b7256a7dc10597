package walk

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Above names a directory that holds the walk's, so that the Gitignore option
// also obeys the rules between the repository's top and the walk: they are read
// from the deepest directory at or below Dir that has a .git, and from those
// between it and the walk. Nothing above Dir is looked at. The zero value
// starts at the walk's directory.
type Above struct {
	Dir  *os.File
	Path string // absolute, without symbolic links, a prefix of the walk's path
}

// rulesAbove reads the ignore files of the directories above the walk and sets
// w.path to the path that leads from there to it.
func (w *walker) rulesAbove(path string) (*ignoreLevel, error) {
	if !w.opt.Gitignore || w.opt.Above.Dir == nil {
		return nil, nil
	}
	rel, err := filepath.Rel(w.opt.Above.Path, path)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, fmt.Errorf("the directory %q is not inside %q", path, w.opt.Above.Path)
	}
	if rel == "." {
		return nil, nil
	}
	d, err := openRoot(w.opt.Above.Dir, w.opt.Above.Path)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: w.opt.Above.Path, Err: err}
	}
	var rules *ignoreLevel
	inRepo := false
	for name := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		_, err := d.info(".git")
		inRepo = inRepo || err == nil
		if inRepo {
			rules = w.extend(rules, d, err == nil, true)
		}
		below, err := d.open(name)
		d.release()
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		d = below
		w.path = append(append(w.path, name...), '/')
	}
	d.release()
	return rules, nil
}

package yamlconf

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	maxReferenced = 64 << 10 // bytes of a file named by a reference
	maxExpanded   = 16 << 20 // bytes all references of a file may stand for
)

// expand resolves the references in s, and returns what each one stood for.
func (d *decoder) expand(s string) (text string, parts []string, err error) {
	var b strings.Builder
	for {
		at := strings.Index(s, "${")
		if at < 0 {
			b.WriteString(s)
			return b.String(), parts, nil
		}
		if at > 0 && s[at-1] == '$' {
			b.WriteString(s[:at-1] + "${")
			s = s[at+2:]
			continue
		}
		b.WriteString(s[:at])
		inner, rest, ok := strings.Cut(s[at+2:], "}")
		if !ok {
			return "", nil, fmt.Errorf("%q has no closing }; write $${ for a plain ${", clip(s[at:]))
		}
		part, err := d.lookup(inner)
		if err != nil {
			return "", nil, err
		}
		if d.use.expanded += len(part); d.use.expanded > maxExpanded {
			return "", nil, fmt.Errorf("the references of this file stand for more than %d MiB", maxExpanded>>20)
		}
		b.WriteString(part)
		parts = append(parts, part)
		s = rest
	}
}

// lookup returns what the reference ${inner} stands for.
func (d *decoder) lookup(inner string) (string, error) {
	if file, ok := strings.CutPrefix(inner, "file:"); ok {
		return d.readReferenced(file)
	}
	name, otherwise, hasOtherwise := strings.Cut(inner, ":-")
	if !isName(name) || strings.Contains(otherwise, "${") {
		return "", fmt.Errorf("%q is not a reference: write ${NAME}, ${NAME:-text} or ${file:PATH}, or $${ for a plain ${", clip("${"+inner+"}"))
	}
	value, ok := d.LookupEnv(name)
	switch {
	case hasOtherwise && value == "":
		return otherwise, nil
	case !ok:
		return "", fmt.Errorf("environment variable %s is not set", clip(name))
	}
	return value, nil
}

// isName reports whether s is a portable name of an environment variable.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// fileText is a file that references have read, kept so that naming it many
// times costs one read.
type fileText struct {
	text string
	err  error
}

func (d *decoder) readReferenced(name string) (string, error) {
	if name == "" {
		return "", errors.New("${file:} names no file")
	}
	path, err := d.resolve(name)
	if err != nil {
		return "", err
	}
	kept, ok := d.use.files[path]
	if !ok {
		kept.text, kept.err = readSmall(path)
		if d.use.files == nil {
			d.use.files = map[string]fileText{}
		}
		d.use.files[path] = kept
	}
	if kept.err != nil {
		return "", fmt.Errorf("cannot read ${file:%s}: %w", clip(oneLine(name)), kept.err)
	}
	return kept.text, nil
}

// readSmall reads a regular file without its last newline. Others, such as a
// pipe, could block for ever.
func readSmall(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", cause(err)
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return "", cause(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxReferenced+1))
	if err != nil {
		return "", cause(err)
	}
	if len(data) > maxReferenced {
		return "", fmt.Errorf("larger than %d KiB", maxReferenced>>10)
	}
	text, ended := strings.CutSuffix(string(data), "\n")
	if ended {
		text = strings.TrimSuffix(text, "\r")
	}
	return text, nil
}

// cause is err without the path, which the message has in the user's words.
func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// resolve makes the path in a configuration file absolute.
func (d *decoder) resolve(path string) (string, error) {
	if path == "" || filepath.IsAbs(path) || os.IsPathSeparator(path[0]) {
		return path, nil
	}
	if path != "~" && (path[0] != '~' || !os.IsPathSeparator(path[1])) {
		return filepath.Join(d.dir, path), nil
	}
	home := d.HomeDir
	if home == "" {
		var err error
		if home, err = os.UserHomeDir(); err != nil {
			return "", fmt.Errorf("%q needs the home directory: %w", clip(path), err)
		}
	}
	return filepath.Join(home, path[1:]), nil
}

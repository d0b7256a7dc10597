package yamlconf

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

const (
	maxReferenced = 64 << 10 // bytes of a file named by a reference
	maxExpanded   = 16 << 20 // bytes all references of a file may stand for
)

// expand resolves the references in s, and returns what each one stood for, and s as it
// can be written in any folder: with masked text for variables that are unset, if that
// may be secret.
func (d *decoder) expand(s string, mayBeSecret bool) (text string, parts []string, written string, err error) {
	var b, w strings.Builder
	for {
		before, after, found := strings.Cut(s, "${")
		if !found {
			b.WriteString(s)
			w.WriteString(s)
			return b.String(), parts, w.String(), nil
		}
		if plain, escaped := strings.CutSuffix(before, "$"); escaped {
			b.WriteString(plain + "${")
			w.WriteString(plain + "$${")
			s = after
			continue
		}
		b.WriteString(before)
		w.WriteString(before)
		inner, rest, ok := strings.Cut(after, "}")
		if !ok {
			return "", nil, "", fmt.Errorf("%q has no closing }; write $${ for a plain ${", clip("${"+after))
		}
		part, err := d.lookup(inner)
		if err != nil {
			return "", nil, "", err
		}
		if file, ok := strings.CutPrefix(inner, "file:"); ok {
			if file, err = d.resolve(file, false); err != nil {
				return "", nil, "", err
			}
			inner = "file:" + file
		} else if name, otherwise, _ := strings.Cut(inner, ":-"); mayBeSecret && otherwise != "" {
			inner = name + ":-" + mask
		}
		w.WriteString("${" + inner + "}")
		if d.expanded += len(part); d.expanded > maxExpanded {
			return "", nil, "", fmt.Errorf("the references of this file stand for more than %d MiB", maxExpanded>>20)
		}
		b.WriteString(part)
		parts = append(parts, part)
		s = rest
	}
}

// secretReference is a text of which nothing is secret but what it refers to.
var secretReference = lazyregexp.New(`^([A-Za-z]+ )?\$\{([A-Za-z0-9_]+(:-)?|file:[^{}]+)\}$`)

// onlyReference reports whether a text has no more than one reference, without a text for
// when that is unset, after the name of a scheme such as Bearer.
func onlyReference(text string) bool { return secretReference().MatchString(text) }

// lookup returns what the reference ${inner} stands for.
func (d *decoder) lookup(inner string) (string, error) {
	if file, ok := strings.CutPrefix(inner, "file:"); ok {
		return d.readReferenced(file)
	}
	name, otherwise, hasOtherwise := strings.Cut(inner, ":-")
	if !isName(name) || strings.Contains(otherwise, "${") {
		return "", fmt.Errorf("%q is not a reference: write ${NAME}, ${NAME:-text} or ${file:PATH}, or $${ for a plain ${", clip("${"+inner+"}"))
	}
	value, ok := os.LookupEnv(name)
	placeholder := IsPlaceholder(value)
	switch {
	case hasOtherwise && (value == "" || placeholder):
		return otherwise, nil
	case !ok:
		return "", fmt.Errorf("environment variable %s is not set", clip(name))
	case placeholder:
		return "", fmt.Errorf("environment variable %s is %s, which the program that started the server has not replaced", clip(name), clip(value))
	}
	return value, nil
}

// IsPlaceholder reports whether a value from outside is wholly one reference, such as
// ${user_config.brave_api_key}, that whoever passed it on was to replace.
func IsPlaceholder(value string) bool {
	inner, ok := strings.CutPrefix(value, "${")
	return ok && strings.IndexByte(inner, '}') == len(inner)-1 && len(inner) > 1
}

// isName reports whether s is a portable name of an environment variable.
func isName(s string) bool {
	const letters = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return s != "" && strings.Trim(s, letters+"0123456789") == "" && strings.Contains(letters, s[:1])
}

func (d *decoder) readReferenced(name string) (string, error) {
	if name == "" {
		return "", errors.New("${file:} names no file")
	}
	path, err := d.resolve(name, false)
	if err != nil {
		return "", err
	}
	text, err := readSmall(path)
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err // the message has the path as it is written
	}
	if err != nil {
		return "", fmt.Errorf("cannot read ${file:%s}: %w", clip(oneLine(name)), err)
	}
	return text, nil
}

// readSmall reads a regular file without its last newline. Others, such as a
// pipe, could block for ever.
func readSmall(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxReferenced+1))
	if err != nil {
		return "", err
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

// pathSlips are paths that mean something else than their writer thinks, with what to write.
// Before all others stands what an escape in double quotes has made of a path of Windows.
var pathSlips = []struct {
	form func() *regexp.Regexp
	help string
}{
	{lazyregexp.New(`[\pC\x{a0}\x{2028}\x{2029}]`), `a backslash in double quotes begins an escape; write the path in single quotes, or with /`},
	{lazyregexp.New(`^~`), "~ is your own home directory, alone and before a slash; write the whole path, or ./~ for a name that begins with it"},
	{lazyregexp.New(`^\$\w`), "write ${NAME} for a variable, or ./$ for a name that begins with it"},
	{lazyregexp.New(`^%\w+%`), "write ${NAME} for a variable, or ./% for a name that begins with it"},
	{lazyregexp.New(`^\w+://`), "write a path, not a URL"},
}

// resolve makes the path in a configuration file absolute, unless it may stay relative.
func (d *decoder) resolve(path string, relative bool) (string, error) {
	if path == "" || filepath.IsAbs(path) || os.IsPathSeparator(path[0]) {
		return path, nil
	}
	if path != "~" && (len(path) < 2 || path[0] != '~' || !os.IsPathSeparator(path[1])) {
		if relative {
			return path, nil
		}
		for _, s := range pathSlips {
			if s.form().MatchString(path) {
				return "", fmt.Errorf("%q: %s", clip(path), s.help)
			}
		}
		return filepath.Join(d.dir, path), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("%q needs the home directory: %w", clip(path), err)
	}
	return filepath.Join(home, path[1:]), nil
}

package pathguard

import (
	"path/filepath"
	"strings"
)

// platformAnchor returns how allowed directories are opened.
func platformAnchor() func(real string) (dir, error) { return openPortable }

// foreignName refuses names that mean something else than a file to Windows or
// that are other spellings of a file: \\?\ and \\.\ prefixes, drive-relative
// paths, alternate data streams, device names, trailing dots and spaces, and
// 8.3 names. See "Naming Files, Paths, and Namespaces" in the Win32 manual.
func foreignName(path string) string {
	volume := filepath.VolumeName(path)
	rest := path[len(volume):]
	switch {
	case strings.HasPrefix(filepath.ToSlash(path), "//"):
		return "is a network or device path: give a path on a drive"
	case volume != "" && !filepath.IsAbs(path):
		return "is relative to the current directory of a drive: give the whole path"
	case volume == "" && strings.HasPrefix(filepath.ToSlash(rest), "/"):
		return "is relative to the current drive: give the whole path"
	case hasName(rest, func(name string) bool { return strings.Contains(name, ":") }):
		return "names an alternate data stream"
	case hasName(rest, aliased):
		return "has a name that is reserved, ends in a dot or a space, or is an 8.3 name"
	}
	return ""
}

func aliased(name string) bool {
	if name == "" || name == "." || name == ".." {
		return false
	}
	short := strings.IndexByte(name, '~')
	return strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") || !filepath.IsLocal(name) ||
		short >= 0 && short+1 < len(name) && name[short+1] >= '0' && name[short+1] <= '9' && len(name) <= len("12345678.123")
}

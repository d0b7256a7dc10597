package pathguard

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// foldPath returns path in the form in which denied paths are compared. The usual
// volumes of macOS and Windows find a file under any case and any Unicode normal
// form of its name, so a deny rule must hold for all of them. Elsewhere file names
// are bytes, and every byte counts.
func foldPath(path string) string {
	if runtime.GOOS != "darwin" && runtime.GOOS != "windows" {
		return path
	}
	return norm.NFC.String(strings.ToLower(norm.NFD.String(path)))
}

// foreignName says why path means something else than a file to the operating
// system, or is another spelling of a file: on Windows \\?\ and \\.\ prefixes,
// drive-relative paths, alternate data streams, device names, trailing dots and
// spaces, and 8.3 names (see "Naming Files, Paths, and Namespaces" in the Win32
// manual), elsewhere the resource forks of macOS.
func foreignName(path string) string {
	switch runtime.GOOS {
	case "linux":
		return ""
	case "windows":
		return foreignToWindows(path)
	}
	if slices.Contains(splitPath(path), "..namedfork") {
		return "names a resource fork"
	}
	return ""
}

func foreignToWindows(path string) string {
	volume := filepath.VolumeName(path)
	rest := path[len(volume):]
	switch {
	case strings.HasPrefix(filepath.ToSlash(path), "//"):
		return "is a network or device path: give a path on a drive"
	case volume != "" && !filepath.IsAbs(path):
		return "is relative to the current directory of a drive: give the whole path"
	case volume == "" && strings.HasPrefix(filepath.ToSlash(rest), "/"):
		return "is relative to the current drive: give the whole path"
	case strings.Contains(rest, ":"):
		return "names an alternate data stream"
	case slices.ContainsFunc(splitPath(rest), aliased):
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

package pathguard

import (
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/toolserver/toolserver/domain/lazyregexp"
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
// system, or may be another spelling of a file: see [foreignToWindows], and the resource
// forks of macOS.
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

// foreignToWindows says why Windows takes path for no plain name of a file on a drive; see
// "Naming Files, Paths, and Namespaces" in the Win32 manual. Whatever else leads to a file
// by another name, such as a junction or the case of letters, is seen when it is opened.
func foreignToWindows(path string) string {
	path = strings.ReplaceAll(path, `\`, "/")
	drive, rest := "", path
	if len(path) > 1 && path[1] == ':' && (path[0]|0x20 >= 'a' && path[0]|0x20 <= 'z') {
		drive, rest = path[:2], path[2:]
	}
	switch absolute := strings.HasPrefix(rest, "/"); {
	case strings.HasPrefix(path, "//"), strings.HasPrefix(path, "/??/"):
		return "is a network or device path: give a path on a drive, such as C:/data/file"
	case drive != "" && !absolute:
		return "is relative to the current directory of a drive: give the whole path"
	case drive == "" && absolute:
		return "is relative to the current drive: give the whole path, such as C:/data/file"
	}
	for name := range strings.SplitSeq(rest, "/") {
		switch {
		case name == "" || name == "." || name == "..":
		case strings.Contains(name, ":"):
			return "names an alternate data stream"
		case strings.HasSuffix(name, ".") || strings.HasSuffix(name, " "):
			return "has a name that ends in a dot or a space, which Windows leaves out"
		case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || strings.ContainsRune(`<>"|?*`, r) }):
			return "has a name with a character that names of files have not on Windows"
		case DeviceName(name):
			return "has the name of a device, which is reserved"
		case shortName(name):
			return "has a name that may be the short (8.3) name of another file: give the long one"
		}
	}
	return ""
}

// DeviceName reports whether a name is one of a device on Windows, which it is in every
// directory, and with any extension too.
func DeviceName(name string) bool { return device().MatchString(name) }

var device = lazyregexp.New(`(?i)^(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|CLOCK\$|(?:COM|LPT)[0-9¹²³]) *(?:[.:]|$)`)

// shortName reports whether a name looks like one that Windows makes for programs that
// know names of eight and three characters only.
func shortName(name string) bool {
	base, extension, _ := strings.Cut(name, ".")
	number := base[strings.LastIndexByte(base, '~')+1:]
	return number != "" && len(number) < len(base) && strings.Trim(number, "0123456789") == "" &&
		utf8.RuneCountInString(base) <= 8 && utf8.RuneCountInString(extension) <= 3
}

package pathguard

import (
	"cmp"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unicode"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

// People and models write paths as shells, browsers and other systems do. A name that exists
// is always meant itself, and so is one behind "./". Of what does not exist, ~ is the home
// directory, and the rest is refused with what to write instead.

// expanded returns path with ~ at its start as the home directory.
func (g *Guard) expanded(path string) string {
	if slashed := filepath.ToSlash(path); slashed != "~" && !strings.HasPrefix(slashed, "~/") {
		return path
	}
	home, err := os.UserHomeDir()
	if _, named := os.Lstat(filepath.Join(g.dir, "~")); named == nil || err != nil || !filepath.IsAbs(home) {
		return path
	}
	return home + path[1:]
}

var (
	slashedDrive = lazyregexp.New(`^/([A-Za-z]:/)`)
	drive        = lazyregexp.New(`^[A-Za-z]:([/\\]|$)`)
	scheme       = lazyregexp.New(`^[A-Za-z][A-Za-z0-9+.-]*:/`)
	home         = lazyregexp.New(`^(?i:\$(?:env:)?(?:HOME|USERPROFILE)|\$\{(?:HOME|USERPROFILE)\}|%(?:HOME|USERPROFILE)%)([/\\].*|$)`)
	quoted       = lazyregexp.New("^[\"'`“‘](.*)[\"'`”’]$")
	unseen       = lazyregexp.New(`[\x{200B}\x{200E}\x{200F}\x{202A}-\x{202E}\x{2060}\x{2066}-\x{2069}\x{FEFF}]`)
	inside       = lazyregexp.New(`^(<[^<>]+>|\[.*["'].*\]|\{.*["'].*\})$`) // a list, an object, what is to be replaced
	// unexpanded matches first names that shells and editors replace.
	unexpanded = lazyregexp.New(`^(~\w+|\$(env:)?\w+|\$\{.+\}|%\w+%|\$\(.*\)|` + "`.*`" + `)([/\\]|$)`)
)

// odd says why what is missing of a path looks like a mistake, and returns what was meant
// if that is sure. The path is as it was given.
func odd(path, missing string) (why, meant string) {
	missing = strings.TrimRight(missing, "/")
	there, itself := strings.CutSuffix(strings.TrimRight(filepath.ToSlash(path), "/"), missing)
	for itself { // else it is in a link
		reason, better := oddly(missing, there == "")
		switch {
		case reason == "":
			return why, there + missing
		case better == "":
			return reason, ""
		}
		why, missing = cmp.Or(why, reason), better
	}
	return "", ""
}

// oddly is a step of odd: what was meant may be odd, too. With first, text begins with the
// first name of a path.
func oddly(text string, first bool) (why, meant string) {
	names, slashed, unix := strings.Split(text, "/"), strings.ReplaceAll(text, `\`, "/"), runtime.GOOS != "windows"
	for i, name := range names {
		names[i] = strings.TrimFunc(name, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == '\uFEFF' })
	}
	switch trimmed := strings.Join(names, "/"); {
	case trimmed != text:
		return "has a name that begins or ends with white space", trimmed
	case strings.ContainsFunc(text, unicode.IsControl):
		return "has a control character in a name: leave it out", ""
	case unseen().MatchString(text):
		return "has a character in a name that nobody sees", unseen().ReplaceAllString(text, "")
	case first && inside().MatchString(text):
		return "is no path but stands for one, or holds one: give that path alone", ""
	case first && quoted().MatchString(text):
		return "has quotation marks around it", quoted().ReplaceAllString(text, "$1")
	case first && unix && drive().MatchString(text):
		return "is a path of Windows: give one of this machine", ""
	case first && pathOf(text) != "":
		return "is a URL", pathOf(text)
	case first && scheme().MatchString(text):
		return "is a URL of no file here: give a path", ""
	case first && home().MatchString(text):
		return "begins with a variable, which is not expanded", "~" + home().ReplaceAllString(slashed, "$1")
	case first && unexpanded().MatchString(text):
		return "begins with what only shells expand: give the path that it stands for, or ./" + text + " for a name like that", ""
	case unix && slashed != text:
		return `has a \ in a name, which separates none here`, slashed
	case strings.Contains(text, "*"):
		return "has a *, which no path expands: give one name, or a directory and a glob (glob of grep, pattern of search_files)", ""
	}
	return "", text
}

// pathOf returns the path of a file URL of this machine, or "".
func pathOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "file" || u.Host != "" && !strings.EqualFold(u.Host, "localhost") || u.RawQuery+u.Fragment != "" {
		return ""
	}
	return slashedDrive().ReplaceAllString(cmp.Or(u.Opaque, u.Path), "$1")
}

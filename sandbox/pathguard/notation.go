package pathguard

import (
	"cmp"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unicode"

	"toolserver/lazyregexp"
)

// People and models write paths as shells, browsers and other systems do. A name that exists
// is always meant itself, and so is one behind "./". Of what does not exist, ~ is the home
// directory, and the rest is refused with what to write instead.

// expanded returns path with ~ at its start as the home directory and, on Windows, /c/Users
// as Windows has it.
func (g *Guard) expanded(path string) string {
	slashed := filepath.ToSlash(path)
	if runtime.GOOS == "windows" && driveOfUnix().MatchString(slashed) {
		return slashed[1:2] + ":/" + slashed[min(3, len(slashed)):]
	}
	if slashed != "~" && !strings.HasPrefix(slashed, "~/") {
		return path
	}
	home, err := os.UserHomeDir()
	if _, named := os.Lstat(filepath.Join(g.dir, "~")); named == nil || err != nil || !filepath.IsAbs(home) {
		return path
	}
	return home + path[1:]
}

var (
	driveOfUnix = lazyregexp.New(`^/[A-Za-z](/|$)`)
	drive       = lazyregexp.New(`^[A-Za-z]:([/\\]|$)`)
	scheme      = lazyregexp.New(`^[A-Za-z][A-Za-z0-9+.-]*:/`)
	home        = lazyregexp.New(`^(?i:\$(env:)?(HOME|USERPROFILE)|\$\{(HOME|USERPROFILE)\}|%(HOME|USERPROFILE)%)([/\\]|$)`)
	// unexpanded matches first names that shells and editors replace.
	unexpanded = lazyregexp.New(`^(~\w+|\$(env:)?\w+|\$\{.+\}|%\w+%|\$\(.*\)|` + "`.*`" + `)([/\\]|$)`)
	quoted     = lazyregexp.New("(?s)^([\"'`“‘])(.*)[\"'`”’]$")
)

// odd says why what is missing of a path looks like a mistake, and returns what was meant
// if that is sure. The path is as it was given; creates says that it is to be made.
func odd(path, missing string, creates bool) (why, meant string) {
	path, missing = strings.TrimRight(filepath.ToSlash(path), "/"), strings.TrimRight(missing, "/")
	there, itself := strings.CutSuffix(path, missing)
	if !itself {
		return "", "" // it is in a link
	}
	for better := missing; ; missing = better {
		var reason string
		if reason, better = oddly(missing, there == "", creates); reason == "" {
			return why, there + missing
		}
		if better == "" {
			return reason, ""
		}
		why = cmp.Or(why, reason)
	}
}

// oddly is a step of odd: what was meant may be odd, too. With first, text begins with the
// first name of a path.
func oddly(text string, first, creates bool) (why, meant string) {
	names := strings.Split(text, "/")
	for i, name := range names {
		names[i] = strings.TrimFunc(name, unprinted)
	}
	trimmed, slashed := strings.Join(names, "/"), strings.ReplaceAll(text, `\`, "/")
	switch {
	case trimmed != text:
		return "has a name that begins or ends with white space", trimmed
	case strings.ContainsFunc(text, unicode.IsControl):
		return "has a control character in a name: leave it out", ""
	case first && quoted().MatchString(text):
		return "has quotation marks around it", quoted().FindStringSubmatch(text)[2]
	case first && strings.HasPrefix(strings.ToLower(text), "file:"):
		if path := pathOf(text); path != "" {
			return "is a URL", path
		}
		return "is no URL of a file of this machine: give a path", ""
	case first && runtime.GOOS != "windows" && drive().MatchString(text):
		return "is a path of Windows: give one of this machine", ""
	case first && scheme().MatchString(text):
		return "is a URL: give a path", ""
	case first && home().MatchString(text):
		rest := slashed[len(home().FindString(text)):]
		return "begins with a variable, which is not expanded", strings.TrimSuffix("~/"+rest, "/")
	case first && unexpanded().MatchString(text):
		return "begins with what only shells expand: give the path that it stands for, or ./" + text + " for a name like that", ""
	case runtime.GOOS != "windows" && slashed != text:
		return `has a \ in a name, which separates none here`, slashed
	case creates && strings.Contains(text, "*"):
		return "has a *, which is not expanded: give one name", ""
	}
	return "", text
}

func unprinted(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == '\uFEFF' }

// pathOf returns the path of a file URL of this machine, or "".
func pathOf(text string) string {
	path := strings.TrimPrefix(filepath.ToSlash(text[len("file:"):]), "//")
	if host, rest, ok := strings.Cut(path, "/"); ok && strings.EqualFold(host, "localhost") {
		path = "/" + rest
	} else if strings.HasPrefix(text[len("file:"):], "//") && host != "" {
		return "" // of another machine
	}
	path, err := url.PathUnescape(path)
	if err != nil {
		return ""
	}
	if trimmed := strings.TrimPrefix(path, "/"); runtime.GOOS == "windows" && drive().MatchString(trimmed) {
		return trimmed
	}
	return path
}

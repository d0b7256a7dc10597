package repository

import (
	_ "embed"
	"path"
	"slices"
	"strings"
	"sync"
)

// AddsProgram returns a setting of the new text of a git configuration that the old
// one does not have and that may make git run a program, read other configuration, or
// work elsewhere; "" if there is none. A text that git might read differently is
// refused as a whole, as the setting "syntax". The configuration is that of the
// repository dir. See git-config(1).
func AddsProgram(old, new, dir string) string {
	settings, ok := gitSettings(new)
	if !ok {
		return "syntax"
	}
	had, _ := gitSettings(old)
	for _, s := range settings {
		if !slices.Contains(had, s) && !s.harmless(dir) {
			return s.name()
		}
	}
	return ""
}

// A Reference is a path in a configuration, as it is written there, of what git obeys or
// runs by itself.
type Reference struct{ Setting, Path string }

// Include is the setting of references to further configurations.
const Include = "include.path"

// References returns those of a configuration, as far as it can be parsed. Aliases are for
// people to run.
func References(text string) (all []Reference) {
	settings, _ := gitSettings(text)
	for _, s := range settings {
		word, _, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(s.value, "!")), " ")
		switch name := s.section + "." + s.key; {
		case name == Include, name == "includeif.path":
			all = append(all, Reference{Include, s.value})
		case name == "core.hookspath":
			all = append(all, Reference{"core.hooksPath", s.value})
		case s.section != "alias" && strings.Contains(word, "/") && !s.harmless(""):
			all = append(all, Reference{name, word})
		}
	}
	return all
}

// A setting is one of a git configuration, with the names of section and key in lower
// case.
type setting struct {
	section, sub, key, value string
	divided                  bool // it has a subsection, if only an empty one
}

func (s setting) name() string {
	if s.divided {
		return s.section + "." + s.sub + "." + s.key
	}
	return s.section + "." + s.key
}

//go:embed settings.txt
var settingLines string

// harmlessSettings are those of settings.txt, whose head describes them.
var harmlessSettings = sync.OnceValue(func() map[string]string {
	keys := map[string]string{}
	for line := range strings.Lines(settingLines) {
		if section, more, ok := strings.Cut(line, ": "); ok {
			keys[section] += more
		}
	}
	return keys
})

func (s setting) harmless(dir string) bool {
	section := s.section
	if s.divided {
		section += ".*"
	}
	keys := strings.Fields(harmlessSettings()[section])
	if !slices.Contains(keys, s.key) && !slices.Contains(keys, "*") {
		return false
	}
	switch s.name() {
	case "core.worktree": // that of a submodule
		repository, _, within := strings.Cut(dir, "/.git/modules/")
		to := path.Join(dir, s.value)
		return within && !path.IsAbs(s.value) && strings.HasPrefix(to, repository+"/") && !strings.Contains(to+"/", "/.git/")
	case "submodule." + s.sub + ".update":
		return slices.Contains([]string{"checkout", "rebase", "merge", "none"}, s.value)
	}
	// A transport is a program, as in ext::sh -c ...
	address := slices.Contains([]string{"remote", "branch", "submodule", "url"}, s.section)
	return !address || !strings.Contains(s.value+"\n"+s.sub, "::") && !strings.HasPrefix(s.value, "-") && !strings.HasPrefix(s.sub, "-")
}

// gitSettings parses a configuration as git does, and refuses what is not plain.
func gitSettings(text string) (list []setting, ok bool) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	if strings.ContainsAny(text, "\x00\r\f\v") {
		return nil, false
	}
	var in setting
	for text != "" {
		switch c := text[0]; {
		case c == ' ' || c == '\t' || c == '\n':
			text = text[1:]
		case c == '#' || c == ';':
			_, text, _ = strings.Cut(text, "\n")
		case c == '[':
			if in, text, ok = gitSection(text[1:]); !ok {
				return list, false
			}
		default:
			key := text[:len(text)-len(strings.TrimLeft(text, gitName))]
			if in.section == "" || key == "" || strings.Contains("-0123456789", key[:1]) {
				return list, false
			}
			s := in
			s.key, s.value, text, ok = strings.ToLower(key), "", strings.TrimLeft(text[len(key):], " \t"), true
			if after, assigned := strings.CutPrefix(text, "="); assigned {
				s.value, text, ok = gitValue(after)
			} else if text != "" && text[0] != '\n' {
				return list, false
			}
			if !ok {
				return list, false
			}
			list = append(list, s)
		}
	}
	return list, true
}

const gitName = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"

// gitSection reads the rest of a line such as [remote "origin"].
func gitSection(text string) (in setting, rest string, ok bool) {
	name := text[:len(text)-len(strings.TrimLeft(text, gitName+"."))]
	in.section, in.sub, in.divided = strings.Cut(strings.ToLower(name), ".")
	text = text[len(name):]
	if quoted := strings.TrimLeft(text, " \t"); !in.divided && len(quoted) < len(text) && strings.HasPrefix(quoted, `"`) {
		var sub strings.Builder
		text, in.divided = quoted[1:], true
		for text != "" && text[0] != '"' && text[0] != '\n' {
			if text[0] == '\\' {
				if text = text[1:]; text == "" || text[0] == '\n' {
					return in, "", false
				}
			}
			sub.WriteByte(text[0])
			text = text[1:]
		}
		if !strings.HasPrefix(text, `"`) {
			return in, "", false
		}
		in.sub, text = sub.String(), text[1:]
	}
	rest, ok = strings.CutPrefix(text, "]")
	return in, rest, ok && in.section != ""
}

// gitValue reads a value to the end of its line.
func gitValue(text string) (value, rest string, ok bool) {
	var b strings.Builder
	quoted, spaces := false, 0 // those at the end do not count
	for text = strings.TrimLeft(text, " \t"); text != "" && text[0] != '\n'; text = text[1:] {
		c := text[0]
		switch {
		case c == '"':
			quoted = !quoted
			continue
		case !quoted && (c == '#' || c == ';'):
			_, text, ok = strings.Cut(text, "\n")
			if ok {
				text = "\n" + text
			}
			return b.String()[:b.Len()-spaces], text, true
		case c == '\\':
			if text = text[1:]; text == "" {
				return "", "", false
			}
			escaped := strings.IndexByte("\nntb\"\\", text[0])
			if escaped < 0 {
				return "", "", false
			}
			if escaped > 0 {
				b.WriteByte("\x00\n\t\b\"\\"[escaped])
				spaces = 0
			}
			continue
		}
		if !quoted && b.Len() == 0 && (c == ' ' || c == '\t') {
			continue // after a line that goes on
		}
		b.WriteByte(c)
		if spaces++; quoted || c != ' ' && c != '\t' {
			spaces = 0
		}
	}
	return b.String()[:b.Len()-spaces], text, !quoted
}

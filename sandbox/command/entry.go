package command

import (
	"os"
	"path/filepath"
	"strings"
)

// Words returns the words of an entry. * as the last stands for any further arguments, as
// no word does.
func Words(entry string) []string {
	words := strings.Fields(entry)
	for len(words) > 1 && words[len(words)-1] == "*" {
		words = words[:len(words)-1]
	}
	return words
}

// Like reports whether a word, in which * stands for any text, can be s.
func Like(word, s string) bool {
	part, rest, star := strings.Cut(word, "*")
	if !star {
		return word == s
	}
	s, found := strings.CutPrefix(s, part)
	for found {
		if part, rest, star = strings.Cut(rest, "*"); !star {
			return strings.HasSuffix(s, part)
		}
		_, s, found = strings.Cut(s, part)
	}
	return false
}

// like reports whether the word is for certain one that want means.
func (a arg) like(want string) bool { return a.exact() && Like(want, a.s) }

// Files returns the paths in dirs of what a name may mean in which * stands for any text.
func Files(name string, dirs []string) (paths []string) {
	for _, dir := range dirs {
		if !strings.Contains(name, "*") {
			paths = append(paths, filepath.Join(dir, name))
			continue
		}
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if Like(name, e.Name()) {
				paths = append(paths, filepath.Join(dir, e.Name()))
			}
		}
	}
	return paths
}

package search

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"sync"
)

// filePatterns are the parts of tool names that fit files with an extension.
var filePatterns = sync.OnceValue(func() map[string][]string {
	patterns := map[string][]string{}
	for line := range strings.Lines(wordsOf("files")) {
		extensions, fit, _ := strings.Cut(line, ":")
		for _, extension := range strings.Fields(extensions) {
			patterns["."+extension] = strings.Fields(fit)
		}
	}
	return patterns
})

// A Suggestion is a tool that fits some of the files, as an index into the names
// of tools.
type Suggestion struct {
	Tool  int
	Files []string // those it fits, as given
	whole bool     // a pattern is a word of the name, and not only a part of one
}

// ForFiles suggests tools for files by their extensions: those whose name, in
// lower case, contains a pattern of the extension. Tools whose name has the
// pattern as a word come first, then those that fit more of the files, then in
// the order of names. Files of other kinds suggest nothing.
func ForFiles(files, names []string) []Suggestion {
	var found []Suggestion
	for i, name := range names {
		s := Suggestion{Tool: i}
		lower := strings.ToLower(name)
		for _, file := range files {
			fits := false
			for _, pattern := range filePatterns()[extension(file)] {
				if strings.Contains(lower, pattern) {
					fits = true
					s.whole = s.whole || hasWords(name, pattern)
				}
			}
			if fits && !slices.Contains(s.Files, file) {
				s.Files = append(s.Files, file)
			}
		}
		if len(s.Files) > 0 {
			found = append(found, s)
		}
	}
	slices.SortStableFunc(found, func(a, b Suggestion) int {
		if a.whole != b.whole {
			if a.whole {
				return -1
			}
			return 1
		}
		return cmp.Compare(len(b.Files), len(a.Files))
	})
	return found
}

// extension returns the extension of a file in lower case. Both separators of
// paths count, wherever the name comes from.
func extension(file string) string {
	return strings.ToLower(path.Ext(strings.ReplaceAll(strings.TrimSpace(file), `\`, "/")))
}

// hasWords reports whether the words of pattern follow each other in name.
func hasWords(name, pattern string) bool {
	var plain []string
	for _, w := range words(name) {
		if w.parts == 0 {
			plain = append(plain, w.plain)
		}
	}
	return strings.Contains(" "+strings.Join(plain, " ")+" ", " "+strings.ReplaceAll(pattern, "_", " ")+" ")
}

// files prefers tools that fit the files of the options.
func (s *search) files() {
	if len(s.o.Files) == 0 {
		return
	}
	names := make([]string, len(s.ix.tools))
	for i, t := range s.ix.tools {
		if s.kept[i] {
			names[i] = t.name
		}
	}
	top := max(1, s.best())
	for _, f := range ForFiles(s.o.Files, names) {
		share := 0.2
		if f.whole {
			share = 0.5
		}
		s.scores[f.Tool] += top * share * float64(len(f.Files)) / float64(len(s.o.Files))
	}
}

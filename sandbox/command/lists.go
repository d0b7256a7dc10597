package command

import (
	"strings"
	"sync"
)

// nameList is a list of names with what follows them, and of prefixes.
type nameList struct {
	names    map[string]string
	prefixes []string
}

func parseList(s string) nameList {
	l := nameList{names: map[string]string{}}
	for _, word := range strings.Fields(s) {
		if p, ok := strings.CutSuffix(word, "*"); ok {
			l.prefixes = append(l.prefixes, p)
			continue
		}
		name, rest := word, ""
		if i := strings.IndexByte(word[1:], '='); i >= 0 {
			name, rest = word[:i+1], word[i+1:]
		}
		l.names[name] = rest
	}
	return l
}

type variableLists struct{ steering, harmless, changing, numeric nameList }

var variables = sync.OnceValue(func() *variableLists {
	return &variableLists{parseList(steering), parseList(harmless), parseList(changing), parseList(numeric)}
})

var gitKeys = sync.OnceValue(func() *nameList {
	l := parseList(gitHarmless)
	return &l
})

var mutationTable = sync.OnceValue(func() *nameList {
	l := parseList(mutations)
	return &l
})

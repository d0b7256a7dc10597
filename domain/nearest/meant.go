package nearest

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// tools are names that tools of other servers and clients have, by the names that they have
// here, the most likely first. The last are for what only clients do themselves.
//
//go:embed tools.txt
var tools string

// toolNames returns the names of the table by each of their other names, in the order of the table.
// By themselves there are none.
var toolNames = sync.OnceValue(func() map[string][]string {
	names := map[string][]string{}
	for line := range strings.Lines(tools) {
		name, others, _ := strings.Cut(line, ":")
		for other := range strings.FieldsSeq(others) {
			names[Plain(other)] = append(names[Plain(other)], name)
		}
		if _, other := names[Plain(name)]; !other {
			names[Plain(name)] = nil
		}
	}
	return names
})

// Plain folds the ways to write a name of several words: case, and what is between them. Of what is too
// long for a name nothing is left.
func Plain(name string) string {
	if len(name) > maxWord {
		return ""
	}
	return strings.Map(func(r rune) rune {
		switch r {
		case '_', '-', '.', ' ', '/':
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// Tool returns the candidates that a caller may have meant with the tool word, the most likely first: by
// what well-known tools are called, or else by its spelling. Known tells that word is of those.
func Tool(word string, candidates []string) (meant []string, known bool) {
	folded := Plain(word)
	for _, c := range candidates {
		if folded != "" && Plain(c) == folded {
			return []string{c}, true
		}
	}
	others, known := toolNames()[folded]
	for _, name := range others {
		if slices.Contains(candidates, name) {
			meant = append(meant, name)
		}
	}
	if near, ok := Word(word, candidates); ok && !known { // else it is no slip
		meant = []string{near}
	}
	return meant, known
}

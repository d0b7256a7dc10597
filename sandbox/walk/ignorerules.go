package walk

import (
	"bytes"
	"fmt"
	"strings"

	"toolserver/sandbox/glob"
)

// maxRules bounds the patterns obeyed in one ignore file, because each name is
// held against them.
const maxRules = 10_000

// A ruleSet holds the patterns of one ignore file; the last that matches
// decides. Most patterns name a file or an extension, so those are found by
// lookup and only the others are tried one by one.
type ruleSet struct {
	rules  []rule
	names  map[string][]int // by whole base name
	exts   map[string][]int // by what follows the last dot, with the dot
	others []int
}

type rule struct {
	*glob.Pattern
	negated bool
	dirOnly bool
}

// parseRules parses the text of an ignore file as gitignore(5) says; nil if it
// has no patterns. A pattern git could never match is left out.
func parseRules(text []byte) (*ruleSet, error) {
	var set *ruleSet
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	for line := range bytes.Lines(text) {
		r, ok := parseRule(string(line))
		if !ok {
			continue
		}
		if set == nil {
			set = &ruleSet{names: map[string][]int{}, exts: map[string][]int{}}
		}
		if len(set.rules) == maxRules {
			return set, fmt.Errorf("more than %d patterns: the rest is not obeyed", maxRules)
		}
		set.add(r)
	}
	return set, nil
}

func parseRule(line string) (rule, bool) {
	line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	if strings.HasPrefix(line, "#") {
		return rule{}, false
	}
	if i := strings.IndexByte(line, 0); i >= 0 {
		line = line[:i]
	}
	line = trimSpaces(line)
	var r rule
	if line, r.negated = strings.CutPrefix(line, "!"); line == "" {
		return rule{}, false
	}
	line, r.dirOnly = strings.CutSuffix(line, "/")
	var err error
	r.Pattern, err = glob.Gitignore(line)
	return r, err == nil && strings.Trim(line, "/") != ""
}

// trimSpaces removes trailing spaces that no backslash keeps.
func trimSpaces(s string) string {
	end := len(s)
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
			end = len(s)
		case s[i] != ' ':
			end = len(s)
		case end == len(s):
			end = i
		}
	}
	return s[:end]
}

func (s *ruleSet) add(r rule) {
	n := len(s.rules)
	s.rules = append(s.rules, r)
	switch {
	case r.Whole:
		s.names[r.Tail] = append(s.names[r.Tail], n)
	case strings.LastIndexByte(r.Tail, '.') == 0:
		s.exts[r.Tail] = append(s.exts[r.Tail], n)
	default:
		s.others = append(s.others, n)
	}
}

// A subject is the entry that rules decide about.
type subject struct {
	path  []byte // of its directory, ends in a slash unless empty
	base  int    // where in path the rules' own directory ends
	name  string
	isDir bool
	full  string // path and name, once some rule needed it
}

func (s *subject) rel() string {
	if s.full == "" {
		s.full = string(s.path) + s.name
	}
	return s.full[s.base:]
}

// match returns what the last matching rule says, and whether there is one.
func (s *ruleSet) match(e *subject) (ignored, found bool) {
	best := -1
	s.try(e, s.names[e.name], &best)
	if dot := strings.LastIndexByte(e.name, '.'); dot >= 0 {
		s.try(e, s.exts[e.name[dot:]], &best)
	}
	s.try(e, s.others, &best)
	if best < 0 {
		return false, false
	}
	return !s.rules[best].negated, true
}

// try raises best to the last of the candidates that matches.
func (s *ruleSet) try(e *subject, candidates []int, best *int) {
	for i := len(candidates) - 1; i >= 0 && candidates[i] > *best; i-- {
		r := &s.rules[candidates[i]]
		if r.dirOnly && !e.isDir || !strings.HasSuffix(e.name, r.Tail) {
			continue
		}
		text := e.name
		if r.Path {
			text = e.rel()
		}
		if r.Match(text) {
			*best = candidates[i]
			return
		}
	}
}

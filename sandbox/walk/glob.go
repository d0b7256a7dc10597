package walk

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"
)

// Glob is a compiled pattern for file names or relative paths; it may be used
// by several goroutines.
//
//   - any characters but slash
//     **      as a whole path segment: any directories, or everything below
//     ?       one character but slash
//     [a-z]   one of the characters; [!a] or [^a] none of them
//     {a,b}   one of the patterns, which may be nested
//     \c      the character c itself
//
// A pattern with a slash is matched against the path relative to the start of
// the walk, one without against the base name. A slash or ./ at its start only
// makes it one with a slash.
type Glob struct {
	alts []alternative
}

type alternative struct {
	*pattern
	path bool
	tail string // the base name of every match ends with it
}

// CompileGlob parses a pattern. The error says what is wrong with it.
func CompileGlob(source string) (*Glob, error) {
	alts, err := compileGlob(source)
	if err != nil {
		return nil, fmt.Errorf("pattern %s: %w", quote(source), err)
	}
	return &Glob{alts: alts}, nil
}

func quote(s string) string {
	if len(s) > 100 {
		return fmt.Sprintf("%.100q...", s)
	}
	return fmt.Sprintf("%q", s)
}

func compileGlob(source string) ([]alternative, error) {
	switch {
	case source == "":
		return nil, errors.New("it is empty (write * for every name)")
	case len(source) > maxGlob:
		return nil, fmt.Errorf("it has %d bytes, the most is %d", len(source), maxGlob)
	case !utf8.ValidString(source):
		return nil, errors.New("it is not valid UTF-8")
	case strings.HasSuffix(source, "/"):
		return nil, fmt.Errorf("it ends in a slash (write %s** for all below)", source)
	}
	isPath := strings.Contains(source, "/")
	sources, err := expand(strings.TrimPrefix(strings.TrimPrefix(source, "./"), "/"), 0)
	if err != nil {
		return nil, err
	}
	alts := make([]alternative, 0, len(sources))
	for _, s := range sources {
		p, err := compile(s, dialect{runes: true, path: isPath})
		if err != nil {
			return nil, err
		}
		a := alternative{pattern: p, path: isPath && !p.unanchored()}
		a.tail, _ = p.tail()
		alts = append(alts, a)
	}
	return alts, nil
}

// Match reports whether the slash-separated relative path matches.
func (g *Glob) Match(rel string) bool {
	name := path.Base(rel)
	for i := range g.alts {
		text := name
		if g.alts[i].path {
			text = rel
		}
		if g.alts[i].match(text) {
			return true
		}
	}
	return false
}

// MatchEntry is Match for the path of e, which it puts together only where the
// base name does not decide.
func (g *Glob) MatchEntry(e *Entry) bool {
	rel := ""
	for i := range g.alts {
		a := &g.alts[i]
		if !strings.HasSuffix(e.name, a.tail) {
			continue
		}
		text := e.name
		if a.path {
			if rel == "" {
				rel = e.Rel()
			}
			text = rel
		}
		if a.match(text) {
			return true
		}
	}
	return false
}

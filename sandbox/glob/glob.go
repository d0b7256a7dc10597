// Package glob matches patterns for file names and paths: those of tools and of
// .gitignore files. They become regular expressions, and matching never takes
// exponential time.
package glob

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of a glob, so that its cost is bounded as well.
const (
	maxBytes        = 4096
	maxBraces       = 64
	maxAlternatives = 256 // that they expand to
)

// Glob is a compiled pattern for file names or relative paths. It is safe for
// concurrent use.
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
type Glob struct{ alternatives []*Pattern }

// Compile parses a glob. The error says what is wrong with it.
func Compile(source string) (*Glob, error) {
	g := &Glob{}
	err := valid(source)
	if err == nil {
		err = g.expand(strings.TrimPrefix(strings.TrimPrefix(source, "./"), "/"), strings.Contains(source, "/"))
	}
	if err != nil {
		shown := source[:min(len(source), 100)]
		if shown != source {
			source = shown + "..."
		}
		return nil, fmt.Errorf("pattern %q: %w", source, err)
	}
	return g, nil
}

func valid(source string) error {
	switch {
	case source == "":
		return errors.New("it is empty (write * for every name)")
	case len(source) > maxBytes:
		return errTooLong
	case !utf8.ValidString(source):
		return errors.New("it is not valid UTF-8")
	case strings.Count(source, "{") > maxBraces:
		return fmt.Errorf("it has more than %d braces", maxBraces)
	case strings.HasSuffix(source, "/"):
		return fmt.Errorf("it ends in a slash (write %s** for all below)", source)
	}
	return nil
}

// expand compiles the patterns that the braces of s stand for: it replaces the
// first group by each of its alternatives, until there is none.
func (g *Glob) expand(s string, isPath bool) error {
	depth := 0
	var cuts []int // the braces and commas of the first group
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case c == '[':
			_, n, err := class(s[i:], false)
			if err != nil {
				return err
			}
			i += n - 1
		case c == '{':
			if depth++; depth == 1 {
				cuts = append(cuts, i)
			}
		case c == ',' && depth == 1:
			cuts = append(cuts, i)
		case c == '}' && depth == 0:
			return errors.New("'}' without '{' (write \\} for the character itself)")
		case c == '}':
			if depth--; depth > 0 {
				continue
			}
			cuts = append(cuts, i)
			for k, cut := range cuts[1:] {
				if err := g.expand(s[:cuts[0]]+s[cuts[k]+1:cut]+s[i+1:], isPath); err != nil {
					return err
				}
			}
			return nil
		}
	}
	if depth > 0 {
		return errors.New("'{' without '}' (write \\{ for the character itself)")
	}
	if len(g.alternatives) == maxAlternatives {
		return fmt.Errorf("braces stand for more than %d patterns", maxAlternatives)
	}
	p, err := compile(s, isPath, false)
	g.alternatives = append(g.alternatives, p)
	return err
}

// Quote returns a glob that matches s and nothing else.
func Quote(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`, `}`, `\}`).Replace(s)
}

// Match reports whether the slash-separated relative path matches.
func (g *Glob) Match(rel string) bool {
	return g.MatchEntry(path.Base(rel), func() string { return rel })
}

// MatchEntry is Match for a base name and the path that ends with it, which it
// asks for only where the name does not decide.
func (g *Glob) MatchEntry(name string, rel func() string) bool {
	whole := ""
	once := func() string {
		if whole == "" {
			whole = rel()
		}
		return whole
	}
	return slices.ContainsFunc(g.alternatives, func(p *Pattern) bool { return p.MatchEntry(name, once) })
}

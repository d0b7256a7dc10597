package html

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
)

const (
	// maxSelector is the most bytes of a selector.
	maxSelector = 1000
	// maxCompounds is the most steps of one selector in a list, such as the three in ul > li a.
	maxCompounds = 32
	// selectTime is how long to look for matches. Only pseudo-classes can take long, :nth-child among very many siblings or :has.
	selectTime = 5 * time.Second
)

// ErrSelectTime is returned by [Select] for a selector and a document that take too long together.
var ErrSelectTime = errors.New("the selector takes too long on this document")

// A SelectorError says what is wrong with a CSS selector.
type SelectorError struct {
	Selector string
	Err      error
}

// Error says which selector is wrong and why.
func (e *SelectorError) Error() string {
	return fmt.Sprintf("invalid CSS selector %q: %v", e.Selector, e.Err)
}

// Unwrap returns the cause.
func (e *SelectorError) Unwrap() error { return e.Err }

// Select returns the HTML of the elements that match a CSS selector, in the order of the document with a new line between them, and
// how many there are. An element within one that matches is in its HTML, and is not given again or counted.
//
// The error is a *[SelectorError] for a selector that is not valid, or [ErrSelectTime].
func Select(src, selector string) (string, int, error) {
	paths, err := parseSelector(selector)
	if err != nil {
		return "", 0, &SelectorError{selector, err}
	}
	m := matcher{paths: paths, deadline: time.Now().Add(selectTime)}
	m.children(parseTree(src), make([]seen, len(paths)))
	if m.late {
		return "", 0, ErrSelectTime
	}
	var out strings.Builder
	for i, n := range m.found {
		if i > 0 {
			out.WriteByte('\n')
		}
		if err := html.Render(&out, n); err != nil {
			return "", 0, err
		}
	}
	return out.String(), len(m.found), nil
}

// path is one selector of a list: compound selectors with a combinator in front of each but the first.
//
// It is matched from left to right in one walk over the tree, as matching from right to left tries all ways in which the ancestors
// of an element can be divided among the compounds, and their number has no bounds to speak of.
type path []step

type step struct {
	combinator byte // ' ', '>', '+' or '~'
	compound   cascadia.Sel
}

// seen are the sets of steps, as bits, up to which a path matches around an element.
type seen struct {
	parent    uint64
	ancestors uint64
}

// matcher finds the elements that match.
type matcher struct {
	paths    []path
	found    []*html.Node
	deadline time.Time
	nodes    int
	late     bool
}

// children looks at the elements in n; above tells what matches up to n itself, for each path.
func (m *matcher) children(n *html.Node, above []seen) {
	before := make([]struct{ last, all uint64 }, len(m.paths)) // of the siblings
	below := make([]seen, len(m.paths))
	for c := n.FirstChild; c != nil && !m.late; c = c.NextSibling {
		if c.Type != html.ElementNode {
			continue
		}
		if m.nodes++; m.nodes%16 == 0 && time.Now().After(m.deadline) {
			m.late = true
			return
		}
		matched := false
		for i, p := range m.paths {
			s := p.match(c, above[i], before[i].last, before[i].all)
			before[i].last, before[i].all = s, before[i].all|s
			below[i] = seen{s, above[i].ancestors | s}
			matched = matched || s>>(len(p)-1)&1 == 1
		}
		if matched {
			m.found = append(m.found, c)
		} else if c.FirstChild != nil {
			m.children(c, below)
		}
	}
}

// match returns the steps up to which the path matches at n.
func (p path) match(n *html.Node, above seen, last, all uint64) uint64 {
	var s uint64
	for i, step := range p {
		from := uint64(1)
		if i > 0 {
			switch step.combinator {
			case ' ':
				from = above.ancestors
			case '>':
				from = above.parent
			case '+':
				from = last
			case '~':
				from = all
			}
			from >>= i - 1
		}
		if from&1 == 1 && step.compound.Match(n) {
			s |= 1 << i
		}
	}
	return s
}

// parseSelector reads a list of selectors.
func parseSelector(selector string) ([]path, error) {
	if len(selector) > maxSelector {
		return nil, fmt.Errorf("it is longer than %d bytes", maxSelector)
	}
	if _, err := cascadia.ParseGroup(selector); err != nil {
		return nil, err
	}
	var paths []path
	for _, s := range splitSelector(selector, ",") {
		var p path
		combinator := byte(' ')
		for _, part := range splitSelector(s, " \t\r\n\f>+~") {
			if len(part) == 1 && strings.Contains(" \t\r\n\f>+~", part) {
				if part[0] > ' ' {
					combinator = part[0]
				}
				continue
			}
			compound, err := cascadia.Parse(part)
			if err != nil {
				return nil, err
			}
			p = append(p, step{combinator, compound})
			combinator = ' '
		}
		if len(p) == 0 || len(p) > maxCompounds {
			return nil, fmt.Errorf("it has %d steps, not 1 to %d", len(p), maxCompounds)
		}
		paths = append(paths, p)
	}
	return paths, nil
}

// splitSelector divides a selector at separators that are not in brackets, quotes or escapes. Separators but commas are parts.
func splitSelector(s, separators string) []string {
	var parts []string
	depth, quote, begin := 0, byte(0), 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case depth == 0 && strings.IndexByte(separators, c) >= 0:
			if i > begin {
				parts = append(parts, s[begin:i])
			}
			if c != ',' {
				parts = append(parts, s[i:i+1])
			}
			begin = i + 1
		}
	}
	if begin < len(s) {
		parts = append(parts, s[begin:])
	}
	return parts
}

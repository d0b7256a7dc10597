package html

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"

	"github.com/toolserver/toolserver/domain/lazyregexp"
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
	m := matcher{most: math.MaxInt, deadline: time.Now().Add(selectTime), failed: make(map[attempt]bool)}
	matched := m.find(nil, parseTree(src), paths)
	if m.late {
		return "", 0, ErrSelectTime
	}
	var out strings.Builder
	for i, n := range matched {
		if i > 0 {
			out.WriteByte('\n')
		}
		if err := html.Render(&out, n); err != nil {
			return "", 0, err
		}
	}
	return out.String(), len(matched), nil
}

// path is one selector of a list: compound selectors with a combinator in front of each but the first.
type path []step

type step struct {
	combinator byte // ' ', '>', '+' or '~'
	compound   cascadia.Sel
	counts     bool // the siblings of an element
}

// matcher tests selectors from right to left, as long as it may.
type matcher struct {
	tests, most int
	deadline    time.Time
	late        bool // that was not long enough: nothing matches any more
	// failed are tests that need not be made again: else all ways are tried in which the ancestors of an element can be divided
	// among the steps of a path, and their number has no bounds to speak of. It may be nil.
	failed map[attempt]bool
}

// attempt is a test whether a path up to a step matches an element.
type attempt struct {
	last *step
	n    *html.Node
}

// maxFailed is how many failed tests are remembered.
const maxFailed = 1 << 18

// find adds to found the elements in n that match. What is in one of them is not looked at.
func (m *matcher) find(found []*html.Node, n *html.Node, paths []path) []*html.Node {
	for c := n.FirstChild; c != nil && !m.late; c = c.NextSibling {
		if slices.ContainsFunc(paths, func(p path) bool { return m.matches(p, c) }) {
			found = append(found, c)
		} else {
			found = m.find(found, c, paths)
		}
	}
	return found
}

// matches reports whether a path matches an element.
func (m *matcher) matches(p path, n *html.Node) bool {
	last := &p[len(p)-1]
	if m.late {
		return false
	}
	m.tests++
	for c := n; c != nil && last.counts && m.tests <= m.most; c = c.PrevSibling {
		m.tests++
	}
	m.late = m.late || m.tests > m.most || m.tests%16 == 0 && !m.deadline.IsZero() && time.Now().After(m.deadline)
	if m.late || n.Type != html.ElementNode || m.failed[attempt{last, n}] || !last.compound.Match(n) {
		return false
	}
	if len(p) == 1 || m.leads(p[:len(p)-1], last.combinator, n) {
		return true
	}
	if m.failed != nil {
		if len(m.failed) == maxFailed {
			clear(m.failed)
		}
		m.failed[attempt{last, n}] = true
	}
	return false
}

// leads reports whether a path matches an element that a combinator finds around n.
func (m *matcher) leads(p path, combinator byte, n *html.Node) bool {
	for !m.late {
		if combinator == ' ' || combinator == '>' {
			n = n.Parent
		} else {
			for n = n.PrevSibling; n != nil && n.Type != html.ElementNode; n = n.PrevSibling {
			}
		}
		if n == nil || m.matches(p, n) {
			return n != nil
		}
		if combinator == '>' || combinator == '+' {
			return false
		}
	}
	return false
}

// counts tells compound selectors that count siblings.
var counts = lazyregexp.New(`(?i):(?:nth|first|last|only)-`)

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
			p = append(p, step{combinator, compound, counts().MatchString(part)})
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

package linematch

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

const (
	maxNeedles = 8  // each costs a pass over the text
	maxRun     = 64 // characters of a literal that are used
	worthwhile = 5  // bits a needle must have to be looked for first
	maxBits    = 60
)

// A char is a character of a literal in the pattern.
type char struct {
	r    rune
	fold bool
}

// A need is what is known of the text a part of the pattern matches. Either it
// is exactly chars, or it contains one of the needles (if there are any).
type need struct {
	exact   bool
	chars   []char
	needles []needle
}

func (m *Matcher) setNeedles(re *syntax.Regexp) {
	n := needOf(re)
	best := n.best()
	if len(best) == 0 || setBits(best) < worthwhile {
		return
	}
	m.needles = best
	m.exact = n.exact && len(n.chars) <= maxRun
	for i := range best {
		b := &best[i]
		m.exotic = m.exotic || b.exotic
		m.exact = m.exact && !b.exotic && b.chars == len(n.chars)
	}
	for _, c := range n.chars {
		if c.r == '\r' || best[0].fold && !c.fold && unicode.IsLetter(c.r) {
			m.exact = false // part of a line ending, or not all letters are folded
		}
	}
}

// best returns the needles for n, taken from its literal where it is one.
func (n need) best() []needle {
	if !n.exact {
		return n.needles
	}
	var best []needle
	for _, run := range splitRun(n.chars) {
		if x := []needle{newNeedle(run)}; best == nil || setBits(x) > setBits(best) {
			best = x
		}
	}
	return best
}

func needOf(re *syntax.Regexp) need {
	switch re.Op {
	case syntax.OpLiteral:
		chars := make([]char, len(re.Rune))
		for i, r := range re.Rune {
			chars[i] = char{r, re.Flags&syntax.FoldCase != 0 && unicode.SimpleFold(r) != r}
		}
		return need{exact: true, chars: chars}
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return need{} // matches nothing of the text, see concatNeed
	case syntax.OpCapture:
		return needOf(re.Sub[0])
	case syntax.OpConcat:
		return concatNeed(re.Sub)
	case syntax.OpAlternate:
		return alternateNeed(re.Sub)
	case syntax.OpPlus:
		return need{needles: needOf(re.Sub[0]).best()}
	case syntax.OpRepeat:
		if re.Min > 0 {
			return need{needles: needOf(re.Sub[0]).best()}
		}
	}
	return need{}
}

func isAssertion(op syntax.Op) bool {
	return op == syntax.OpEmptyMatch || op >= syntax.OpBeginLine && op <= syntax.OpNoWordBoundary
}

// concatNeed joins neighbouring literals, also across assertions such as \b,
// and chooses the best of them and of what the other parts need.
func concatNeed(parts []*syntax.Regexp) need {
	all := need{exact: true}
	var run []char
	var best []needle
	consider := func(x []needle) {
		if len(x) > 0 && (best == nil || setBits(x) > setBits(best)) {
			best = x
		}
	}
	for _, p := range parts {
		if isAssertion(p.Op) {
			all.exact = false
			continue
		}
		n := needOf(p)
		if n.exact {
			run = append(run, n.chars...)
			continue
		}
		all.exact = false
		consider(need{exact: true, chars: run}.best())
		consider(n.needles)
		run = nil
	}
	if all.exact {
		all.chars = run
		return all
	}
	consider(need{exact: true, chars: run}.best())
	return need{needles: best}
}

func alternateNeed(parts []*syntax.Regexp) need {
	var all []needle
	for _, p := range parts {
		best := needOf(p).best()
		if len(best) == 0 || len(all)+len(best) > maxNeedles {
			return need{}
		}
		all = append(all, best...)
	}
	return need{needles: all}
}

// splitRun cuts a literal where a character has spellings that the search for
// a needle does not know: a letter outside ASCII in either case, or U+FFFD,
// which also matches an invalid byte.
func splitRun(chars []char) [][]char {
	folded := slices.ContainsFunc(chars, func(c char) bool { return c.fold })
	var runs [][]char
	start := 0
	for i := 0; i <= len(chars); i++ {
		if i < len(chars) && i-start < maxRun && chars[i].r != utf8.RuneError && (!folded || chars[i].r < utf8.RuneSelf) {
			continue
		}
		if i > start {
			runs = append(runs, chars[start:i])
		}
		start = i + 1
	}
	return runs
}

// setBits is how rare the most common of the needles is.
func setBits(set []needle) int {
	least := maxBits
	for i := range set {
		least = min(least, set[i].bits)
	}
	return least - len(set)/2
}

package linematch

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Classes divide the characters into sets that a pattern cannot tell apart.
// Class 0 is for bytes that need a closer look (outside ASCII, and \r), class
// endOfLine for \n and the end of the text.
type classes struct {
	of     [256]uint16 // by byte
	starts []rune      // where intervals of characters start, sorted
	ids    []uint16    // their classes
	reps   []rune      // by class, a member of it
}

const (
	closerLook = 0
	endOfLine  = 1
)

func newClasses(prog *syntax.Prog) *classes {
	sets, starts := runeSets(prog)
	starts = append(starts, 0, '0', '9'+1, 'A', 'Z'+1, '_', '_'+1, 'a', 'z'+1) // what \b looks at
	slices.Sort(starts)
	c := &classes{starts: slices.Compact(starts), reps: []rune{0, 0}}
	known := map[string]uint16{}
	for _, r := range c.starts {
		sign := []byte{byte(kindOf(r))}
		for i, inst := range sets {
			if inst.MatchRune(r) {
				sign = binary.AppendUvarint(sign, uint64(i))
			}
		}
		id, ok := known[string(sign)]
		if !ok {
			id = uint16(len(c.reps))
			c.reps = append(c.reps, r)
			known[string(sign)] = id
		}
		c.ids = append(c.ids, id)
	}
	for b := range utf8.RuneSelf {
		c.of[b] = c.ofRune(rune(b))
	}
	c.of['\n'], c.of['\r'] = endOfLine, closerLook
	return c
}

// runeSets returns the different sets of characters in prog and where the
// membership in any of them changes.
func runeSets(prog *syntax.Prog) (sets []*syntax.Inst, starts []rune) {
	seen := map[string]bool{}
	for i := range prog.Inst {
		inst := &prog.Inst[i]
		var key []byte
		switch inst.Op {
		case syntax.InstRuneAnyNotNL: // no line has the one character it leaves out
			continue
		case syntax.InstRune, syntax.InstRune1:
			key = binary.AppendUvarint(key, uint64(inst.Arg))
			for _, r := range inst.Rune {
				key = binary.AppendUvarint(key, uint64(r))
			}
		default:
			continue
		}
		if seen[string(key)] {
			continue
		}
		seen[string(key)] = true
		sets = append(sets, inst)
		if len(inst.Rune) == 1 {
			first := inst.Rune[0]
			starts = append(starts, first, first+1)
			for r := unicode.SimpleFold(first); r != first; r = unicode.SimpleFold(r) {
				starts = append(starts, r, r+1)
			}
			continue
		}
		for j := 0; j+1 < len(inst.Rune); j += 2 {
			starts = append(starts, inst.Rune[j], inst.Rune[j+1]+1)
		}
	}
	return sets, starts
}

func (c *classes) ofRune(r rune) uint16 {
	i, found := slices.BinarySearch(c.starts, r)
	if !found {
		i--
	}
	return c.ids[i]
}

// A kind is what an assertion can know of a neighbouring character.
type kind byte

const (
	kindEdge kind = iota // there is none: the line begins or ends
	kindWord
	kindOther
)

func kindOf(r rune) kind {
	if syntax.IsWordChar(r) {
		return kindWord
	}
	return kindOther
}

// assertions returns what holds between two neighbours.
func assertions(before, after kind) syntax.EmptyOp {
	example := [...]rune{kindEdge: -1, kindWord: 'a', kindOther: ' '}
	return syntax.EmptyOpContext(example[before], example[after])
}

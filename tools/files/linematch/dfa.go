package linematch

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// Bounds of the memory of one automaton; when they are reached it is built again.
const (
	maxTable   = 1 << 20
	maxThreads = 1 << 19
	maxWide    = 1 << 16
)

// Entries of the transition table that are not states.
const (
	unknown = 0
	matched = 1
)

// A dfa runs a program over lines of text, building the states it meets. A state
// is the set of instructions that may come next and the kind of the character
// before; assertions are decided when the next character is known. Its number is
// where its row of 256 entries begins in table, which has the states that follow
// with an ASCII character except \r; \n ends the line.
type dfa struct {
	prog    *syntax.Prog
	table   []uint32
	wide    map[wideChar]uint32 // the same for other characters
	states  []state
	ids     map[string]uint32
	start   uint32
	threads int  // of all states
	words   bool // the program has assertions about words

	stack, next []uint32
	seen        []uint32 // by instruction: the round it was last met in
	round       uint32
	key         []byte
}

type state struct {
	threads []uint32
	before  kind
}

type wideChar struct {
	state uint32
	char  rune
}

func newDFA(prog *syntax.Prog) *dfa {
	d := &dfa{prog: prog, seen: make([]uint32, len(prog.Inst))}
	d.words = slices.ContainsFunc(prog.Inst, func(i syntax.Inst) bool {
		return i.Op == syntax.InstEmptyWidth && syntax.EmptyOp(i.Arg)&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0
	})
	d.empty()
	return d
}

func (d *dfa) empty() {
	d.table, d.states, d.threads = append(d.table[:0], make([]uint32, 256)...), d.states[:0], 0
	d.ids, d.wide = map[string]uint32{}, map[wideChar]uint32{}
	d.start = d.add(nil, edge)
}

// find returns a place in the first matching line of text, which begins with a
// line, or -1. The end of the text ends its last line.
func (d *dfa) find(text []byte) int {
	s, i := d.start, 0
	for i < len(text) {
		next := d.table[s+uint32(text[i])]
		if next == s { // most often; predicted, it spares waiting for the table
			i++
			continue
		}
		if next > matched {
			s = next
			i++
			continue
		}
		size := 1
		if next == unknown {
			r := rune(text[i])
			switch {
			case r >= utf8.RuneSelf:
				r, size = utf8.DecodeRune(text[i:])
			case r == '\r' && i+1 == len(text):
				r = '\n'
			case r == '\r' && text[i+1] == '\n':
				r, size = '\n', 2
			}
			next = d.step(s, r)
		}
		if next == matched {
			return i
		}
		s = next
		i += size
	}
	// A \r at the end was already handled, as a line ending.
	if i > 0 && text[i-1] != '\n' && text[i-1] != '\r' && d.step(s, '\n') == matched {
		return i
	}
	return -1
}

// step returns the state that follows s with a character, where \n is the end of
// the line.
func (d *dfa) step(s uint32, r rune) uint32 {
	inTable := r < utf8.RuneSelf && r != '\r'
	next := uint32(unknown)
	if inTable {
		next = d.table[s+uint32(r)]
	} else {
		next = d.wide[wideChar{s, r}]
	}
	if next != unknown {
		return next
	}
	st := d.states[s/256-1]
	if len(d.table) > maxTable || d.threads > maxThreads || len(d.wide) > maxWide {
		d.empty()
		s = d.add(st.threads, st.before)
	}
	after := d.kindOf(r)
	switch {
	case d.advance(st, r, assertions(st.before, after)):
		next = matched
	case after == edge:
		next = d.start
	default:
		slices.Sort(d.next)
		next = d.add(slices.Compact(d.next), after)
	}
	if inTable {
		d.table[s+uint32(r)] = next
	} else {
		d.wide[wideChar{s, r}] = next
	}
	return next
}

// advance follows all threads of st, and a new one from the start of the
// program because a match may begin anywhere, over one character; it sets
// d.next to where they go on and reports whether one had matched before it.
func (d *dfa) advance(st state, r rune, holds syntax.EmptyOp) bool {
	d.next = d.next[:0]
	d.round++
	d.stack = append(append(d.stack[:0], uint32(d.prog.Start)), st.threads...)
	for len(d.stack) > 0 {
		pc := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		if d.seen[pc] == d.round {
			continue
		}
		d.seen[pc] = d.round
		inst := &d.prog.Inst[pc]
		switch inst.Op {
		case syntax.InstMatch:
			return true
		case syntax.InstAlt, syntax.InstAltMatch:
			d.stack = append(d.stack, inst.Out, inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			d.stack = append(d.stack, inst.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^holds == 0 {
				d.stack = append(d.stack, inst.Out)
			}
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if inst.MatchRune(r) {
				d.next = append(d.next, inst.Out)
			}
		}
	}
	return false
}

// add returns the state with these threads, sorted and each once, which it copies.
func (d *dfa) add(threads []uint32, before kind) uint32 {
	d.key = append(d.key[:0], byte(before))
	for _, t := range threads {
		d.key = binary.AppendUvarint(d.key, uint64(t))
	}
	if id, ok := d.ids[string(d.key)]; ok {
		return id
	}
	id := uint32(len(d.table))
	d.ids[string(d.key)] = id
	d.states = append(d.states, state{slices.Clone(threads), before})
	d.threads += len(threads)
	d.table = append(d.table, make([]uint32, 256)...)
	return id
}

// A kind is what an assertion of the program can know of a neighbouring character.
type kind byte

const (
	edge kind = iota // there is none: the line begins or ends
	word
	other
)

func (d *dfa) kindOf(r rune) kind {
	switch {
	case r == '\n':
		return edge
	case d.words && syntax.IsWordChar(r):
		return word
	}
	return other
}

// assertions returns what holds between two neighbours.
func assertions(before, after kind) syntax.EmptyOp {
	example := [...]rune{edge: -1, word: 'a', other: ' '}
	return syntax.EmptyOpContext(example[before], example[after])
}

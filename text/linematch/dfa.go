package linematch

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// Bounds of the memory of one automaton; when they are reached it is forgotten
// and built again.
const (
	maxTransitions = 1 << 19
	maxThreads     = 1 << 19
)

// Entries of the transition table that are not states. States are at multiples of columns from firstID.
const (
	unknown = 0
	matched = 1
	firstID = 2
)

// columns is how many transitions a state has in the table: one for each character of ASCII, that of \n for the end of a line.
const columns = utf8.RuneSelf

// A dfa runs a program over text a line at a time, building the states it meets.
// A state is the set of instructions that may come next and the kind of the
// character before; assertions are decided when the next character is known.
type dfa struct {
	prog    *syntax.Prog
	table   []uint32
	wide    [1 << 12]wide // transitions by characters beyond ASCII, and by a \r that ends no line: the last of each place
	states  []state
	ids     map[string]uint32
	start   uint32
	threads int
	// slow is set where states are made about as fast as text is read: then it
	// is cheaper to run the program without an automaton.
	slow  bool
	bytes int // read since the table was emptied

	stack, next []uint32
	seen        []uint32 // by instruction: the round it was last met in
	round       uint32
	key         []byte
}

type wide struct {
	from, to uint32
	r        rune
}

// place returns where the transition of a state by a character is kept in d.wide.
func (d *dfa) place(from uint32, r rune) *wide {
	return &d.wide[(from/columns*31+uint32(r))%uint32(len(d.wide))]
}

type state struct {
	threads []uint32
	before  rune // what the character before is like
}

// What an assertion can know of a neighbouring character, by a character like it.
const (
	edge      rune = -1 // there is none: the line begins or ends
	word      rune = 'a'
	otherwise rune = ' '
)

func newDFA(m *Matcher) *dfa {
	d := &dfa{prog: m.prog, seen: make([]uint32, len(m.prog.Inst))}
	d.empty()
	return d
}

func (d *dfa) empty() {
	d.table = append(d.table[:0], unknown, matched)
	d.states, d.ids, d.wide = d.states[:0], map[string]uint32{}, [len(d.wide)]wide{}
	d.threads, d.bytes = 0, 0
	d.start = d.add(nil, edge)
}

// find returns a place in the first matching line of text, which begins with a
// line, or -1. The end of the text ends its last line.
func (d *dfa) find(text []byte) int {
	s, i := d.start, 0
	from := 0 // where d.bytes was last brought up to date
	for i < len(text) {
		next := uint32(unknown)
		if b := text[i]; b < utf8.RuneSelf {
			next = d.table[s+uint32(b)]
		}
		if next >= firstID {
			s = next
			i++
			continue
		}
		if next == matched {
			return i
		}
		d.bytes += i - from
		from = i
		r, size := charAt(text, i)
		if r < utf8.RuneSelf && r != '\r' {
			next = d.table[s+uint32(r)]
		} else if w := d.place(s, r); w.from == s && w.r == r {
			next = w.to
		}
		if next == unknown {
			next = d.step(s, r)
		}
		if next == matched {
			return i
		}
		s = next
		i += size
	}
	d.bytes += len(text) - from
	// A \r at the end was already handled, as a line ending.
	if len(text) > 0 && text[len(text)-1] != '\n' && text[len(text)-1] != '\r' && d.step(s, '\n') == matched {
		return len(text)
	}
	return -1
}

// charAt returns the character at text[i], \n for the end of a line, and its length.
func charAt(text []byte, i int) (r rune, size int) {
	switch b := text[i]; {
	case b >= utf8.RuneSelf:
		return utf8.DecodeRune(text[i:])
	case b == '\r' && i+1 == len(text):
		return '\n', 1
	case b == '\r' && text[i+1] == '\n':
		return '\n', 2
	default:
		return rune(b), 1
	}
}

// step returns the state that follows s with a character.
func (d *dfa) step(s uint32, r rune) uint32 {
	st, after := &d.states[(s-firstID)/columns], edge
	if syntax.IsWordChar(r) {
		after = word
	} else if r != '\n' {
		after = otherwise
	}
	result := d.start
	if d.advance(st, syntax.EmptyOpContext(st.before, after), r) {
		result = matched
	} else if r != '\n' {
		slices.Sort(d.next)
		d.next = slices.Compact(d.next)
		result = d.add(d.next, after)
		if len(d.table) > maxTransitions || d.threads > maxThreads {
			d.slow = d.slow || d.bytes < 16*len(d.states)
			d.empty()
			return d.add(d.next, after) // the row of s is gone
		}
	}
	if r < utf8.RuneSelf && r != '\r' {
		d.table[s+uint32(r)] = result
	} else {
		*d.place(s, r) = wide{s, result, r}
	}
	return result
}

// advance follows all threads of st, and a new one from the start of the
// program because a match may begin anywhere, over one character; it sets
// d.next to where they go on and reports whether one had matched before it.
func (d *dfa) advance(st *state, holds syntax.EmptyOp, r rune) bool {
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
			if r != '\n' && inst.MatchRune(r) {
				d.next = append(d.next, inst.Out)
			}
		}
	}
	return false
}

// add returns the state with these threads, sorted and each once, which it copies.
func (d *dfa) add(threads []uint32, before rune) uint32 {
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
	d.threads += len(threads) + 8
	d.table = append(d.table, make([]uint32, columns)...)
	return id
}

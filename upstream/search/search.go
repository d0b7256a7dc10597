package search

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// Options narrow a search.
type Options struct {
	Limit  int              // of hits; 10 if 0
	Keep   func(i int) bool // whether the caller may know of tool i; nil keeps all. What is not kept influences nothing
	Server string           // only tools of this server, in any case of letters
	Files  []string         // names of files the tools are wanted for, see [ForFiles]; they are enough for a search
}

// Results are the tools found, best first, and help where they do not convince.
type Results struct {
	Hits []Hit
	// Weak is set if no tool answers most of the query: the hits are near misses.
	Weak bool
	// Unknown are the words of the query that no tool has.
	Unknown []Guess
	// Narrow are words that tell the best hits apart, best hits first: names of
	// servers, and words of some of their names. It is empty if the first hit is
	// far ahead.
	Narrow []string
}

// A Hit is a tool, as an index into those the index was made of, and its score.
// Scores compare within one search.
type Hit struct {
	Tool  int
	Score float64
}

// A Guess is a word that no tool has, and the word of a tool that was probably
// meant and was searched for, or "".
type Guess struct{ Word, Near string }

const (
	usualLimit    = 10
	maxQueryBytes = 2000 // the rest of a longer query is ignored
	maxQueryWords = 60
	weakShare     = 0.4 // of the query; a hit with less of it is a near miss
	closeBy       = 0.8 // of the first hit's score; hits with more are as likely
	maxNarrow     = 8
)

// What changes the score of a tool as a whole. None is critical: with a quarter more
// or less of any, the results stay about the same.
const (
	agrees     = 0.1  // it does what the query asks, or something else
	answers    = 0.35 // it changes something though the query is a question
	hasName    = 0.35 // the query has its name
	isOfMany   = 0.06 // its name has a word in the plural, as the query does
	hasAll     = 0.75 // it has all words of the query
	verbShare  = 0.8  // what to do says less than to what
	verbRarity = 3.5  // at most, of a verb
)

// Search returns the tools that fit the query best.
func (ix *Index) Search(query string, o Options) Results {
	s := search{ix: ix, x: table(), o: o, scores: make([]float64, len(ix.tools)), matched: make([]float64, len(ix.tools))}
	for i := range ix.tools {
		if (o.Server == "" || strings.EqualFold(o.Server, ix.tools[i].server)) && (o.Keep == nil || o.Keep(i)) {
			s.kept = append(s.kept, true)
			s.count++
		} else {
			s.kept = append(s.kept, false)
		}
	}
	if len(query) > maxQueryBytes {
		query = strings.ToValidUTF8(query[:maxQueryBytes], "")
	}
	s.read(query)
	s.score()
	s.adjust()
	s.exact(query)
	s.files()
	return s.results()
}

// A search is one query under way.
type search struct {
	ix    *Index
	x     *lexicon
	o     Options
	kept  []bool // tools that may be found
	count int    // of them

	slots []slot
	used  map[string]bool // meanings of the slots so far
	asks  bool            // the query is a question

	scores  []float64
	matched []float64 // how much of the query's weight a tool has
	total   float64   // the query's weight
}

// having returns the tools that have a term, of those that are kept.
func (s *search) having(term string) []posting {
	list := s.ix.terms[term]
	if s.count == len(s.kept) {
		return list
	}
	var kept []posting
	for _, p := range list {
		if s.kept[p.tool] {
			kept = append(kept, p)
		}
	}
	return kept
}

// score gives each tool the best alternative of each slot.
func (s *search) score() {
	best := make([]float64, len(s.ix.tools))
	for _, sl := range s.slots {
		clear(best)
		top := 0.0
		for _, a := range sl.alternatives {
			rare := rarity(len(a.list), s.count)
			if sl.verb {
				rare = min(rare, verbRarity) * verbShare
			}
			top = max(top, rare*a.weight)
			for _, p := range a.list {
				best[p.tool] = max(best[p.tool], a.weight*rare*float64(p.weight))
			}
		}
		if len(sl.alternatives) == 0 {
			top = rarity(0, s.count) / 2
		}
		if sl.extra {
			top = 0
		}
		s.total += top
		for t, v := range best {
			s.scores[t] += v
			s.matched[t] += min(top, 2*v)
		}
	}
}

// rarity is BM25's weight of a word that count of all tools have.
func rarity(count, all int) float64 {
	return math.Log(1 + (float64(all-count)+0.5)/(float64(count)+0.5))
}

// adjust prefers tools that do what the first verb of the query asks for, those of
// whose name the query has more, and those that have all of the query to those that
// have much of one word.
func (s *search) adjust() {
	asked := reading
	if i := slices.IndexFunc(s.slots, func(sl slot) bool { return sl.actions != nil }); i >= 0 && !s.asks {
		asked = s.slots[i].actions
	}
	terms, plural := map[string]bool{}, false // of names, and what they mean
	for _, sl := range s.slots {
		plural = plural || !sl.extra && !sl.verb && isPlural(sl.plain)
		for _, key := range sl.keys {
			terms[key] = true
			for _, c := range s.x.asked[key] {
				terms[c] = true
			}
		}
	}
	for t := range s.scores {
		e := &s.ix.tools[t]
		if s.scores[t] == 0 {
			continue
		}
		switch {
		case len(e.does) == 0:
		case meet(e.does, asked):
			s.scores[t] *= 1 + agrees
		case meet(e.does, reading) && meet(asked, reading):
			s.scores[t] *= 1 + agrees/2
		case s.asks:
			s.scores[t] *= 1 - answers
		default:
			s.scores[t] *= 1 - agrees
		}
		has := 0.0
		for _, w := range e.named {
			if terms[w.stem] || slices.ContainsFunc(w.means, func(c string) bool { return terms[c] }) {
				has += 1 / float64(len(e.named))
			}
		}
		s.scores[t] *= 1 + hasName*has
		if plural && slices.ContainsFunc(e.named, func(w nameWord) bool { return isPlural(w.plain) }) {
			s.scores[t] *= 1 + isOfMany
		}
		if s.total > 0 {
			s.scores[t] *= 1 - hasAll + hasAll*s.share(t)
		}
	}
}

// meet reports whether two lists have something in common.
func meet(a, b []string) bool {
	return slices.ContainsFunc(a, func(x string) bool { return slices.Contains(b, x) })
}

// share returns how much of the query a tool has, from 0 to 1.
func (s *search) share(t int) float64 { return min(1, s.matched[t]/s.total) }

// best returns the highest score.
func (s *search) best() (top float64) {
	for _, score := range s.scores {
		top = max(top, score)
	}
	return top
}

// letters returns the letters and digits of a text, by which names are compared.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, fold(text))
}

// exact puts the tool first whose name is the query, with its server's or without.
func (s *search) exact(query string) {
	name, top := letters(query), s.best()
	for t := range s.scores {
		e := &s.ix.tools[t]
		if name != "" && s.kept[t] && (e.letters == name || strings.HasSuffix(e.letters, name) && e.bare == len(name)) {
			s.scores[t] += top + 1
		}
	}
}

// results returns the hits in order, and what helps to go on.
func (s *search) results() Results {
	var r Results
	for t, score := range s.scores {
		if score > 0 {
			r.Hits = append(r.Hits, Hit{t, score})
		}
	}
	slices.SortFunc(r.Hits, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Tool, b.Tool)) })
	r.Hits = slices.Clone(r.Hits[:min(len(r.Hits), cmp.Or(max(s.o.Limit, 0), usualLimit))])
	for _, sl := range s.slots {
		if !sl.extra && (len(sl.alternatives) == 0 || sl.near != "") {
			r.Unknown = append(r.Unknown, Guess{sl.plain, sl.near})
		}
	}
	r.Weak = len(r.Hits) == 0 || s.total > 0 && s.share(r.Hits[0].Tool) < weakShare
	likely := r.Hits
	if !r.Weak {
		if i := slices.IndexFunc(likely, func(h Hit) bool { return h.Score < closeBy*likely[0].Score }); i > 0 {
			likely = likely[:i]
		}
	}
	if len(likely) > 1 {
		r.Narrow = s.narrow(likely)
	}
	return r
}

// narrow returns what tells hits apart that are as good as the first.
func (s *search) narrow(likely []Hit) (words []string) {
	asked, count := map[string]bool{}, map[string]int{}
	for _, sl := range s.slots {
		for _, key := range sl.keys {
			asked[key] = true
		}
	}
	var named []nameWord
	for _, h := range likely {
		e := &s.ix.tools[h.Tool]
		if !slices.Contains(words, e.server) {
			words = append(words, e.server)
		}
		named = append(named, e.named...)
	}
	if words = words[:min(len(words), maxNarrow/2)]; len(words) == 1 {
		words = nil
	}
	for _, w := range named {
		count[w.stem]++
	}
	for _, w := range named {
		known := asked[w.stem] || slices.ContainsFunc(words, func(n string) bool { return strings.EqualFold(n, w.plain) || stem(n) == w.stem })
		if !known && len(words) < maxNarrow && count[w.stem] < len(likely) {
			words = append(words, w.plain)
		}
	}
	return words
}

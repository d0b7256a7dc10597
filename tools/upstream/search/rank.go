package search

import (
	"math"
	"slices"
)

// score gives each tool the best alternative of each slot.
func (s *search) score() {
	best := make([]float64, len(s.ix.tools))
	var touched []int32
	for i := range s.slots {
		sl := &s.slots[i]
		top := 0.0
		for _, a := range sl.alternatives {
			rare := rarity(s.size(a.list), s.count)
			if sl.verb { // what to do says less than to what
				rare = min(rare, s.weights.verbMost) * s.weights.verb
			}
			top = max(top, rare*a.weight)
			for _, p := range a.list {
				v := a.weight * rare * float64(p.weight)
				if !s.kept[p.tool] || v <= best[p.tool] {
					continue
				}
				if best[p.tool] == 0 {
					touched = append(touched, p.tool)
				}
				best[p.tool] = v
			}
		}
		if len(sl.alternatives) == 0 {
			top = rarity(0, s.count) / 2
		}
		if !sl.extra {
			s.total += top
		}
		for _, t := range touched {
			s.scores[t] += best[t]
			if !sl.extra {
				s.matched[t] += min(top, 2*best[t])
			}
			best[t] = 0
		}
		touched = touched[:0]
	}
}

// rarity is BM25's weight of a word that count of all tools have.
func rarity(count, all int) float64 {
	return math.Log(1 + (float64(all-count)+0.5)/(float64(count)+0.5))
}

// agreement prefers tools that do what the first verb of the query asks for.
func (s *search) agreement() {
	asked := uint64(reading)
	if !s.asks {
		if i := slices.IndexFunc(s.slots, func(sl slot) bool { return sl.action != 0 }); i >= 0 {
			asked = s.slots[i].action
		}
	}
	for t := range s.scores {
		does := s.ix.tools[t].actions
		switch {
		case does == 0 || s.scores[t] == 0:
		case does&asked != 0:
			s.scores[t] *= 1 + s.weights.agree
		case does&reading != 0 && asked&reading != 0:
			s.scores[t] *= 1 + s.weights.agree/2
		case s.asks:
			s.scores[t] *= 1 - s.weights.question
		default:
			s.scores[t] *= 1 - s.weights.conflict
		}
	}
}

// names prefers tools of whose name the query has more, and tools whose name has
// a plural, too.
func (s *search) names() {
	terms, ideas, plural := map[int32]bool{}, map[concept]bool{}, false
	for i := range s.slots {
		sl := &s.slots[i]
		if sl.extra {
			continue
		}
		plural = plural || !sl.verb && isPlural(sl.plain)
		for _, key := range sl.keys {
			if n, known := s.ix.terms[key]; known {
				terms[n] = true
			}
			for _, c := range s.x.asked[key] {
				ideas[c] = true
			}
		}
	}
	for t := range s.scores {
		e := &s.ix.tools[t]
		if s.scores[t] == 0 || len(e.named) == 0 {
			continue
		}
		has := 0.0
		for _, w := range e.named {
			if terms[w.term] || slices.ContainsFunc(w.means, func(c concept) bool { return ideas[c] }) {
				has++
			}
		}
		s.scores[t] *= 1 + s.weights.namePart*has/float64(len(e.named))
		if plural && e.plural {
			s.scores[t] *= 1 + s.weights.number
		}
	}
}

// coverage prefers tools that have all of the query to those that have much of
// one word.
func (s *search) coverage() {
	if s.total == 0 {
		return
	}
	for t := range s.scores {
		s.scores[t] *= 1 - s.weights.cover + s.weights.cover*s.share(t)
	}
}

// share returns how much of the query a tool has, from 0 to 1.
func (s *search) share(t int) float64 { return min(1, s.matched[t]/s.total) }

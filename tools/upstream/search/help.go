package search

import (
	"slices"
	"strings"
)

const (
	weakShare = 0.4 // of the query; a hit with less of it is a near miss
	closeBy   = 0.8 // of the first hit's score; hits with more are as likely
	maxNarrow = 8
)

// help adds to results what helps to ask again.
func (s *search) help(r *Results) {
	for _, sl := range s.slots {
		if !sl.extra && (len(sl.alternatives) == 0 || sl.near != "") {
			r.Unknown = append(r.Unknown, Guess{sl.plain, sl.near})
		}
	}
	if len(r.Hits) == 0 {
		r.Weak = true
		return
	}
	r.Weak = s.total > 0 && s.share(r.Hits[0].Tool) < weakShare
	s.narrow(r)
}

// narrow finds what tells apart the hits that are as good as the first.
func (s *search) narrow(r *Results) {
	likely := r.Hits
	if !r.Weak {
		likely = likely[:1+slices.IndexFunc(append(r.Hits[1:len(r.Hits):len(r.Hits)], Hit{}), func(h Hit) bool { return h.Score < closeBy*r.Hits[0].Score })]
	}
	if len(likely) < 2 {
		return
	}
	asked := map[string]bool{}
	for _, sl := range s.slots {
		for _, key := range sl.keys {
			asked[key] = true
		}
	}
	var servers, terms []string
	count := map[string]int{}
	for _, h := range likely {
		e := &s.ix.tools[h.Tool]
		if name := s.ix.servers[e.server].name; !slices.Contains(servers, name) {
			servers = append(servers, name)
		}
		for _, w := range e.named {
			if word := s.ix.words[w.term]; word != "" && !asked[stem(word)] {
				if count[word] == 0 {
					terms = append(terms, word)
				}
				count[word]++
			}
		}
	}
	if len(servers) > 1 {
		r.Narrow = append(r.Narrow, servers[:min(len(servers), maxNarrow/2)]...)
	}
	for _, word := range terms {
		if len(r.Narrow) < maxNarrow && count[word] < len(likely) && !slices.ContainsFunc(r.Narrow, func(n string) bool { return strings.EqualFold(n, word) }) {
			r.Narrow = append(r.Narrow, word)
		}
	}
}

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
		if i := slices.IndexFunc(likely, func(h Hit) bool { return h.Score < closeBy*likely[0].Score }); i > 0 {
			likely = likely[:i]
		}
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
	var servers []string
	var terms []nameWord
	count := map[string]int{}
	for _, h := range likely {
		e := &s.ix.tools[h.Tool]
		if name := e.server; !slices.Contains(servers, name) {
			servers = append(servers, name)
		}
		for _, w := range e.named {
			if stem := s.ix.words[w.term]; !asked[stem] {
				if count[stem] == 0 {
					terms = append(terms, w)
				}
				count[stem]++
			}
		}
	}
	if len(servers) > 1 {
		r.Narrow = append(r.Narrow, servers[:min(len(servers), maxNarrow/2)]...)
	}
	for _, w := range terms {
		known := slices.ContainsFunc(r.Narrow, func(n string) bool { return strings.EqualFold(n, w.plain) })
		if !known && len(r.Narrow) < maxNarrow && count[s.ix.words[w.term]] < len(likely) {
			r.Narrow = append(r.Narrow, w.plain)
		}
	}
}

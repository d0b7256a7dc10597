package search

// weights say what counts how much.
type weights struct {
	// Of a word, by where it stands in a tool.
	name, joined, server, title, lead, rest, params, paramText, values, tags, about float64
	// part is the share of a part of a word, such as Hub of GitHub, in a text.
	part float64
	// k1 and b are BM25's: how soon more of a word says no more, and how much less
	// it says in a longer text.
	k1, b float64
	// Of what stands for a word of the query: a word that means the same, another
	// of the same concept, that where no tool has the word itself, a meaning the
	// query has already, a guess, two words as one, the very form of a word, text
	// in quotation marks and what that hints at.
	same, concept, only, repeat, near, pair, form, literal, hint float64
	// verb is the share of a verb, and verbMost bounds its rarity.
	verb, verbMost float64
	// Of what a tool is as a whole: it is of the server that the query names, does
	// what the query asks, does something else, changes something though the query
	// is a question; the query has its name, half for a word of the same concept,
	// both have a plural; it has all words of the query.
	serverBoost, agree, conflict, question, namePart, half, number, cover float64
}

// tuned are weights found by trial, on half of the queries of testdata. None is
// critical: with a quarter more or less of any, the scores stay about the same.
func tuned() weights {
	return weights{
		name: 2.5, joined: 1.5, server: 1.5, title: 2, lead: 1.2, rest: 0.9, params: 0.5, paramText: 0.25, values: 0.6, tags: 1, about: 0.5,
		part: 0.3, k1: 1.2, b: 0.5,
		same: 0.9, concept: 0.6, only: 1, repeat: 0.45, near: 0.6, pair: 0.3, form: 0.3, literal: 0.3, hint: 0.3,
		verb: 0.8, verbMost: 3.5,
		serverBoost: 1, agree: 0.15, conflict: 0.15, question: 0.35, namePart: 0.3, half: 0.8, number: 0.06, cover: 0.7,
	}
}

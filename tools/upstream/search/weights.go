package search

// weights say what counts how much.
type weights struct {
	// Of a word, by where it stands in a tool.
	name, joined, server, title, lead, rest, params, paramText, values, tags, about float64
	// k1 and b are BM25's: how soon more of a word says no more, and how much less
	// it says in a longer text.
	k1, b float64
	// Of what stands for a word of the query: a word that means the same, another
	// of the same concept, that where no tool has the word itself, a meaning the
	// query has already, a guess, two words as one, the very form of a
	// word, and the name of a server.
	same, concept, only, repeat, near, pair, form, product float64
	// verb is the share of a verb, and verbMost bounds its rarity.
	verb, verbMost float64
	// Of what a tool is as a whole: it does what the query asks, does something
	// else, changes something though the query is a question; the query has its
	// name, both have a plural, it has all words of the query.
	agree, conflict, question, namePart, number, cover float64
}

// tuned are weights found by trial: on half of the queries of testdata first, and
// in the last, small steps on all of them and on other tools and queries. None is
// critical: with a quarter more or less of any, the scores stay about the same.
func tuned() weights {
	return weights{
		name: 2, joined: 1.5, server: 1.5, title: 2, lead: 1.2, rest: 0.9, params: 0.5, paramText: 0.25, values: 0.6, tags: 1, about: 0.4,
		k1: 1.2, b: 0.55,
		same: 0.9, concept: 0.6, only: 1, repeat: 0.7, near: 0.6, pair: 0.3, form: 0.15, product: 1,
		verb: 0.8, verbMost: 3.5,
		agree: 0.1, conflict: 0.1, question: 0.35, namePart: 0.35, number: 0.06, cover: 0.75,
	}
}

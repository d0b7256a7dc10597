// Package linematch finds the lines of a text that match a pattern, at about
// the speed the text can be read.
//
// A pattern is RE2 syntax as in package regexp, or a fixed string, and is
// matched against one line at a time without its line ending, \n or \r\n. The
// result is that of regexp.Match on each line. It is found faster in two ways:
// where every match must contain one of a few literals, those are searched for
// in the whole buffer and only the lines that have one are looked at; and lines
// are looked at by a deterministic automaton, built as it is needed, that reads
// each byte once.
//
// [Scanner] works on a buffer, [Searcher] on a reader, with line numbers and
// lines of context. The package does no input or output of its own.
package linematch

package walk

import (
	"fmt"
	"io/fs"
)

// Limits that hold where [Options] names none.
const (
	DefaultMaxEntries = 5_000_000
	DefaultMaxDepth   = 10_000
)

const (
	maxOpenDirs   = 32   // directories the walk itself keeps open, besides the root
	keptProblems  = 16   // problems Stats describes; the others are only counted
	progressEvery = 4096 // entries between two calls of Options.Progress
)

// Options say what a walk visits and when it stops. The zero value visits all
// that is not hidden, in the order the system gives.
type Options struct {
	// MaxEntries is how many directory entries are read before the walk stops
	// descending and sets Stats.Truncated. 0 is DefaultMaxEntries.
	MaxEntries int
	// MaxDepth is how deep the walk goes; the entries of the first directory
	// have depth 1. 0 is DefaultMaxDepth. It also ends a cycle of mounts.
	MaxDepth int
	// Hidden includes names that start with a dot.
	Hidden bool
	// Sorted visits the entries of each directory by name, a directory compared
	// as if its name ended in a slash, and descends where the directory is met:
	// the files come in the byte order of their relative paths. Without it the
	// order is that of the system, and all entries of a directory come before
	// those of its subdirectories; then a directory of any size takes little
	// memory, unless Gitignore needs it whole.
	Sorted bool
	// Gitignore leaves out .git and what the .gitignore files and
	// .git/info/exclude say, from the walk's directory down.
	Gitignore bool
	// Above widens Gitignore to the rules above the walk.
	Above Above
	// DenyHardlinks keeps [Entry.Open] from opening a file that has several
	// names, of which others may be outside the walk.
	DenyHardlinks bool
	// Skip leaves out an entry and, if it is a directory, all below it.
	Skip func(*Entry) bool
	// Progress is called with the counts so far every few thousand entries, on
	// the goroutine that called Walk or Map.
	Progress func(Stats)
}

// Stats count what a walk did.
type Stats struct {
	Entries   int  // directory entries read, also those filtered out
	Dirs      int  // directories read
	Ignored   int  // entries left out by gitignore rules
	TooDeep   int  // directories not entered because of MaxDepth
	Truncated bool // MaxEntries was reached: there may be more
	// Unreadable counts directories and ignore files that could not be read, or
	// were moved away meanwhile; Problems describes the first of them.
	Unreadable int
	Problems   []error
}

// Problem is one directory or ignore file that could not be read.
type Problem struct {
	Path string // relative to the walk's directory, "." for itself
	Err  error
}

// Error names the path and the reason.
func (p *Problem) Error() string { return fmt.Sprintf("%s: %v", p.Path, p.Err) }

// Unwrap returns the reason.
func (p *Problem) Unwrap() error { return p.Err }

func (s *Stats) problem(path string, err error) {
	s.Unreadable++
	if len(s.Problems) < keptProblems {
		if path == "" {
			path = "."
		}
		s.Problems = append(s.Problems, &Problem{Path: path, Err: err})
	}
}

// Results of a visitor that steer the walk; any other error ends it and is
// returned by it.
var (
	// SkipDir keeps the walk from entering the directory just visited.
	SkipDir = fs.SkipDir
	// SkipAll ends the walk without an error.
	SkipAll = fs.SkipAll
)

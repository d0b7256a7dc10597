// Package walk visits the files below an open directory, quickly and without
// ever leaving it.
//
// Every step goes from one open directory descriptor to the next by a single
// name that must not be a symbolic link, so a directory or a link that is
// exchanged while the walk runs cannot lead it elsewhere, and a file that a
// visitor opens is the one in the directory that was read. Symbolic links are
// reported and never followed.
//
// A walk is bounded in entries, depth, open descriptors and memory, obeys its
// context, and goes on after a directory that cannot be read. [Walk] visits on
// the calling goroutine; [Map] lets several workers look into the files and
// still delivers in the order of the walk. The Gitignore
// option leaves out what git would.
package walk

// Package files provides the tools of the category file: they read, write,
// edit, list and search files.
//
// A tool reaches files only through the guard that the policy has for it (see
// [sandbox.Files]), and directory trees only by walking down from a directory
// such a guard has opened. Paths in results are spelled so that the caller can
// pass them to the next call: as the caller spelled them, or joined to the
// directory that was asked about.
package files

import (
	"toolserver/domain"
	"toolserver/sandbox"
	"toolserver/sandbox/pathguard"
)

// Options are what configuration says of the file tools.
type Options struct {
	// CreateDirs is the default of write_file's create_dirs.
	CreateDirs bool
	// SearchParents lets read_file look for a relative path that is not in the
	// working directory in the directories above it, up to the one that has a
	// .git, as far as the policy allows.
	SearchParents bool
	// Program is what append_file has append, see [pathguard.AppendOptions].
	Program string
	// MaxChars is how long an answer of read_file and edit_file may be, so that
	// the executor need not cut it; 0 is [domain.DefaultMaxResultChars].
	// Windows of files are measured in bytes of UTF-8, which are no fewer.
	MaxChars int
}

const category = "file"

// maxContent bounds what is written at once, in bytes.
const maxContent = 64 << 20

// minChars is the least MaxChars that leaves room for a line and a marker.
const minChars = 1000

// Tools returns the tools of the category file, confined to fs.
func Tools(fs *sandbox.Files, o Options) []domain.Tool {
	if o.MaxChars <= 0 {
		o.MaxChars = domain.DefaultMaxResultChars
	}
	o.MaxChars = max(o.MaxChars, minChars)
	s := &toolset{fs: fs, options: o, writing: newPathLocks()}
	return []domain.Tool{
		s.readFile(), s.writeFile(), s.appendFile(), s.editFile(),
		s.listDirectory(), s.searchFiles(), s.grep(),
	}
}

// toolset is what the file tools share.
type toolset struct {
	fs      *sandbox.Files
	options Options
	writing *pathLocks // by real path
}

// guard returns the guard of a tool: what it may write if it writes.
func (s *toolset) guard(tool string) *pathguard.Guard {
	switch tool {
	case "write_file", "append_file", "edit_file":
		return s.fs.Writer(tool)
	}
	return s.fs.Reader(tool)
}

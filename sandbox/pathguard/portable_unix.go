//go:build unix

package pathguard

import (
	"os"

	"golang.org/x/sys/unix"
)

// renameBetween renames what has a name in one directory to a name in another one.
func renameBetween(from portableDir, name string, to portableDir, as string) error {
	return between(from, to, func(from, to int) error { return unix.Renameat(from, name, to, as) })
}

// linkBetween gives a file a second name.
func linkBetween(from portableDir, name string, to portableDir, as string) error {
	return between(from, to, func(from, to int) error { return unix.Linkat(from, name, to, as, 0) })
}

func between(from, to portableDir, do func(from, to int) error) error {
	a, err := from.Open(".")
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := to.Open(".")
	if err != nil {
		return err
	}
	defer b.Close()
	return do(int(a.Fd()), int(b.Fd()))
}

// trueName returns the path of a file or directory that is reached without links as the file
// system has it: that is its only one here, except for the case of letters on macOS.
func trueName(path string) string { return path }

// isNamed reports whether an open file has the canonical path real.
func isNamed(*os.File, string) bool { return true }

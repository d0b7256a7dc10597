//go:build !darwin && !windows

package pathguard

// foldPath returns path in the form in which denied paths are compared. File
// names here are bytes, and every byte counts.
func foldPath(path string) string { return path }

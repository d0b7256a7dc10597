//go:build !linux

package pathguard

// hasName reports whether one of the names of path is bad.
func hasName(path string, bad func(name string) bool) bool {
	for _, name := range splitPath(path) {
		if bad(name) {
			return true
		}
	}
	return false
}

//go:build !linux && !windows

package pathguard

// platformAnchor returns how allowed directories are opened.
func platformAnchor() func(real string) (dir, error) { return openPortable }

// foreignName refuses names that mean something else than a file to the
// operating system.
func foreignName(path string) string {
	if hasName(path, func(name string) bool { return name == "..namedfork" }) {
		return "names a resource fork"
	}
	return ""
}

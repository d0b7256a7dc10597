//go:build linux && !amd64 && !arm64

package confine

// Numbers of calls differ between processors, and these are the ones that were
// looked at.
var arch architecture

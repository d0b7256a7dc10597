//go:build unix

package runner

import "strings"

// foreignText returns a line that is not UTF-8 with U+FFFD for what is not.
func foreignText(line []byte) string { return strings.ToValidUTF8(string(line), "\uFFFD") }

//go:build darwin || windows

package pathguard

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// foldPath returns path in the form in which denied paths are compared. The
// usual volumes here find a file under any case and any Unicode normal form
// of its name, so a deny rule must hold for all of them.
func foldPath(path string) string {
	return norm.NFC.String(strings.ToLower(norm.NFD.String(path)))
}

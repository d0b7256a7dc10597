package upstream

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxName is how long the name of a tool may be that all model providers accept.
const maxName = 64

// hashLength is how much of a hash tells names apart that were cut.
const hashLength = 8

// separator stands between the name of a server and that of its tool or prompt.
const separator = "__"

// OfferedName returns the name that clients see of an item of a server, which has
// letters, digits, dashes and underscores only. What would be too long is cut, and ends
// in a hash of the whole.
func OfferedName(server, name string) string {
	full := clean(server) + separator + clean(name)
	if len(full) <= maxName {
		return full
	}
	sum := sha256.Sum256([]byte(server + "\x00" + name))
	return full[:maxName-hashLength-1] + "_" + hex.EncodeToString(sum[:hashLength/2])
}

// alias returns the other name of the same item, as seed systems have it.
func alias(server, name string) string { return clean(server) + "_" + clean(name) }

// clean replaces what a name may not have.
func clean(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
}

// MayOffer reports whether a tool of that name can be one of a server: it begins as the
// names of its tools do, or their aliases.
func MayOffer(server, name string) bool {
	prefix := clean(server) + "_"
	return strings.HasPrefix(name, prefix[:min(len(prefix), maxName-hashLength-1)])
}

// Package passport makes the IDs of sessions that any replica with the same keys can go on with: what initialize has negotiated is in the ID, sealed.
package passport

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/keyring"
)

// Passport is what is known of a session from its beginning.
type Passport struct {
	ID      [16]byte // of the session in logs
	Made    time.Time
	Version string // of the protocol
	Asks    byte   // what its client can be asked and shows, in bits that do not change
	Client  string // its name and version, of which the beginning is kept
}

// purpose is what passports are sealed for.
const purpose = "session"

// A passport is sealed in this form:
//
//	1 byte    form, which is 1
//	16 bytes  hash of the ID of the principal
//	16 bytes  ID
//	8 bytes   when it was made, in microseconds of Unix time
//	1 byte    asks
//	1 byte    index of the protocol version in versions
//	the rest  client
const (
	form      = 1
	ownerAt   = 1
	idAt      = ownerAt + 16
	madeAt    = idAt + 16
	asksAt    = madeAt + 8
	versionAt = asksAt + 1
	clientAt  = versionAt + 1
	maxClient = 80
)

// versions have sessions.
var versions = [...]string{mcp.ProtocolVersion20241105, mcp.ProtocolVersion20250326, mcp.ProtocolVersion20250618, mcp.ProtocolVersion20251125}

// Seal returns the passport of a principal's session as a text, which nobody else's requests can use.
func (p *Passport) Seal(keys *keyring.Ring, principal string) string {
	owner := sha256.Sum256([]byte(principal))
	b := append(make([]byte, 0, clientAt+maxClient), form)
	b = append(append(b, owner[:idAt-ownerAt]...), p.ID[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(p.Made.UnixMicro()))
	b = append(b, p.Asks, byte(slices.Index(versions[:], p.Version)))
	return keys.Seal(purpose, append(b, p.Client[:min(len(p.Client), maxClient)]...))
}

// Open returns what the passport of a principal's session says. The error is one of package keyring.
func Open(keys *keyring.Ring, sealed, principal string) (*Passport, error) {
	b, err := keys.Open(purpose, sealed)
	if err != nil {
		return nil, err
	}
	owner := sha256.Sum256([]byte(principal))
	if len(b) < clientAt || b[0] != form || !bytes.Equal(b[ownerAt:idAt], owner[:idAt-ownerAt]) || int(b[versionAt]) >= len(versions) {
		return nil, keyring.ErrNotSealed
	}
	return &Passport{
		ID: [16]byte(b[idAt:]), Made: time.UnixMicro(int64(binary.BigEndian.Uint64(b[madeAt:]))),
		Version: versions[b[versionAt]], Asks: b[asksAt], Client: string(b[clientAt:]),
	}, nil
}

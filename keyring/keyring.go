// Package keyring seals what clients carry for the server: whoever has the same keys can open it, and nobody else can read, change or
// make it. Replicas with the same keys therefore need nothing else to go on with what another one began.
package keyring

import (
	"bytes"
	"cmp"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/chacha20poly1305"
)

// Key is a secret that replicas share, and the name that tells it from others in what is sealed.
type Key struct {
	ID     string // letters, digits and hyphens
	Secret []byte // random, in any form; see [CheckSecret]
}

// minSecret is how long a secret is at least: 256 bits in hexadecimal or Base64 are longer.
const minSecret = 32

// Ring is keys of which the first seals and all open. It is safe for concurrent use.
type Ring struct {
	keys   []sealer
	shared bool
}

// sealer is a key in use.
type sealer struct {
	id     string
	aead   cipher.AEAD  // XChaCha20-Poly1305: random nonces do not run out
	handle cipher.Block // AES-256
}

// Own returns a ring with a key of its own: what it seals cannot be opened when the process is gone.
func Own() *Ring {
	var secret [minSecret]byte
	rand.Read(secret[:]) // never fails
	return &Ring{keys: []sealer{newSealer(Key{Secret: secret[:]})}}
}

// New returns a ring with keys that others have, too. The first seals.
func New(keys []Key) *Ring {
	r := &Ring{shared: true}
	for _, k := range keys {
		r.keys = append(r.keys, newSealer(k))
	}
	return r
}

// CheckSecret reports what is wrong with a secret.
func CheckSecret(secret []byte) error {
	if n := len(bytes.TrimSpace(secret)); n < minSecret {
		return fmt.Errorf("the key has %d bytes, and needs %d at least: openssl rand -hex 32 makes one", n, minSecret)
	}
	return nil
}

func newSealer(k Key) sealer {
	derive := func(what string) []byte {
		b, _ := hkdf.Key(sha256.New, bytes.TrimSpace(k.Secret), nil, "toolserver "+what, 32) // fails for longer ones only
		return b
	}
	aead, _ := chacha20poly1305.NewX(derive("seal")) // fails for keys of other lengths only, as the next
	block, _ := aes.NewCipher(derive("handle"))
	return sealer{k.ID, aead, block}
}

// Shared reports whether others have the keys, too.
func (r *Ring) Shared() bool { return r.shared }

// Errors of [Ring.Open].
var (
	ErrUnknownKey = errors.New("it was sealed with a key that this server does not have")
	ErrNotSealed  = errors.New("it was not sealed by this server")
)

// Seal seals a text for a purpose. The result is of letters, digits and "-", "_" and ".".
func (r *Ring) Seal(purpose string, plain []byte) string {
	k := &r.keys[0]
	return k.prefix() + base64.RawURLEncoding.EncodeToString(k.seal(purpose, plain))
}

// SealBytes is [Ring.Seal] without the form of a text.
func (r *Ring) SealBytes(purpose string, plain []byte) []byte {
	k := &r.keys[0]
	return append([]byte(k.prefix()), k.seal(purpose, plain)...)
}

func (k *sealer) prefix() string {
	if k.id == "" {
		return ""
	}
	return k.id + "."
}

func (k *sealer) seal(purpose string, plain []byte) []byte {
	nonce := make([]byte, chacha20poly1305.NonceSizeX, chacha20poly1305.NonceSizeX+len(plain)+chacha20poly1305.Overhead)
	rand.Read(nonce) // never fails
	return k.aead.Seal(nonce, nonce, plain, []byte(purpose))
}

// Open returns what was sealed for a purpose. The error is [ErrUnknownKey] or [ErrNotSealed].
func (r *Ring) Open(purpose, sealed string) ([]byte, error) {
	k, rest, err := r.keyOf(sealed)
	if err != nil {
		return nil, err
	}
	box, err := base64.RawURLEncoding.Strict().DecodeString(rest)
	if err != nil {
		return nil, ErrNotSealed
	}
	return k.open(purpose, box)
}

// OpenBytes is [Ring.Open] of what [Ring.SealBytes] returned.
func (r *Ring) OpenBytes(purpose string, sealed []byte) ([]byte, error) {
	k, _, err := r.keyOf(string(sealed[:min(len(sealed), maxID+1)]))
	if err != nil {
		return nil, err
	}
	return k.open(purpose, sealed[len(k.prefix()):])
}

// maxID bounds the name of a key.
const maxID = 32

// keyOf returns the key that what is sealed names, and the rest.
func (r *Ring) keyOf(sealed string) (*sealer, string, error) {
	for i := range r.keys {
		if rest, ok := strings.CutPrefix(sealed, r.keys[i].prefix()); ok {
			return &r.keys[i], rest, nil
		}
	}
	if id, _, ok := strings.Cut(sealed, "."); ok && len(id) <= maxID {
		return nil, "", fmt.Errorf("%w: %q", ErrUnknownKey, id)
	}
	return nil, "", ErrNotSealed
}

func (k *sealer) open(purpose string, box []byte) ([]byte, error) {
	n := min(len(box), chacha20poly1305.NonceSizeX)
	if n < chacha20poly1305.NonceSizeX {
		return nil, ErrNotSealed
	}
	plain, err := k.aead.Open(nil, box[:n], box[n:], []byte(purpose))
	if err != nil {
		return nil, ErrNotSealed
	}
	return plain, nil
}

// handles are 26 letters and digits.
var handles = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// A Handle names something that a server keeps for somebody, and is as short as models can copy. One block of the cipher has all of it: whose it is,
// when and by which replica it was made, and random bits. Nobody without the keys learns or makes any of that, and who guesses is
// found out by the owner, which every look-up goes by besides.
type Handle struct {
	Made    time.Time // to the minute
	Replica string    // a hash of its name, see [ReplicaTag]
}

// Sizes of the parts of a handle.
const (
	ownerBytes = 6
	timeBytes  = 3
	tagBytes   = 2
)

// ReplicaTag is what a handle says of the replica that made it.
func ReplicaTag(replica string) string { return string(digest(replica)[:tagBytes]) }

func digest(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// epoch is from when on handles count minutes.
const epoch = 1_600_000_000

// NewHandle returns a handle that is made now for an owner by a replica.
func (r *Ring) NewHandle(owner, replica string) string {
	var b [aes.BlockSize]byte
	rand.Read(b[ownerBytes+timeBytes+tagBytes:]) // never fails
	copy(b[:], digest(owner)[:ownerBytes])
	var minutes [4]byte
	binary.BigEndian.PutUint32(minutes[:], uint32((time.Now().Unix()-epoch)/60))
	copy(b[ownerBytes:], minutes[1:])
	copy(b[ownerBytes+timeBytes:], ReplicaTag(replica))
	r.keys[0].handle.Encrypt(b[:], b[:])
	return handles.EncodeToString(b[:])
}

// OpenHandle returns what a handle says, and reports whether it is one of the owner's.
func (r *Ring) OpenHandle(owner, handle string) (h Handle, ok bool) {
	sealed, err := handles.DecodeString(handle)
	if err != nil || len(sealed) != aes.BlockSize {
		return h, false
	}
	for i := range r.keys {
		var b [aes.BlockSize]byte
		r.keys[i].handle.Decrypt(b[:], sealed)
		if bytes.Equal(b[:ownerBytes], digest(owner)[:ownerBytes]) {
			minutes := binary.BigEndian.Uint32(b[ownerBytes-1:]) & (1<<(8*timeBytes) - 1)
			h.Made = time.Unix(epoch+60*int64(minutes), 0)
			h.Replica = string(b[ownerBytes+timeBytes:][:tagBytes])
			return h, true
		}
	}
	return h, false
}

// CheckID reports what is wrong with the name of a key.
func CheckID(id string) error {
	plain := strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") == ""
	if id == "" || len(id) > maxID || !plain {
		return fmt.Errorf("%q is no name of a key: it has 1 to %d letters, digits and hyphens", cmp.Or(id, "(empty)"), maxID)
	}
	return nil
}

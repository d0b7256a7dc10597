package signin

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/zalando/go-keyring"
	"golang.org/x/crypto/scrypt"

	"toolserver/sandbox"
	"toolserver/tools/httpcall"
)

// owner is whose grant, or sign-in, for what.
type owner struct {
	principal string
	service   Service
}

// name returns what a grant is kept under: nothing of what callers are called is in it.
func (o owner) name() string {
	sum := sha256.Sum256([]byte(o.principal))
	return hex.EncodeToString(sum[:])[:40]
}

// label names a grant among those of all services.
func (o owner) label() string { return string(o.service) + " " + o.name() }

// Kinds of stores.
const (
	KindFile    = "file"
	KindKeyring = "keyring" // of the operating system
)

// Store keeps the grants of a service: in files that only this user can read, encrypted with a passphrase if there is one, or
// in the keyring of the operating system. What is kept in another way than is configured is an error: it is neither used nor
// overwritten.
type Store struct {
	kind  string
	state *sandbox.State // has the files, and the locks in any case
	keys  *keys          // nil if files are not encrypted
}

// NewStore returns a store of a kind. The passphrase encrypts files; "" leaves them plain.
func NewStore(kind string, state *sandbox.State, passphrase string) Store {
	s := Store{kind: kind, state: state}
	if passphrase != "" {
		s.keys = &keys{passphrase: []byte(passphrase), derived: map[string]cipher.AEAD{}}
	}
	return s
}

// Kept says where grants are, for people.
func (s Store) Kept() string {
	switch {
	case s.kind == KindKeyring:
		return "keyring of the operating system"
	case s.keys != nil:
		return "encrypted file"
	}
	return "file"
}

// forget is the remedy for what cannot be read.
const forget = "run toolserver auth google revoke and sign in again"

// storeFailure returns why a sign-in cannot be read or kept, with a remedy.
func storeFailure(s Service, why, remedy string) error {
	return &httpcall.Failure{Type: "io_error", Message: "the sign-in to " + s.Title() + " cannot be used: " + why, Hint: "Ask the person who runs the server to " + remedy + "."}
}

// read returns what is kept for an owner; [fs.ErrNotExist] if nothing is.
func (s Store) read(o owner) ([]byte, error) {
	if s.kind == KindKeyring {
		return onKeyring(o, func() ([]byte, error) {
			text, err := keyring.Get(keyringService, o.label())
			return []byte(text), err
		})
	}
	data, err := s.state.Read(o.name())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, storeFailure(o.service, err.Error(), "correct that")
	}
	var sealed sealedFile
	encrypted := json.Unmarshal(data, &sealed) == nil && sealed.Encrypted != ""
	switch {
	case !encrypted && s.keys == nil:
		return data, nil
	case !encrypted:
		return nil, storeFailure(o.service, "it is kept unencrypted, but google.token_key is set", forget+", which encrypts it, or unset google.token_key")
	case s.keys == nil:
		return nil, storeFailure(o.service, "it is kept encrypted, but google.token_key is not set", "set google.token_key to the key it was encrypted with, or "+forget)
	}
	if data, err = s.keys.open(sealed, o.label()); err != nil {
		return nil, storeFailure(o.service, "it is encrypted with another google.token_key, or damaged", "set google.token_key to the key it was encrypted with, or "+forget)
	}
	return data, nil
}

// write keeps data for an owner.
func (s Store) write(o owner, data []byte) (err error) {
	if s.kind == KindKeyring {
		_, err := onKeyring(o, func() ([]byte, error) { return nil, keyring.Set(keyringService, o.label(), string(data)) })
		return err
	}
	if s.keys != nil {
		if data, err = s.keys.seal(data, o.label()); err != nil {
			return storeFailure(o.service, err.Error(), "correct that")
		}
	}
	if err := s.state.Write(o.name(), data); err != nil {
		return storeFailure(o.service, err.Error(), "correct that")
	}
	return nil
}

// remove forgets what is kept for an owner, readable or not.
func (s Store) remove(o owner) error {
	if s.kind == KindKeyring {
		_, err := onKeyring(o, func() ([]byte, error) { return nil, keyring.Delete(keyringService, o.label()) })
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if err := s.state.Remove(o.name()); err != nil {
		return storeFailure(o.service, err.Error(), "correct that")
	}
	return nil
}

// lock waits for the lock of an owner's grant, which all processes share. The error is that of ctx, or a failure.
func (s Store) lock(ctx context.Context, o owner) (unlock func(), err error) {
	unlock, err = s.state.Lock(ctx, o.name())
	if err == nil || ctx.Err() != nil {
		return unlock, err
	}
	return nil, storeFailure(o.service, err.Error(), "correct that")
}

const (
	keyringService = "toolserver google"
	// keyringTime bounds a call of the keyring, which may ask the person to unlock it.
	keyringTime = 30 * time.Second
)

// onKeyring calls the keyring. Its interface has no deadline, so a call that hangs is left behind.
func onKeyring(o owner, call func() ([]byte, error)) ([]byte, error) {
	type answer struct {
		data []byte
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		data, err := call()
		done <- answer{data, err}
	}()
	var got answer
	select {
	case got = <-done:
	case <-time.After(keyringTime):
		got.err = errors.New("no answer in time")
	}
	switch {
	case errors.Is(got.err, keyring.ErrNotFound):
		return nil, fs.ErrNotExist
	case got.err != nil:
		return nil, storeFailure(o.service, "the keyring of the operating system is unavailable: "+got.err.Error(), "unlock it, or set google.token_store to file")
	}
	return got.data, nil
}

// sealedFile is a file that is encrypted.
type sealedFile struct {
	Encrypted string `json:"encrypted"` // how
	Salt      []byte `json:"salt"`
	Nonce     []byte `json:"nonce"`
	Data      []byte `json:"data"`
}

// Encryption: a key is derived from the passphrase in about 0.1 s and 32 MB, which makes guessing slow.
const (
	sealing    = "scrypt-32768-8-1+aes-256-gcm"
	saltSize   = 16
	maxDerived = 64 // keys that are kept
)

// keys derives keys from a passphrase and keeps them.
type keys struct {
	passphrase []byte

	mu      sync.Mutex
	salt    []byte // of what is written
	derived map[string]cipher.AEAD
}

// of returns what encrypts with the key of a salt. The caller has the lock.
func (k *keys) of(salt []byte) (cipher.AEAD, error) {
	if aead, ok := k.derived[string(salt)]; ok {
		return aead, nil
	}
	key, err := scrypt.Key(k.passphrase, salt, 32768, 8, 1, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	if len(k.derived) >= maxDerived {
		clear(k.derived)
	}
	k.derived[string(salt)] = aead
	return aead, nil
}

// seal encrypts data so that it can only be opened under the same label.
func (k *keys) seal(data []byte, label string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.salt == nil {
		k.salt = random(saltSize)
	}
	aead, err := k.of(k.salt)
	if err != nil {
		return nil, err
	}
	nonce := random(aead.NonceSize())
	return json.Marshal(sealedFile{sealing, k.salt, nonce, aead.Seal(nil, nonce, data, []byte(label))})
}

// open decrypts what seal made. Its salt is used for what is written next, which saves deriving another key.
func (k *keys) open(f sealedFile, label string) ([]byte, error) {
	if f.Encrypted != sealing || len(f.Salt) != saltSize {
		return nil, fmt.Errorf("unknown encryption %.40q", f.Encrypted)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	aead, err := k.of(f.Salt)
	if err != nil {
		return nil, err
	}
	if len(f.Nonce) != aead.NonceSize() {
		return nil, errors.New("wrong size of nonce")
	}
	data, err := aead.Open(nil, f.Nonce, f.Data, []byte(label))
	if err == nil && k.salt == nil {
		k.salt = f.Salt
	}
	return data, err
}

// random returns n bytes that nobody can guess.
func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}

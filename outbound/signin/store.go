package signin

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/zalando/go-keyring"
	"golang.org/x/crypto/scrypt"

	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/sandbox"
)

// Entry is what something is kept as in a [Store].
type Entry struct {
	Name  string // of its file and its lock
	Label string // tells it apart from all others of the store's kind: it can only be decrypted under that
	Title string // what is signed in to: "Gmail"
}

// KindKeyring is a store in the keyring of the operating system; any other is files.
const KindKeyring = "keyring"

// Keeping says how sign-ins are kept. config/settings.txt says what the keys mean.
type Keeping struct {
	Store string `yaml:"store" enum:"file|keyring"`
	Key   string `yaml:"key" secret:"true"`
}

// keySetting names the settings that have the key.
const keySetting = "sign_ins.key, or google.token_key,"

// StoreConfig is what a store is made from.
type StoreConfig struct {
	Keeping
	State   *sandbox.State // has the files, and the locks in any case
	Keyring string         // the name under which the keyring shows what is kept
	Forget  string         // the command that forgets what cannot be read
}

// Store keeps grants: in files that only this user can read, encrypted with a passphrase if there is one, or in the keyring of the
// operating system. What is kept in another way than is configured is an error: it is neither used nor overwritten.
type Store struct {
	StoreConfig
	keys *keys // nil if files are not encrypted
}

// NewStore returns a store.
func NewStore(c StoreConfig) Store {
	s := Store{StoreConfig: c}
	if c.Key != "" {
		s.keys = &keys{passphrase: []byte(c.Key), derived: map[string]cipher.AEAD{}}
	}
	return s
}

// Kept says where grants are, for people.
func (s Store) Kept() string {
	switch {
	case s.Store == KindKeyring:
		return "keyring of the operating system"
	case s.keys != nil:
		return "encrypted file"
	}
	return "file"
}

// fails returns why a sign-in cannot be read or kept, with a remedy.
func (s Store) fails(e Entry, why, remedy string) error {
	return &httpcall.Failure{
		Type: "io_error", Message: "the sign-in to " + e.Title + " cannot be used: " + why, Hint: "Ask the person who runs the server to " + remedy + ".",
	}
}

// Read returns what is kept for an owner; [fs.ErrNotExist] if nothing is.
func (s Store) Read(e Entry) ([]byte, error) {
	if s.Store == KindKeyring {
		return s.onKeyring(e, func() ([]byte, error) {
			text, err := keyring.Get(s.Keyring, e.Label)
			return []byte(text), err
		})
	}
	data, err := s.State.Read(e.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, s.fails(e, err.Error(), "correct that")
	}
	var sealed sealedFile
	forget := "run " + s.Forget + " and sign in again"
	reset := "set " + keySetting + " to the key it was encrypted with, or " + forget
	encrypted := json.Unmarshal(data, &sealed) == nil && sealed.Encrypted != ""
	switch {
	case !encrypted && s.keys == nil:
		return data, nil
	case !encrypted:
		return nil, s.fails(e, "it is kept unencrypted, but "+keySetting+" is set", forget+", which encrypts it, or unset that")
	case s.keys == nil:
		return nil, s.fails(e, "it is kept encrypted, but "+keySetting+" is not set", reset)
	}
	if data, err = s.keys.open(sealed, e.Label); err != nil {
		return nil, s.fails(e, "it is encrypted with another key, or damaged", reset)
	}
	return data, nil
}

// Write keeps data for an owner.
func (s Store) Write(e Entry, data []byte) (err error) {
	if s.Store == KindKeyring {
		_, err := s.onKeyring(e, func() ([]byte, error) { return nil, keyring.Set(s.Keyring, e.Label, string(data)) })
		return err
	}
	if s.keys != nil {
		if data, err = s.keys.seal(data, e.Label); err != nil {
			return s.fails(e, err.Error(), "correct that")
		}
	}
	if err := s.State.Write(e.Name, data); err != nil {
		return s.fails(e, err.Error(), "correct that")
	}
	return nil
}

// Remove forgets what is kept for an owner, readable or not.
func (s Store) Remove(e Entry) error {
	if s.Store == KindKeyring {
		_, err := s.onKeyring(e, func() ([]byte, error) { return nil, keyring.Delete(s.Keyring, e.Label) })
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if err := s.State.Remove(e.Name); err != nil {
		return s.fails(e, err.Error(), "correct that")
	}
	return nil
}

// Lock waits for the lock of an owner's grant, which all processes share. The error is that of ctx, or a failure.
func (s Store) Lock(ctx context.Context, e Entry) (unlock func(), err error) {
	unlock, err = s.State.Lock(ctx, e.Name)
	if err == nil || ctx.Err() != nil {
		return unlock, err
	}
	return nil, s.fails(e, err.Error(), "correct that")
}

// keyringTime bounds a call of the keyring, which may ask the person to unlock it.
const keyringTime = 30 * time.Second

// onKeyring calls the keyring. Its interface has no deadline, so a call that hangs is left behind.
func (s Store) onKeyring(e Entry, call func() ([]byte, error)) ([]byte, error) {
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
		return nil, s.fails(e, "the keyring of the operating system is unavailable: "+got.err.Error(), "unlock it, or set sign_ins.store to file")
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

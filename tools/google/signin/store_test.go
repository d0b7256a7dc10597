package signin

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"

	"toolserver/sandbox"
	"toolserver/tools/httpcall"
)

var ann = owner{"user:ann", Gmail}

// files returns what is in a state directory, except locks, by name.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	entries, err := os.ReadDir(filepath.Join(dir, "google"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".lock-") {
			continue
		}
		if all[e.Name()], err = os.ReadFile(filepath.Join(dir, "google", e.Name())); err != nil {
			t.Fatal(err)
		}
		if info, err := e.Info(); err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
			t.Errorf("%s: mode %v, %v", e.Name(), info.Mode(), err)
		}
	}
	return all
}

// TestStoreMatrix reads with each setting what each setting has written.
func TestStoreMatrix(t *testing.T) {
	passphrases := map[string]string{"plain": "", "one": "first passphrase", "other": "second passphrase"}
	problems := map[string]string{
		"plain one": "kept unencrypted", "plain other": "kept unencrypted",
		"one plain": "google.token_key is not set", "other plain": "google.token_key is not set",
		"one other": "another google.token_key", "other one": "another google.token_key",
	}
	secret := []byte(`{"refresh_token":"1//secret"}`)
	for writer, written := range passphrases {
		dir := filepath.Join(t.TempDir(), "state")
		if err := NewStore(KindFile, sandbox.NewState(dir, "google"), written).write(ann, secret); err != nil {
			t.Fatal(err)
		}
		before := files(t, dir)[ann.name()]
		if bytes.Contains(before, []byte("1//secret")) != (written == "") {
			t.Errorf("written by %s: %s", writer, before)
		}
		for reader, read := range passphrases {
			store := NewStore(KindFile, sandbox.NewState(dir, "google"), read)
			got, err := store.read(ann)
			problem := problems[writer+" "+reader]
			if problem == "" {
				if err != nil || !bytes.Equal(got, secret) {
					t.Errorf("%s reads what %s wrote: %q, %v", reader, writer, got, err)
				}
				continue
			}
			f, ok := errors.AsType[*httpcall.Failure](err)
			if !ok || f.Type != "io_error" || !strings.Contains(f.Message, problem) || !strings.Contains(f.Hint, forget) {
				t.Errorf("%s reads what %s wrote: %v; want %q", reader, writer, err, problem)
			}
			a := accountsOn(t, "", store)
			if err := a.replace(t.Context(), ann, &grant{Principal: ann.principal}); err == nil {
				t.Errorf("%s overwrites what %s wrote", reader, writer)
			}
			if _, err := a.Begin(ann.principal, ann.service); err == nil || !strings.Contains(err.Error(), problem) {
				t.Errorf("%s begins a sign-in that could not be kept: %v", reader, err)
			}
			if after := files(t, dir)[ann.name()]; !bytes.Equal(before, after) {
				t.Errorf("%s has changed what %s wrote", reader, writer)
			}
		}
	}
}

// TestStoreBound moves an encrypted file to another principal and another service, and damages it.
func TestStoreBound(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	store := NewStore(KindFile, sandbox.NewState(dir, "google"), "passphrase")
	if err := store.write(ann, []byte("text")); err != nil {
		t.Fatal(err)
	}
	sealed := files(t, dir)[ann.name()]
	bob := owner{"user:bob", Gmail}
	if err := store.state.Write(bob.name(), sealed); err != nil {
		t.Fatal(err)
	}
	for _, o := range []owner{bob, {ann.principal, Calendar}} {
		if got, err := store.read(o); err == nil {
			t.Errorf("%v reads %q", o, got)
		}
	}
	for _, damage := range [][2]string{{`"salt":"`, `"salt":"AAAA`}, {`"nonce":"`, `"nonce":"AAAA`}, {`"data":"`, `"data":"AAAA`}, {sealing, "rot13"}} {
		if err := store.state.Write(ann.name(), bytes.Replace(sealed, []byte(damage[0]), []byte(damage[1]), 1)); err != nil {
			t.Fatal(err)
		}
		if got, err := store.read(ann); err == nil {
			t.Errorf("%v: read %q", damage, got)
		}
	}
}

// TestStoreKeyring has no fallback when the keyring is unavailable, and tells the services apart.
func TestStoreKeyring(t *testing.T) {
	keyring.MockInit()
	dir := filepath.Join(t.TempDir(), "state")
	store := NewStore(KindKeyring, sandbox.NewState(dir, "google"), "")
	calendar := owner{ann.principal, Calendar}
	if err := errors.Join(store.write(ann, []byte("mail")), store.write(calendar, []byte("events"))); err != nil {
		t.Fatal(err)
	}
	if got, err := store.read(ann); err != nil || string(got) != "mail" {
		t.Errorf("read %q, %v", got, err)
	}
	if err := errors.Join(store.remove(ann), store.remove(ann)); err != nil {
		t.Error(err)
	}
	if _, err := store.read(ann); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was removed: %v", err)
	}
	if got, err := store.read(calendar); err != nil || string(got) != "events" {
		t.Errorf("the other service: %q, %v", got, err)
	}
	keyring.MockInitWithError(errors.New("no bus"))
	defer keyring.MockInit()
	for what, err := range map[string]error{
		"read":   func() error { _, err := store.read(ann); return err }(),
		"write":  store.write(ann, []byte("mail")),
		"remove": store.remove(ann),
	} {
		if err == nil || !strings.Contains(err.Error(), "keyring of the operating system is unavailable: no bus") {
			t.Errorf("%s without a keyring: %v", what, err)
		}
	}
	if found := files(t, dir); len(found) > 0 {
		t.Errorf("kept in files instead: %v", found)
	}
}

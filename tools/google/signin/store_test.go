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

	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/outbound/signin"
	"github.com/toolserver/toolserver/sandbox"
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
		"one plain": "google.token_key, is not set", "other plain": "google.token_key, is not set",
		"one other": "another key", "other one": "another key",
	}
	secret := []byte(`{"refresh_token":"1//secret"}`)
	for writer, written := range passphrases {
		dir := filepath.Join(t.TempDir(), "state")
		if err := fileStore(sandbox.NewState(dir, "google"), written).Write(ann.entry(), secret); err != nil {
			t.Fatal(err)
		}
		before := files(t, dir)[ann.entry().Name]
		if bytes.Contains(before, []byte("1//secret")) != (written == "") {
			t.Errorf("written by %s: %s", writer, before)
		}
		for reader, read := range passphrases {
			store := fileStore(sandbox.NewState(dir, "google"), read)
			got, err := store.Read(ann.entry())
			problem := problems[writer+" "+reader]
			if problem == "" {
				if err != nil || !bytes.Equal(got, secret) {
					t.Errorf("%s reads what %s wrote: %q, %v", reader, writer, got, err)
				}
				continue
			}
			f, ok := errors.AsType[*httpcall.Failure](err)
			if !ok || f.Type != "io_error" || !strings.Contains(f.Message, problem) || !strings.Contains(f.Hint, "toolserver auth google revoke") {
				t.Errorf("%s reads what %s wrote: %v; want %q", reader, writer, err, problem)
			}
			a := accountsOn(t, "", store)
			if err := a.grants[ann.service].Replace(t.Context(), string(ann.principal), &grant{Grant: signin.Grant{Principal: string(ann.principal)}}); err == nil {
				t.Errorf("%s overwrites what %s wrote", reader, writer)
			}
			if _, err := a.Begin(ann.principal, ann.service); err == nil || !strings.Contains(err.Error(), problem) {
				t.Errorf("%s begins a sign-in that could not be kept: %v", reader, err)
			}
			if after := files(t, dir)[ann.entry().Name]; !bytes.Equal(before, after) {
				t.Errorf("%s has changed what %s wrote", reader, writer)
			}
		}
	}
}

// TestStoreBound moves an encrypted file to another principal and another service, and damages it.
func TestStoreBound(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	store := fileStore(sandbox.NewState(dir, "google"), "passphrase")
	if err := store.Write(ann.entry(), []byte("text")); err != nil {
		t.Fatal(err)
	}
	sealed := files(t, dir)[ann.entry().Name]
	bob := owner{"user:bob", Gmail}
	if err := store.State.Write(bob.entry().Name, sealed); err != nil {
		t.Fatal(err)
	}
	for _, o := range []owner{bob, {ann.principal, Calendar}} {
		if got, err := store.Read(o.entry()); err == nil {
			t.Errorf("%v reads %q", o, got)
		}
	}
	for _, damage := range [][2]string{{`"salt":"`, `"salt":"AAAA`}, {`"nonce":"`, `"nonce":"AAAA`}, {`"data":"`, `"data":"AAAA`}, {"scrypt-32768-8-1+aes-256-gcm", "rot13"}} {
		if err := store.State.Write(ann.entry().Name, bytes.Replace(sealed, []byte(damage[0]), []byte(damage[1]), 1)); err != nil {
			t.Fatal(err)
		}
		if got, err := store.Read(ann.entry()); err == nil {
			t.Errorf("%v: read %q", damage, got)
		}
	}
}

// TestStoreKeyring has no fallback when the keyring is unavailable, and tells the services apart.
func TestStoreKeyring(t *testing.T) {
	keyring.MockInit()
	dir := filepath.Join(t.TempDir(), "state")
	store := signin.NewStore(signin.StoreConfig{Keeping: signin.Keeping{Store: signin.KindKeyring}, State: sandbox.NewState(dir, "google"), Keyring: "toolserver google"})
	calendar := owner{ann.principal, Calendar}
	if err := errors.Join(store.Write(ann.entry(), []byte("mail")), store.Write(calendar.entry(), []byte("events"))); err != nil {
		t.Fatal(err)
	}
	if got, err := store.Read(ann.entry()); err != nil || string(got) != "mail" {
		t.Errorf("read %q, %v", got, err)
	}
	if err := errors.Join(store.Remove(ann.entry()), store.Remove(ann.entry())); err != nil {
		t.Error(err)
	}
	if _, err := store.Read(ann.entry()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was removed: %v", err)
	}
	if got, err := store.Read(calendar.entry()); err != nil || string(got) != "events" {
		t.Errorf("the other service: %q, %v", got, err)
	}
	keyring.MockInitWithError(errors.New("no bus"))
	defer keyring.MockInit()
	for what, err := range map[string]error{
		"read":   func() error { _, err := store.Read(ann.entry()); return err }(),
		"write":  store.Write(ann.entry(), []byte("mail")),
		"remove": store.Remove(ann.entry()),
	} {
		if err == nil || !strings.Contains(err.Error(), "keyring of the operating system is unavailable: no bus") {
			t.Errorf("%s without a keyring: %v", what, err)
		}
	}
	if found := files(t, dir); len(found) > 0 {
		t.Errorf("kept in files instead: %v", found)
	}
}

// TestOldFile reads what older versions have kept.
func TestOldFile(t *testing.T) {
	g, a, store := world(t)
	g.refresh["1//old"] = true
	old := `{"client_id":"` + clientID + `","principal":"user:ann","email":"ann@example.com","scopes":["` + mailRead + `"],"access_token":"ya29.old","refresh_token":"1//old",` +
		`"token_type":"Bearer","expiry":"2026-01-02T04:04:05.123456789Z","created":"2026-01-02T03:04:05Z","refreshed":"2026-01-02T03:04:05Z"}`
	if err := store.Write(ann.entry(), []byte(old)); err != nil {
		t.Fatal(err)
	}
	token, err := a.Token(t.Context(), ann.principal, Gmail)
	if err != nil || token.Email != "ann@example.com" || token.Access == "ya29.old" || g.requests() != 1 {
		t.Errorf("%+v, %v", token, err)
	}
}

package keyring

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"
)

func ring(t testing.TB, ids ...string) *Ring {
	t.Helper()
	var keys []Key
	for _, id := range ids {
		keys = append(keys, Key{id, []byte(strings.Repeat(id, minSecret))})
	}
	return New(keys)
}

// TestRotation opens what was sealed with another key of the ring, and nothing else.
func TestRotation(t *testing.T) {
	first, both, second := ring(t, "k1"), ring(t, "k2", "k1"), ring(t, "k2")
	old := first.Seal("state", []byte("text"))
	raw := first.SealBytes("state", []byte("text"))
	for name, r := range map[string]*Ring{"first": first, "both": both} {
		if got, err := r.Open("state", old); err != nil || string(got) != "text" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if got, err := r.OpenBytes("state", raw); err != nil || string(got) != "text" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := second.Open("state", old); !errors.Is(err, ErrUnknownKey) || !strings.Contains(err.Error(), `"k1"`) {
		t.Error(err)
	}
	if _, err := first.Open("state", both.Seal("state", nil)); !errors.Is(err, ErrUnknownKey) {
		t.Error(err)
	}
	for i := range old {
		for _, c := range []byte{'A', 'b', '.', ' '} {
			if changed := old[:i] + string(c) + old[i+1:]; changed != old {
				if _, err := both.Open("state", changed); err == nil {
					t.Fatalf("%s was opened", changed)
				}
			}
		}
		if _, err := both.Open("state", old[:i]); err == nil {
			t.Fatalf("%s was opened", old[:i])
		}
		if _, err := both.OpenBytes("state", raw[:min(i, len(raw)-1)]); err == nil {
			t.Fatal("a part was opened")
		}
	}
	if _, err := both.Open("session", old); !errors.Is(err, ErrNotSealed) {
		t.Error("opened for another purpose", err)
	}
	if _, err := Own().Open("state", Own().Seal("state", nil)); err == nil {
		t.Error("opened what another process has sealed")
	}
}

// TestHandle tells whose a handle is.
func TestHandle(t *testing.T) {
	first, both := ring(t, "k1"), ring(t, "k2", "k1")
	h := first.NewHandle("token:ann", "replica-1")
	got, ok := both.OpenHandle("token:ann", h)
	if !ok || time.Since(got.Made).Abs() > 2*time.Minute || got.Replica != ReplicaTag("replica-1") || got.Replica == ReplicaTag("replica-2") {
		t.Errorf("%v, %+v", ok, got)
	}
	if len(h) != 26 || h == first.NewHandle("token:ann", "replica-1") {
		t.Error(h)
	}
	for _, wrong := range []string{"", "x", h[:25], h + "a", strings.ToUpper(h), "a" + h[1:], "b" + h[1:]} {
		if _, ok := both.OpenHandle("token:ann", wrong); ok && wrong != h {
			t.Errorf("%q was opened", wrong)
		}
	}
	if _, ok := both.OpenHandle("token:bob", h); ok {
		t.Error("it is Bob's, too")
	}
}

// TestSecrets refuses what is no secret.
func TestSecrets(t *testing.T) {
	if err := CheckSecret([]byte("  short" + strings.Repeat(" ", minSecret))); err == nil {
		t.Error("a short key")
	}
	if err := CheckSecret([]byte(strings.Repeat("0123456789abcdef", 4) + "\n")); err != nil {
		t.Error(err)
	}
	for id, ok := range map[string]bool{"k1": true, "2026-11": true, "": false, "a.b": false, "a b": false, strings.Repeat("a", maxID+1): false} {
		if err := CheckID(id); (err == nil) != ok {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	r := ring(b, "k1")
	sealed := r.Seal("session", make([]byte, 60))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Open("session", sealed); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSeal(b *testing.B) {
	r := ring(b, "k1")
	b.ReportAllocs()
	for b.Loop() {
		r.Seal("session", make([]byte, 60))
	}
}

// FuzzOpen checks that nothing opens but what was sealed.
func FuzzOpen(f *testing.F) {
	// The processes that fuzz have keys of their own: what one has sealed is nothing to another.
	r := New([]Key{{"k2", []byte(rand.Text() + rand.Text())}, {"k1", []byte(rand.Text() + rand.Text())}})
	good := r.Seal("state", []byte("text"))
	for _, seed := range []string{good, good[1:], good + "A", "k1." + good[3:], "", "k1.", "k2.AAAA", strings.Repeat("A", 1000), "\xff", "=="} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sealed string) {
		if plain, err := r.Open("state", sealed); err == nil && sealed != good {
			t.Errorf("%q opens as %q", sealed, plain)
		}
		_, _ = r.OpenBytes("state", []byte(sealed))
		_, _ = r.OpenHandle("ann", sealed)
	})
}

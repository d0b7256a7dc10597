package passport

import (
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/keyring"
)

// TestPassport opens what was sealed, for the same principal only.
func TestPassport(t *testing.T) {
	keys := keyring.Own()
	for _, version := range versions {
		p := Passport{ID: [16]byte{1, 2, 3}, Made: time.UnixMicro(1_800_000_000_123_456), Version: version, Asks: 5, Client: "Client 1.0"}
		sealed := p.Seal(keys, "token:ann")
		got, err := Open(keys, sealed, "token:ann")
		if err != nil || *got != p {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := Open(keys, sealed, "token:bob"); err == nil {
			t.Error("Bob's requests can use it")
		}
		if _, err := Open(keyring.Own(), sealed, "token:ann"); err == nil {
			t.Error("opened with other keys")
		}
	}
	p := Passport{Version: versions[3], Client: strings.Repeat("x", 500)}
	sealed := p.Seal(keys, "token:ann")
	if got, err := Open(keys, sealed, "token:ann"); err != nil || len(got.Client) != maxClient || len(sealed) > 300 {
		t.Errorf("%d characters, %v", len(sealed), err)
	}
	short := keys.Seal(purpose, []byte{form})
	other := keys.Seal(purpose, append([]byte{2}, make([]byte, 100)...))
	for _, bad := range []string{"", "x", sealed[:40], short, other} {
		if _, err := Open(keys, bad, "token:ann"); err == nil {
			t.Errorf("%q was opened", bad)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	keys := keyring.Own()
	p := Passport{Version: versions[3], Client: "claude-code 2.1.331"}
	sealed := p.Seal(keys, "token:ann")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Open(keys, sealed, "token:ann"); err != nil {
			b.Fatal(err)
		}
	}
}

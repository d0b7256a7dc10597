package store

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolserver/toolserver/keyring"
)

// TestMemory has a server that is alone count and remember by itself.
func TestMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ctx := New(), t.Context()
		stop, err := s.Start(Settings{}, "", 0)
		if err != nil || s.Shared() || s.State() != "" || !s.Reached() || s.Replicas() != 1 {
			t.Fatal(err, s.State())
		}
		defer stop()
		admitted := 0
		for range 100 {
			if wait, err := s.Take(ctx, "ann", 60, time.Now()); err == nil && wait == 0 {
				admitted++
			} else if wait > time.Second {
				t.Errorf("wait %v", wait)
			}
		}
		if admitted != 60 || s.Left("ann", 60) != 0 || s.Left("bob", 60) != 60 {
			t.Errorf("%d admitted, %v and %v left", admitted, s.Left("ann", 60), s.Left("bob", 60))
		}
		time.Sleep(10 * time.Second)
		if left := s.Left("ann", 60); left < 9.9 || left > 10.1 {
			t.Errorf("%v left after 10 s", left)
		}
		for i, want := range []bool{true, false, true} {
			if i == 2 {
				time.Sleep(time.Minute)
			}
			if first, err := s.Once(ctx, "ann", "x", time.Minute); first != want || err != nil {
				t.Errorf("%d: %v, %v", i, first, err)
			}
		}
		if first, _ := s.Once(ctx, "bob", "x", time.Minute); !first {
			t.Error("Bob's is Ann's")
		}
		begun := time.Now()
		s.Mark(ctx, "ann", "ended", time.Hour)
		if at, err := s.Marked(ctx, "ann", "ended"); !at.Equal(begun) || err != nil {
			t.Errorf("%v, %v", at, err)
		}
		if at, _ := s.Marked(ctx, "bob", "ended"); !at.IsZero() {
			t.Error("Bob's is Ann's")
		}
		if err := s.Put(ctx, "ann", "v", []byte("text"), time.Hour); err != nil {
			t.Error(err)
		}
		if v, err := s.Get(ctx, "ann", "v"); v != nil || err != nil {
			t.Errorf("%q, %v: nobody is there to share it with", v, err)
		}
		if s.Tell("", "x", nil) || s.Ask(ctx, "", "x", nil) != nil {
			t.Error("somebody is there")
		}
	})
}

// TestUnreachable has a server go by itself, or refuse, while nothing answers at the address of its store, of which others ask while it starts.
func TestUnreachable(t *testing.T) {
	for policy, refuses := range map[string]bool{Local: false, Refuse: true} {
		s, ctx := New(), t.Context()
		var told atomic.Int32
		s.Changed = func(error) { told.Add(1) }
		var asking sync.WaitGroup
		asking.Go(func() {
			for range 1000 {
				s.Tell("", "x", nil)
			}
		})
		stop, err := s.Start(Settings{URL: "redis://127.0.0.1:1", OnFailure: policy}, "", 0)
		if err != nil || !s.Shared() || s.Reached() || s.State() == "ok" || told.Load() != 1 {
			t.Errorf("%v, %s, told %d times", err, s.State(), told.Load())
		}
		asking.Wait()
		for i, want := range []bool{true, false} {
			if first, err := s.Once(ctx, "ann", "x", time.Minute); (err != nil) != refuses || first != (want && !refuses) {
				t.Errorf("%s %d: %v, %v", policy, i, first, err)
			}
		}
		if _, err := s.Take(ctx, "ann", 60, time.Now()); errors.Is(err, ErrUnavailable) != refuses {
			t.Error(policy, err)
		}
		if err := s.Put(ctx, "ann", "x", nil, time.Minute); !errors.Is(err, ErrUnavailable) {
			t.Error(err)
		}
		stop()
	}
}

// TestOtherKeys has it said, after a while, that there is a replica with other keys.
func TestOtherKeys(t *testing.T) {
	s, told := New(), ""
	s.differ = map[string]difference{}
	s.Version, s.Differs = func() string { return "1" }, func(replica, _ string) { told += replica }
	message := string(keyring.Own().SealBytes(sealedMessage, []byte("{}")))
	s.take(message)
	if told != "" {
		t.Errorf("told at once of %q", told)
	}
	for replica, d := range s.differ {
		d.since = d.since.Add(-2 * maxDelay)
		s.differ[replica] = d
	}
	s.take(message)
	s.take(message)
	if told != "one with other server.keys" {
		t.Errorf("told of %q", told)
	}
}

// TestMarksBounded has who marks most lose theirs.
func TestMarksBounded(t *testing.T) {
	s, ctx := New(), t.Context()
	s.Mark(ctx, "bob", "kept", time.Hour)
	for i := range maxMarks + 10 {
		s.Mark(ctx, "ann", strconv.Itoa(i), time.Hour)
	}
	if at, _ := s.Marked(ctx, "bob", "kept"); at.IsZero() {
		t.Error("Bob has lost his mark")
	}
	if at, _ := s.Marked(ctx, "ann", "0"); !at.IsZero() {
		t.Error("Ann has more than there is room for")
	}
}

// TestCheckURL names what is wrong with addresses, and no password in them.
func TestCheckURL(t *testing.T) {
	for text, ok := range map[string]bool{
		"": true, "redis://h": true, "redis://h:1/2": true, "rediss://u@h:6379/0": true, "valkey://h": true, "unix:///run/valkey.sock": true,
		"http://h": false, "h:6379": false, "redis://h/x": false, "redis://h/1/2": false,
		"redis://u:secret@h:x": false, "redis://:sec/ret@h": false, "redis://:1/secret@h": false, "redis://u:%secret@h": false,
	} {
		if err := CheckURL(text); (err == nil) != ok || err != nil && strings.Contains(err.Error(), "sec") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func BenchmarkTake(b *testing.B) {
	s, now := New(), time.Now()
	b.ReportAllocs()
	for b.Loop() {
		_, _ = s.Take(b.Context(), "ann", 1_000_000_000, now)
	}
}

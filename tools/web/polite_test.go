package web

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestPoliteness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hs := newHosts()
		ask := func(ctx context.Context, host string, own bool) error {
			release, err := hs.wait(ctx, host, own)
			if err == nil {
				release()
			}
			return err
		}
		start := time.Now()
		for range hostBurst + 20 {
			if err := ask(t.Context(), "a", false); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took < 1900*time.Millisecond || took > 2100*time.Millisecond {
			t.Errorf("%d requests took %v", hostBurst+20, took)
		}
		start = time.Now()
		for i := range 3 * hostBurst {
			if err := errors.Join(ask(t.Context(), "own", true), ask(t.Context(), fmt.Sprint("other", i), false)); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took > 0 {
			t.Errorf("others waited %v", took)
		}
		short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if err := ask(short, "a", false); !errors.Is(err, errBusyHost) {
			t.Errorf("%v", err)
		}
	})
}

// TestHostsAreForgotten asks more hosts than are remembered.
func TestHostsAreForgotten(t *testing.T) {
	hs := newHosts()
	release, err := hs.wait(t.Context(), "busy", false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2*maxHosts + 1 {
		other, err := hs.wait(t.Context(), fmt.Sprint(i), false)
		if err != nil {
			t.Fatal(err)
		}
		other()
	}
	if hs.known["busy"] == nil || len(hs.known) > maxHosts {
		t.Errorf("%d hosts, the one in use is among them: %v", len(hs.known), hs.known["busy"] != nil)
	}
	release()
	release()
	if hs.known["busy"].waiting != 0 {
		t.Errorf("%d wait", hs.known["busy"].waiting)
	}
}

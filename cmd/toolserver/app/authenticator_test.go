package app

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/toolserver/toolserver/server"
)

// TestRefusals floods the log of failed authentication from many addresses, beside one that
// guesses slowly.
func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.InfoLevel)
		r := &refusals{log: zap.New(core)}
		bad, none := &server.Challenge{Error: "invalid_token", Description: "the bearer token is not known"}, &server.Challenge{Description: "a bearer token is required"}
		from := func(address string, c *server.Challenge) { r.note(address, c) }
		lines := func() (all []string) {
			for _, e := range logs.TakeAll() {
				all = append(all, fmt.Sprintf("%s %s %v", e.Level, e.Message, e.ContextMap()))
			}
			return all
		}
		from("192.0.2.1", none)
		time.Sleep(2 * refusalsWindow)
		if got := lines(); len(got) != 1 || got[0] != "info authentication failed map[address:192.0.2.1 reason:a bearer token is required]" {
			t.Errorf("one without a token: %q", got)
		}
		for i := range 100_000 {
			from(fmt.Sprintf("10.%d.%d.1", i>>8&255, i&255), bad)
			from("2001:db8::1", bad)
		}
		if n := len(r.addresses); n != refusalsAddresses {
			t.Errorf("%d addresses are kept", n)
		}
		if got := lines(); len(got) != refusalsLogged || !strings.Contains(strings.Join(got, "\n"), "warn authentication failed map[address:2001:db8::1 ") {
			t.Errorf("a flood: %q", got)
		}
		time.Sleep(refusalsWindow)
		synctest.Wait()
		if got := lines(); len(got) != 1 || !strings.Contains(got[0], "addresses:64 attempts:200000 more_addresses:true most:100000 most_from:2001:db8::1") {
			t.Errorf("its end: %q", got)
		}
		for range 3 {
			from("192.0.2.1", bad)
		}
		r.close()
		from("192.0.2.1", bad)
		time.Sleep(2 * refusalsWindow)
		synctest.Wait()
		if got := lines(); len(got) != 2 || !strings.Contains(got[1], "attempts:3 ") {
			t.Errorf("when the server stops: %q", got)
		}
	})
}

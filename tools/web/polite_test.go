package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// open is a network that names hosts that begin with own.
type open struct{}

func (open) Client() *http.Client                     { return http.DefaultClient }
func (open) CheckURL(context.Context, *url.URL) error { return nil }
func (open) Lists() string                            { return "" }
func (open) ExplicitlyAllowed(u *url.URL) bool        { return strings.HasPrefix(u.Host, "own") }

func TestHostLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFetcher(open{}, nil, Options{})
		ask := func(host string) {
			release, err := f.limiter(&url.URL{Host: host}).Acquire(t.Context(), false)
			if err != nil {
				t.Fatal(err)
			}
			release()
		}
		start := time.Now()
		for range hostBurst + 20 {
			ask("a")
		}
		if took := time.Since(start).Round(time.Millisecond); took != 2*time.Second {
			t.Errorf("%d requests took %v", hostBurst+20, took)
		}
		start = time.Now()
		for i := range 3 * hostBurst {
			ask("own")
			ask(fmt.Sprint("other", i))
		}
		if took := time.Since(start); took > 0 {
			t.Errorf("others waited %v", took)
		}
	})
}

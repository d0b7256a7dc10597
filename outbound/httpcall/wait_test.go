package httpcall_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolserver/toolserver/outbound/httpcall"
)

func TestWaits(t *testing.T) {
	eachWay(t, func(t *testing.T, send func(context.Context, *httpcall.Service) (string, error)) {
		for header, want := range map[string]time.Duration{
			"Retry-After: 7": 7 * time.Second, "Retry-After: 0": 500 * time.Millisecond, "Retry-After: 1.5": 1500 * time.Millisecond,
			"Retry-After-Ms: 20": 20 * time.Millisecond,
			"Retry-After: " + time.Now().Add(time.Hour).UTC().Format(http.TimeFormat): time.Hour, "Retry-After: Sat, 01 Jan 2000 00:00:00 GMT": 500 * time.Millisecond,
		} {
			s := newService(status(429, header), status(200))
			if _, err := send(t.Context(), s.caller(1)); err != nil || len(s.came) != 2 || s.came[1]-s.came[0] > want || want-s.came[1] > time.Minute {
				t.Errorf("%s: requests at %v: %v", header, s.came, err)
			}
		}
		s := newService(status(503))
		_, err := send(t.Context(), s.caller(7))
		last, ok := errors.AsType[*httpcall.Failure](err)
		if !ok || last.Status != 503 || len(s.came) != 8 {
			t.Errorf("%d requests: %v", len(s.came), err)
		}
		for i, most := range []time.Duration{500, 1000, 2000, 4000, 8000, 8000, 8000} {
			most *= time.Millisecond
			if got := s.came[i+1] - s.came[i]; got > most || got < most*3/4 {
				t.Errorf("wait %d is %v, want at most %v, less up to a quarter", i, got, most)
			}
		}
	})
}

// TestNoTime has too little time for another attempt, and does not wait for it to
// pass.
func TestNoTime(t *testing.T) {
	eachWay(t, func(t *testing.T, send func(context.Context, *httpcall.Service) (string, error)) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		s := newService(status(429, "Retry-After: 5"))
		_, err := send(ctx, s.caller(3))
		if got, ok := errors.AsType[*httpcall.Failure](err); !ok || got.Status != 429 || len(s.came) != 1 || time.Since(s.start) != 0 {
			t.Errorf("%d requests, %v: %v", len(s.came), time.Since(s.start), err)
		}
		s = newService(status(429, "Retry-After: 2"))
		_, err = send(ctx, s.caller(5))
		if _, ok := errors.AsType[*httpcall.Failure](err); !ok || len(s.came) != 3 || time.Since(s.start) != 4*time.Second {
			t.Errorf("%d requests, %v: %v", len(s.came), time.Since(s.start), err)
		}
		s = newService(hangs)
		if _, err := send(ctx, s.caller(5)); !httpcall.IsTimeout(err) || len(s.came) != 1 || time.Since(s.start) != time.Second {
			t.Errorf("%d requests, %v: %v", len(s.came), time.Since(s.start), err)
		}
	})
}

func TestCanceled(t *testing.T) {
	eachWay(t, func(t *testing.T, send func(context.Context, *httpcall.Service) (string, error)) {
		for name, answer := range map[string]func(*http.Request) (*http.Response, error){"asking": hangs, "waiting": status(503, "Retry-After: 3600")} {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			s := newService(answer)
			if _, err := send(ctx, s.caller(5)); !errors.Is(err, context.Canceled) || len(s.came) != 1 || time.Since(s.start) != time.Second {
				t.Errorf("while %s: %d requests, %v: %v", name, len(s.came), time.Since(s.start), err)
			}
		}
	})
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(hangs)
		if _, err := ways["Do"](t.Context(), s.caller(0)); !httpcall.IsTimeout(err) || time.Since(s.start) != 10*time.Second {
			t.Errorf("%v: %v", time.Since(s.start), err)
		}
		// What came of an answer that is an error is not lost.
		s = newService(func(req *http.Request) (*http.Response, error) {
			res, err := status(400)(req)
			res.Body = io.NopCloser(io.MultiReader(res.Body, hanging{req.Context()}))
			return res, err
		})
		_, err := ways["Do"](t.Context(), s.caller(0))
		if got, ok := errors.AsType[*httpcall.Failure](err); !ok || got.Status != 400 {
			t.Errorf("%v: %v", time.Since(s.start), err)
		}
	})
}

// hanging is a body that does not come.
type hanging struct{ ctx context.Context }

func (h hanging) Read([]byte) (int, error) {
	<-h.ctx.Done()
	return 0, h.ctx.Err()
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		after, ms string
		want      time.Duration
		ok        bool
	}{
		{"", "", 0, false}, {"0", "", 0, true}, {"7", "", 7 * time.Second, true}, {" 7 ", "", 7 * time.Second, true},
		{"0.25", "", 250 * time.Millisecond, true},
		{"", "0", 0, true}, {"", "1500", 1500 * time.Millisecond, true}, {"9", "1.5", 1500 * time.Microsecond, true},
		{"9", "soon", 9 * time.Second, true}, {"9", "-1", 9 * time.Second, true},
		{"Sat, 21 Nov 2026 12:00:30 GMT", "", 30 * time.Second, true}, {"Saturday, 21-Nov-26 12:01:00 GMT", "", time.Minute, true},
		{"Sat Nov 21 13:00:00 2026", "", time.Hour, true},
		{"Sat, 21 Nov 2026 11:59:00 GMT", "", 0, true}, {"-7", "", 0, false}, {"soon", "", 0, false}, {"NaN", "", 0, false},
		{"Inf", "", 0, false}, {"1e300", "", 0, false},
		{"99999999999999999999", "", 0, false}, {"7 seconds", "", 0, false}, {"", "NaN", 0, false}, {"", "Inf", 0, false},
		{"", "1e300", 0, false}, {"999999999", "", 999999999 * time.Second, true},
	} {
		h := http.Header{}
		h.Set("Retry-After", tt.after)
		h.Set("Retry-After-Ms", tt.ms)
		if got, ok := httpcall.RetryAfter(h, now); got != tt.want || ok != tt.ok {
			t.Errorf("%q, %q: got %v, %t", tt.after, tt.ms, got, ok)
		}
	}
}

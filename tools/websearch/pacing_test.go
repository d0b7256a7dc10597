package websearch_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	fake "github.com/toolserver/toolserver/test/fakes/search"

	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/test/tooltest"
)

// parallel makes calls at the same time, and returns how many ended with each error type, "" being success.
func parallel(t *testing.T, exec *call.Executor, n int) map[string]int {
	t.Helper()
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		types = map[string]int{}
	)
	for range n {
		wg.Go(func() {
			res, err := runSearch(t.Context(), t, exec, `{"query":"few"}`)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
				return
			}
			structured(t, res)
			types[res.ErrorType()]++
		})
	}
	wg.Wait()
	return types
}

// refused returns how many requests the service turned down.
func refused(s *fake.Service) (n int) {
	for _, r := range s.Requests() {
		if r.Status != http.StatusOK {
			n++
		}
	}
	return n
}

// TestParallel makes calls at the same time of a Brave that allows few.
func TestParallel(t *testing.T) {
	for _, test := range []struct {
		name        string
		calls, rate int
		failed      int
		within      time.Duration
	}{
		{"one per second", 10, 1, 0, 11 * time.Second},
		{"as many as there is time for", 29, 1, 0, 30 * time.Second},
		{"more than there is time for", 40, 1, 11, 30 * time.Second},
		{"twenty per second", 10, 20, 0, 2 * time.Second},
		{"fifty per second", 100, 50, 0, 4 * time.Second},
		{"no limit", 10, 0, 0, 11 * time.Second}, // it says nothing, and might have one
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tool, fakes := inProcess(t, fake.Options{Rate: test.rate}, "brave")
				began := time.Now()
				types := parallel(t, tooltest.Executor(t, tool), test.calls)
				if types[""] != test.calls-test.failed || types["rate_limited"] != test.failed || time.Since(began) > test.within {
					t.Errorf("%v after %v; want %d failures within %v", types, time.Since(began), test.failed, test.within)
				}
				if n := refused(fakes["brave"]); n != 0 {
					t.Errorf("the service refused %d requests", n)
				}
			})
		})
	}
}

// TestParallelInRealTime is TestParallel with a real clock and a real network.
func TestParallelInRealTime(t *testing.T) {
	tool, fakes := overNetwork(t, fake.Options{Rate: 20, Window: time.Second}, "brave")
	if types := parallel(t, tooltest.Executor(t, tool), 10); types[""] != 10 {
		t.Errorf("%v", types)
	}
	if n := refused(fakes["brave"]); n != 0 {
		t.Errorf("the service refused %d requests", n)
	}
}

// TestToldAtOnce has a call that would wait in vain.
func TestToldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tool, _ := inProcess(t, fake.Options{Rate: 1}, "brave")
		exec := tooltest.Executor(t, tool)
		var wg sync.WaitGroup
		for range 32 {
			wg.Go(func() { _, _ = runSearch(t.Context(), t, exec, `{"query":"few"}`) })
		}
		time.Sleep(1500 * time.Millisecond) // as long as it takes to learn the rate
		for range 2 {                       // there is still room for one
			wg.Go(func() { _, _ = runSearch(t.Context(), t, exec, `{"query":"few"}`) })
		}
		synctest.Wait()
		began := time.Now()
		res, err := runSearch(t.Context(), t, exec, `{"query":"few"}`)
		if err != nil || res.ErrorType() != "rate_limited" || time.Since(began) != 0 {
			t.Errorf("after %v: %v, %s", time.Since(began), err, tooltest.Text(res))
		}
		wg.Wait()
	})
}

// TestCanceledInQueue has a call give up while it waits for its turn; those behind it move up.
func TestCanceledInQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tool, fakes := inProcess(t, fake.Options{Rate: 1}, "brave")
		exec := tooltest.Executor(t, tool)
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		var wg sync.WaitGroup
		for i := range 10 {
			of := t.Context()
			if 2 <= i && i < 8 {
				of = ctx
			}
			wg.Go(func() {
				_, err := runSearch(of, t, exec, `{"query":"few"}`)
				if canceled := err != nil; canceled != (of == ctx) {
					t.Errorf("call %d: %v", i, err)
				}
			})
			synctest.Wait() // so that they stand in line in this order
		}
		cancel()
		wg.Wait()
		if took, n := time.Since(began), len(fakes["brave"].Requests()); took > 4*time.Second || n != 4 {
			t.Errorf("4 calls took %v and %d requests", took, n)
		}
	})
}

// TestSharedKey has somebody else use the key: what is refused for that is asked again.
func TestSharedKey(t *testing.T) {
	for _, name := range []string{"brave", "searxng", "tavily"} {
		synctest.Test(t, func(t *testing.T) {
			tool, fakes := inProcess(t, fake.Options{Rate: 1}, name)
			done := make(chan struct{})
			var wg sync.WaitGroup
			wg.Go(func() {
				client := &http.Client{Transport: fake.Transport(fakes[name])}
				for i := 0; i < 3; i++ {
					ask(t, client, name)
					select {
					case <-done:
						return
					case <-time.After(900 * time.Millisecond):
					}
				}
			})
			if types := parallel(t, tooltest.Executor(t, tool), 3); types[""] != 3 {
				t.Errorf("%s: %v", name, types)
			}
			close(done)
			wg.Wait()
		})
	}
}

// ask sends a good request as another program would.
func ask(t *testing.T, client *http.Client, name string) {
	tool := tool(t, client, options(func(string) string { return "http://" + name + ".test" }, name))
	_, _ = runSearch(t.Context(), t, tooltest.Executor(t, tool), `{"query":"few"}`)
}

// TestQuota uses up a quota: nothing is asked in vain from then on until it is renewed.
func TestQuota(t *testing.T) {
	for _, name := range []string{"brave", "tavily"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tool, fakes := inProcess(t, fake.Options{Rate: 50, Quota: 3, Reset: time.Hour}, name)
				exec := tooltest.Executor(t, tool)
				types := parallel(t, exec, 8)
				if types[""] != 3 || types["quota_exceeded"] != 5 {
					t.Errorf("%v", types)
				}
				if n := refused(fakes[name]); n > 1 {
					t.Errorf("%d requests were sent in vain", n)
				}
				before := fakes[name].Arrived()
				for range 3 {
					res := tooltest.Call(t, tool, `{"query":"few"}`)
					if res.ErrorType() != "quota_exceeded" {
						t.Error(tooltest.Text(res))
					}
				}
				if n := fakes[name].Arrived(); n != before {
					t.Errorf("%d requests although the quota is used up", n-before)
				}
				time.Sleep(time.Hour + time.Second)
				tooltest.Call(t, tool, `{"query":"few"}`)
				if n := fakes[name].Arrived(); n != before+1 {
					t.Errorf("%d requests once it is renewed", n-before)
				}
			})
		})
	}
}

// TestQuotaProbe asks a service whose quota is used up for weeks once an hour, and again as usual once it answers.
func TestQuotaProbe(t *testing.T) {
	for _, name := range []string{"brave", "tavily"} {
		synctest.Test(t, func(t *testing.T) {
			tool, fakes := inProcess(t, fake.Options{Rate: 50, Quota: 1, Reset: 16 * 24 * time.Hour}, name)
			exec := tooltest.Executor(t, tool)
			for range 2 { // Brave says with the first answer that nothing is left
				parallel(t, exec, 1)
			}
			want := fakes[name].Arrived()
			text := tooltest.Text(tooltest.Call(t, tool, `{"query":"few"}`))
			if !strings.Contains(text, "it is asked again in 60 minutes.") || name == "brave" && !strings.Contains(text, "the quota is renewed in 16 days, or when the plan") {
				t.Errorf("%s: %s", name, text)
			}
			for hour := range 3 {
				time.Sleep(30 * time.Minute)
				if types := parallel(t, exec, 5); types["quota_exceeded"] != 5 || fakes[name].Arrived() != want {
					t.Errorf("%s, within hour %d: %v, %d requests", name, hour, types, fakes[name].Arrived()-want)
				}
				time.Sleep(30*time.Minute + time.Second)
				want++
				if types := parallel(t, exec, 5); types["quota_exceeded"] != 5 || fakes[name].Arrived() != want {
					t.Errorf("%s, after hour %d: %v, %d requests", name, hour, types, fakes[name].Arrived()-want)
				}
			}
			fakes[name].Extend(100)
			time.Sleep(time.Hour + time.Second)
			if types := parallel(t, exec, 5); types[""] != 5 {
				t.Errorf("%s, once the plan is extended: %v", name, types)
			}
		})
	}
}

// TestNotHeldBack has a service that limits its rate be passed over for the next one, for as long as it asks to be left alone, and
// one that does not say how long be asked once.
func TestNotHeldBack(t *testing.T) {
	for _, name := range []string{"searxng", "tavily"} {
		synctest.Test(t, func(t *testing.T) {
			tool, fakes := inProcess(t, fake.Options{Rate: 1, Window: time.Minute}, name, "duckduckgo")
			exec := tooltest.Executor(t, tool)
			began := time.Now()
			for range 4 { // the first is answered by the first service
				parallel(t, exec, 1)
			}
			if took, n := time.Since(began), fakes[name].Arrived(); took > 5*time.Second || n != 2 {
				t.Errorf("%s: 4 calls took %v, and there were %d requests", name, took, n)
			}
			fakes[name].SetTrouble(fake.TooMany)
			time.Sleep(2 * time.Minute)
			before := fakes[name].Arrived()
			began = time.Now()
			res := tooltest.Call(t, tool, `{"query":"few"}`)
			if n := fakes[name].Arrived() - before; n != 1 || structured(t, res).Provider != "duckduckgo" || time.Since(began) > time.Second {
				t.Errorf("%s: %d requests and %v, %s", name, n, time.Since(began), tooltest.Text(res))
			}
		})
	}
}

// TestRefusedForLong has services that want to be left alone for longer than a call may take. The call that finds out says what
// the service said; those after it are told at once.
func TestRefusedForLong(t *testing.T) {
	const inVain = " limits the rate of requests: this request could be sent in "
	for name, want := range map[string][]string{
		"brave":   {"Error: Brave Search API" + inVain + "1m3s. ", "Error: Brave Search API" + inVain},
		"searxng": {"Error: HTTP 429 from SearXNG: its limiter holds this server back. ", "Error: SearXNG" + inVain + "1m0s. "},
		"tavily":  {"Error: HTTP 429 from Tavily API: it was asked too often. ", "Error: Tavily API" + inVain + "1m0s. "},
	} {
		synctest.Test(t, func(t *testing.T) {
			tool, fakes := inProcess(t, fake.Options{Rate: 1, Window: time.Minute}, name)
			tooltest.Call(t, tool, `{"query":"few"}`)
			began := time.Now()
			for _, prefix := range want {
				res := tooltest.Call(t, tool, `{"query":"few"}`)
				if text := tooltest.Text(res); res.ErrorType() != "rate_limited" || !strings.HasPrefix(text, prefix) {
					t.Errorf("%s: %s; want %s", res.ErrorType(), text, prefix)
				}
			}
			if took, n := time.Since(began), fakes[name].Arrived(); took > time.Second || n > 2 {
				t.Errorf("%s: the calls took %v, and there were %d requests", name, took, n)
			}
		})
	}
}

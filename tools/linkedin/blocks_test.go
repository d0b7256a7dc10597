package linkedin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	fake "github.com/toolserver/toolserver/test/fakes/linkedin"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/test/tooltest"
)

// TestBlocks ends a search at once with what was gathered and the reason.
func TestBlocks(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer func(*http.Request) *fake.Answer
		kind   string
		what   string // of the failure, after the error's text
		reason string // of the partial result
	}{
		{"429", func(*http.Request) *fake.Answer { return fake.TooManyRequests("") }, "rate_limited", "Error fetching LinkedIn jobs: HTTP 429 (too many requests)",
			"LinkedIn answered HTTP 429 (too many requests) on page 2. 10 jobs were gathered before. Wait 5m0s before you ask again."},
		{"429 with time", func(*http.Request) *fake.Answer { return fake.TooManyRequests("90") }, "rate_limited", "Error fetching LinkedIn jobs: HTTP 429 (too many requests)",
			"LinkedIn answered HTTP 429 (too many requests) on page 2. 10 jobs were gathered before. Wait 1m30s before you ask again."},
		{"999", func(*http.Request) *fake.Answer { return fake.RequestDenied() }, "blocked", "Error fetching LinkedIn jobs: HTTP 999 (request denied)",
			"LinkedIn answered HTTP 999 (request denied) on page 2. 10 jobs were gathered before. " + hintBlocked},
		{"authwall", fake.Authwall, "blocked", "Error searching LinkedIn jobs: LinkedIn redirected to its login wall (/authwall)",
			"LinkedIn redirected to its login wall (/authwall) on page 2. 10 jobs were gathered before. " + hintBlocked},
		{"CAPTCHA", func(*http.Request) *fake.Answer { return fake.Captcha() }, "blocked", "Error searching LinkedIn jobs: LinkedIn answered with a CAPTCHA or login page",
			"LinkedIn answered with a CAPTCHA or login page on page 2. 10 jobs were gathered before. " + hintBlocked},
		{"403", func(*http.Request) *fake.Answer { return fake.Status(403) }, "blocked", "Error fetching LinkedIn jobs: HTTP 403 (forbidden)",
			"LinkedIn answered HTTP 403 (forbidden) on page 2."},
		{"500", func(*http.Request) *fake.Answer { return fake.Status(500) }, "http_status", "Error fetching LinkedIn jobs: HTTP 500 (internal server error)",
			"LinkedIn answered HTTP 500 (internal server error) on page 2. 10 jobs were gathered before. Try again later."},
		{"other page", func(*http.Request) *fake.Answer { return &fake.Answer{Status: 200, Body: "<h1>Hello</h1>"} }, "bad_answer",
			"Error searching LinkedIn jobs: LinkedIn answered with a page in which no jobs can be found", "LinkedIn answered with a page in which no jobs can be found on page 2."},
	} {
		t.Run(test.name, func(t *testing.T) {
			onPage := func(page int) pair {
				return serve(t, fake.Options{Jobs: fake.Jobs(40), Answer: func(n int, r *http.Request) *fake.Answer {
					if n == page {
						return test.answer(r)
					}
					return nil
				}})
			}
			p := onPage(1)
			tooltest.Run(t, p.jobs, []tooltest.Case{{Name: "at once", Args: `{"keyword":"x","limit":30}`, ErrorType: test.kind, Want: test.what}})
			if n := len(p.site.Requests()); n != 1 {
				t.Errorf("%d requests; want 1", n)
			}
			p = onPage(2)
			res := tooltest.Call(t, p.jobs, `{"keyword":"x","limit":30}`)
			r := results(t, res)
			if len(r.Jobs) != 10 || !r.Partial || r.StoppedBy != test.kind || !strings.HasPrefix(r.Reason, test.reason) || r.NextStart != 10 || res.IsError {
				t.Errorf("%d jobs, partial %v, by %s, next %d, error %v: %s", len(r.Jobs), r.Partial, r.StoppedBy, r.NextStart, res.IsError, r.Reason)
			}
			if text := tooltest.Text(res); !strings.HasSuffix(text, "\n\n[Stopped early: "+r.Reason+"]") || !strings.HasPrefix(text, "1. Go Developer 1\n") {
				t.Errorf("text %q", text)
			}
			if n := len(p.site.Requests()); n != 2 {
				t.Errorf("%d requests; want 2", n)
			}
		})
	}
}

// TestOneJobGathered says so in the singular.
func TestOneJobGathered(t *testing.T) {
	p := serve(t, fake.Options{Jobs: fake.Jobs(3), Pages: []int{1, 1, 1}, Answer: func(n int, _ *http.Request) *fake.Answer {
		if n == 2 {
			return fake.RequestDenied()
		}
		return nil
	}})
	if r := results(t, tooltest.Call(t, p.jobs, `{"keyword":"x"}`)); !strings.Contains(r.Reason, ". 1 job was gathered before. ") {
		t.Error(r.Reason)
	}
}

// handlerTransport answers requests without a network, so that time stands still
// meanwhile in a bubble of [synctest].
type handlerTransport struct{ handler http.Handler }

func (h handlerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.handler.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// bubble returns the tools for a test in a bubble, over handler.
func bubble(t testing.TB, handler http.Handler, interval time.Duration) (jobs, detail domain.Tool) {
	t.Helper()
	client := &http.Client{
		Transport:     handlerTransport{handler},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	tools := tooltest.Tools(t, Family(), declare.From[Options]{Client: tooltest.Client(client), Config: Options{BaseURL: DefaultBaseURL, Interval: interval}})
	return tools[0], tools[1]
}

// runTool calls a tool without an executor.
func runTool(ctx context.Context, t testing.TB, tool domain.Tool, args string) (domain.ToolResult, error) {
	t.Helper()
	arguments, err := tool.Input.Arguments(json.RawMessage(args))
	if err != nil {
		t.Fatal(err)
	}
	return tool.Run(ctx, arguments)
}

// clocked notes when requests come.
type clocked struct {
	http.Handler
	mu    sync.Mutex
	times []time.Time
}

func (c *clocked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.times = append(c.times, time.Now())
	c.mu.Unlock()
	c.Handler.ServeHTTP(w, r)
}

// TestPause keeps the interval between requests, whichever calls and tools they
// belong to.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := &clocked{Handler: fake.Handler(fake.Options{Jobs: fake.Jobs(40)})}
		jobs, detail := bubble(t, site, 2*time.Second)
		start := time.Now()
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				if res, err := runTool(t.Context(), t, jobs, `{"keyword":"x","limit":20}`); err != nil || res.IsError {
					t.Errorf("%v, %s", err, tooltest.Text(res))
				}
			})
			group.Go(func() {
				if res, err := runTool(t.Context(), t, detail, `{"url":"4012345001"}`); err != nil || res.IsError {
					t.Errorf("%v, %s", err, tooltest.Text(res))
				}
			})
		}
		group.Wait()
		if len(site.times) != 9 || time.Since(start) != 16*time.Second {
			t.Errorf("%d requests in %v; want 9 in 16s", len(site.times), time.Since(start))
		}
		for i := 1; i < len(site.times); i++ {
			if gap := site.times[i].Sub(site.times[i-1]); gap < 2*time.Second {
				t.Errorf("request %d came %v after the one before", i, gap)
			}
		}
	})
}

// TestCooling leaves LinkedIn alone after a block, as long as it takes and no
// longer, for both tools.
func TestCooling(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer *fake.Answer
		cool   time.Duration
		kind   string
		want   string // half a minute later
	}{
		{"429", fake.TooManyRequests(""), 5 * time.Minute, "rate_limited", ": HTTP 429 (too many requests) 30s ago, so no request is sent for another 4m30s"},
		{"429 with time", fake.TooManyRequests("120"), 2 * time.Minute, "rate_limited", ": HTTP 429 (too many requests) 30s ago, so no request is sent for another 1m30s"},
		{"429 with years", fake.TooManyRequests("99999999"), 24 * time.Hour, "rate_limited", "another 23h59m30s"},
		{"999", fake.RequestDenied(), 10 * time.Minute, "blocked", ": HTTP 999 (request denied) 30s ago, so no request is sent for another 9m30s"},
		{"wall", fake.Redirect("/authwall"), 10 * time.Minute, "blocked", ": LinkedIn redirected to its login wall (/authwall) 30s ago, so no request is sent for another 9m30s"},
		{"CAPTCHA", fake.Captcha(), 10 * time.Minute, "blocked", ": LinkedIn answered with a CAPTCHA or login page 30s ago, so no request is sent for another 9m30s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := fake.Handler(fake.Options{Jobs: fake.Jobs(5), Answer: func(n int, _ *http.Request) *fake.Answer {
					if n == 1 {
						return test.answer
					}
					return nil
				}})
				jobs, detail := bubble(t, site, 0)
				expect := func(tool domain.Tool, args, want string, requests int) {
					t.Helper()
					res, err := runTool(t.Context(), t, tool, args)
					if err != nil || res.ErrorType() != test.kind || !strings.Contains(tooltest.Text(res), want) {
						t.Errorf("%v, %s: %s; want %s", err, res.ErrorType(), tooltest.Text(res), want)
					}
					if n := len(site.Requests()); n != requests {
						t.Errorf("%d requests; want %d", n, requests)
					}
				}
				expect(jobs, `{"keyword":"x"}`, "LinkedIn jobs: ", 1)
				time.Sleep(30 * time.Second)
				expect(jobs, `{"keyword":"x"}`, test.want, 1)
				expect(detail, `{"url":"4012345001"}`, test.want, 1)
				time.Sleep(test.cool - 31*time.Second)
				expect(detail, `{"url":"4012345001"}`, "for another 1s", 1)
				time.Sleep(time.Second)
				if res, err := runTool(t.Context(), t, detail, `{"url":"4012345001"}`); err != nil || res.IsError {
					t.Errorf("after the pause: %v, %s", err, tooltest.Text(res))
				}
			})
		})
	}
}

// TestBlockedMeanwhile stops a search when another call is told to stop.
func TestBlockedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := fake.Handler(fake.Options{Jobs: fake.Jobs(40), Answer: func(_ int, r *http.Request) *fake.Answer {
			if r.URL.Path != fake.SearchPath {
				return fake.RequestDenied()
			}
			return nil
		}})
		jobs, detail := bubble(t, site, time.Second)
		var group sync.WaitGroup
		group.Go(func() {
			res, err := runTool(t.Context(), t, jobs, `{"keyword":"x","limit":40}`)
			if err != nil {
				t.Error(err)
				return
			}
			const want = "LinkedIn answered HTTP 999 (request denied) 0s ago, so no request is sent for another 10m0s. " +
				"20 jobs were gathered before. Call again after 10m0s"
			if r := results(t, res); len(r.Jobs) != 20 || !r.Partial || !strings.HasPrefix(r.Reason, want) {
				t.Errorf("%d jobs: %s", len(r.Jobs), r.Reason)
			}
		})
		synctest.Wait() // for the turn of the second page, which is before the other call's
		runTool(t.Context(), t, detail, `{"url":"4012345001"}`)
		group.Wait()
		if n := len(site.Requests()); n != 3 {
			t.Errorf("%d requests; want 3", n)
		}
	})
}

// TestOutOfTime returns what was gathered when the time of a search is up.
func TestOutOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		jobs, _ := bubble(t, fake.Handler(fake.Options{Jobs: fake.Jobs(100)}), 20*time.Second)
		start := time.Now()
		res, err := runTool(t.Context(), t, jobs, `{"keyword":"x","limit":100}`)
		if err != nil || res.IsError {
			t.Fatalf("%v: %s", err, tooltest.Text(res))
		}
		const want = "The search timed out on page 7. 60 jobs"
		if r := results(t, res); len(r.Jobs) != 60 || r.StoppedBy != "timed_out" || r.NextStart != 60 || !strings.HasPrefix(r.Reason, want) {
			t.Errorf("%d jobs: %s", len(r.Jobs), r.Reason)
		}
		if d := time.Since(start); d != 100*time.Second {
			t.Errorf("it took %v; a wait that would be too long should not be begun", d)
		}
	})
}

// TestCanceled waits for nothing once the caller has gone.
func TestCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		jobs, detail := bubble(t, fake.Handler(fake.Options{Jobs: fake.Jobs(100)}), time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		start := time.Now()
		group.Go(func() {
			res, err := runTool(ctx, t, jobs, `{"keyword":"x","limit":100}`)
			if !errors.Is(err, context.Canceled) || !strings.Contains(tooltest.Text(res), "10. Go Developer 10") {
				t.Errorf("search: %v, %q", err, tooltest.Text(res))
			}
		})
		synctest.Wait() // for the second page
		for range 3 {
			group.Go(func() {
				if res, err := runTool(ctx, t, detail, `{"url":"4012345001"}`); !errors.Is(err, context.Canceled) || len(res.Content) != 0 {
					t.Errorf("detail: %v, %q", err, tooltest.Text(res))
				}
			})
		}
		synctest.Wait()
		cancel()
		group.Wait()
		if d := time.Since(start); d != 0 {
			t.Errorf("it took %v", d)
		}
	})
}

// TestExecutorTimeUp keeps what was gathered if the operator allows a call less
// time than it takes.
func TestExecutorTimeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		jobs, _ := bubble(t, fake.Handler(fake.Options{Jobs: fake.Jobs(100)}), 20*time.Second)
		jobs.Timeout = 30 * time.Second
		command := call.ExecuteToolCommand{Tool: "linkedin_jobs", Arguments: json.RawMessage(`{"keyword":"x","limit":100}`)}
		res, err := tooltest.Executor(t, jobs).Call(t.Context(), command)
		if text := tooltest.Text(res); err != nil || !res.IsError || !strings.Contains(text, "20. Go Developer 20") || !strings.Contains(text, "[Stopped early: ") || !strings.HasSuffix(text, "[timed out after 30s, the operator's limit (tools.linkedin_jobs.timeout)]") {
			t.Errorf("error %v: %s", err, text)
		}
	})
}

// TestSlowAnswer gives up on a request after half a minute.
func TestSlowAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		jobs, _ := bubble(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), 0)
		start := time.Now()
		res, err := runTool(t.Context(), t, jobs, `{"keyword":"x"}`)
		if err != nil || res.ErrorType() != "timed_out" || tooltest.Text(res) != "Error searching LinkedIn jobs: no answer in time. Try again later." || time.Since(start) != requestTimeout {
			t.Errorf("%v, %s: %s after %v", err, res.ErrorType(), tooltest.Text(res), time.Since(start))
		}
	})
}

// TestUnreachable says what the matter is, without a word of the query.
func TestUnreachable(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	tools := tooltest.Tools(t, Family(), declare.From[Options]{Client: tooltest.Client(srv.Client()), Config: Options{BaseURL: srv.URL}})
	tooltest.Run(t, tools[0], []tooltest.Case{{Name: "jobs", Args: `{"keyword":"secretword"}`, ErrorType: "unreachable", Want: "Error searching LinkedIn jobs: ",
		Check: func(t *testing.T, res domain.ToolResult) {
			if strings.Contains(tooltest.Text(res), "secretword") {
				t.Error(tooltest.Text(res))
			}
		}}})
	tooltest.Run(t, tools[1], []tooltest.Case{{Name: "detail", Args: `{"url":"1"}`, ErrorType: "unreachable", Want: "Error fetching job details: "}})
}

// TestProgress tells of each page but the last.
func TestProgress(t *testing.T) {
	p := serve(t, fake.Options{Jobs: fake.Jobs(40)})
	var told []call.Progress
	_, err := tooltest.Executor(t, p.jobs).Call(t.Context(), call.ExecuteToolCommand{
		Tool: "linkedin_jobs", Arguments: json.RawMessage(`{"keyword":"x","limit":30}`),
		Client: call.ProgressFunc(func(p call.Progress) { told = append(told, p) }),
	})
	if err != nil || len(told) != 2 || told[1] != (call.Progress{Done: 20, Total: 30, Message: "page 2 read, 20 jobs found"}) {
		t.Errorf("%v, %+v", err, told)
	}
}

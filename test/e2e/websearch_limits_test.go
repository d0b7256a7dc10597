//go:build linux

package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	fake "github.com/toolserver/toolserver/test/fakes/search"
)

// search asks for "few".
func (s *searching) search() outcome {
	s.t.Helper()
	return s.checked("web_search", map[string]any{"query": "few"})
}

// TestWebSearchQuota uses up a quota for weeks: the message says what frees it and when the service is asked again, nothing is sent
// until then, and a new key is used at once.
func TestWebSearchQuota(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"brave", "tavily"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSearching(t, "", name)
			service := s.become(name, fake.Options{Rate: 50, Quota: 1, Reset: 16 * 24 * time.Hour}, fake.None)
			if o := s.search(); o.failed {
				t.Errorf("within the quota: %v", o)
			}
			s.search() // Brave has said that nothing is left, Tavily says it now
			n := service.Arrived()
			for range 3 {
				o := s.search()
				if o.errorType != "quota_exceeded" || !strings.Contains(o.text, "the key's quota is used up; it is asked again in 60 minutes. ") ||
					!strings.Contains(o.text, "plan") || name == "brave" && !strings.Contains(o.text, "the quota is renewed in 16 days") {
					t.Errorf("used up: %v", o)
				}
			}
			if service.Arrived() != n {
				t.Errorf("%d requests although nothing is left", service.Arrived()-n)
			}
			const other = "another-key-0123456789"
			s.become(name, fake.Options{Key: other}, fake.None)
			config := opened(s.at[name]) + searchConfig(s.at, name)
			s.configure(filepath.Join(s.dir, "config.yaml"), strings.Replace(config, "{base_url:", fmt.Sprintf("{api_key: %s, base_url:", other), 1))
			eventually(t, "the new key is used", func() bool { return !s.search().failed })
			s.stop()
		})
	}
}

// TestWebSearchRates passes over a service that limits its rate, which does not hold the next one back, and does not ask one again
// that does not say when.
func TestWebSearchRates(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"searxng", "tavily", "brave"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSearching(t, "", name, "duckduckgo")
			service := s.become(name, fake.Options{Rate: 1, Window: time.Minute}, fake.None)
			s.search()
			began := time.Now()
			for range 2 {
				if o := s.search(); o.failed || o.structure["provider"] != "duckduckgo" || !strings.Contains(o.text, name+" failed: ") {
					t.Errorf("limited: %v", o)
				}
			}
			if took, n := time.Since(began), service.Arrived(); took > 6*time.Second || n > 2 {
				t.Errorf("2 calls took %v, and there were %d requests", took, n)
			}
			s.stop()
		})
		t.Run(name+" alone", func(t *testing.T) {
			t.Parallel()
			s := newSearching(t, "", name)
			service := s.become(name, fake.Options{}, fake.TooMany)
			if o := s.search(); o.errorType != "rate_limited" || service.Arrived() != 1 {
				t.Errorf("%v after %d requests", o, service.Arrived())
			}
			s.stop()
		})
	}
}

// TestWebSearchSaysAll has the text say what structured content has: ages, passages, pages, and answers of the service.
func TestWebSearchSaysAll(t *testing.T) {
	t.Parallel()
	s := newSearching(t, "", "brave")
	o := s.checked("web_search", map[string]any{"query": "passages"})
	if !strings.HasSuffix(o.text, "\n   The description.\n   A further <passage>.\n   Another one.\n   Date: 3 days ago\n") {
		t.Errorf("passages: %v", o)
	}
	o = s.checked("web_search", map[string]any{"query": "huge", "count": 20})
	if results, _ := o.structure["results"].([]any); o.failed || len(results) < 3 || o.structure["truncated"] != nil || strings.Contains(o.text, "truncated") {
		t.Errorf("huge: %.2000v", o)
	}
	s.stop()
	s = newSearching(t, "", "searxng")
	for query, head := range map[string]string{"answered": "Results: 3\nAnswer: 6 × 7 = 42 (https://calc.example/42)\n", "known": "Results: 0\nAnswer: 6 × 7 = 42"} {
		o := s.checked("web_search", map[string]any{"query": query})
		if answers, _ := o.structure["answers"].([]any); len(answers) != 4 || !strings.Contains(o.text, head) ||
			!strings.Contains(o.text, "\nAnswer: Forty-two: is a number (https://wiki.example/42)\n") {
			t.Errorf("%s: %v", query, o)
		}
	}
	s.stop()
}

// TestWebSearchRoom has an operator allow short results: they are shortened, and whole in both forms.
func TestWebSearchRoom(t *testing.T) {
	t.Parallel()
	s := newSearching(t, "limits: {max_result_chars: 6000}\n", "brave")
	for query, count := range map[string]int{"many": 20, "huge": 20, "passages": 1} {
		o := s.checked("web_search", map[string]any{"query": query, "count": count})
		results, _ := o.structure["results"].([]any)
		if o.failed || len(o.text) > 6000 || query == "many" && len(results) != 20 || strings.Contains(o.text, "truncated") || len(results) == 0 {
			t.Errorf("%s: %d results in %d characters: %.300v", query, len(results), len(o.text), o)
		}
	}
	s.stop()
}

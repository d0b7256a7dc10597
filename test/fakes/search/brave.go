package search

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Brave returns the Brave Search API, with the answers it had in 2026. It tells its rate in headers if there is one.
func Brave(o Options) *Service { return newService(o, serveBrave) }

var (
	braveCountry   = regexp.MustCompile(`^(AR|AU|AT|BE|BR|CA|CL|DK|FI|FR|DE|GR|HK|IN|ID|IT|JP|KR|MY|MX|NL|NZ|NO|CN|PL|PT|PH|RU|SA|ZA|ES|SE|CH|TW|TR|GB|US|ALL)$`)
	braveFreshness = regexp.MustCompile(`^(pd|pw|pm|py|\d{4}-\d{2}-\d{2}to\d{4}-\d{2}-\d{2})$`)
	braveFilters   = []string{"discussions", "faq", "infobox", "news", "query", "summarizer", "videos", "web", "locations", "rich"}
)

func serveBrave(s *Service, w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path != "/res/v1/web/search":
		braveError(w, r, http.StatusNotFound, "NOT_FOUND", nil)
	case r.Method != http.MethodGet && r.Method != http.MethodPost:
		braveError(w, r, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", nil)
	case s.is(Forbidden):
		writePage(w, http.StatusForbidden)
	case s.is(NoPlan):
		braveError(w, r, http.StatusBadRequest, "OPTION_NOT_IN_PLAN", map[string]any{"component": "authentication"})
	case s.is(NoPayment):
		braveError(w, r, http.StatusPaymentRequired, "PAYMENT_REQUIRED", nil)
	case r.Header.Get("X-Subscription-Token") == "":
		braveInvalid(w, r, []string{"header", "x-subscription-token"})
	case r.Header.Get("X-Subscription-Token") != s.o.Key:
		braveError(w, r, http.StatusUnprocessableEntity, "SUBSCRIPTION_TOKEN_INVALID", map[string]any{"component": "authentication", "token": r.Header.Get("X-Subscription-Token")})
	default:
		braveSearch(s, w, r)
	}
}

func braveSearch(s *Service, w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	number := func(name string, def, low, high int) int {
		if !q.Has(name) {
			return def
		}
		n, err := strconv.Atoi(q.Get(name))
		if err != nil || n < low || n > high {
			return -1
		}
		return n
	}
	count, offset := number("count", 20, 1, 20), number("offset", 0, 0, 9)
	refused := ""
	switch query := q.Get("q"); {
	case query == "" || utf8.RuneCountInString(query) > 400 || len(strings.Fields(query)) > 50:
		refused = "q"
	case count < 0:
		refused = "count"
	case offset < 0:
		refused = "offset"
	case q.Has("country") && !braveCountry.MatchString(q.Get("country")):
		refused = "country"
	case q.Has("safesearch") && !slices.Contains([]string{"off", "moderate", "strict"}, q.Get("safesearch")):
		refused = "safesearch"
	case q.Has("freshness") && !braveFreshness.MatchString(q.Get("freshness")):
		refused = "freshness"
	case q.Has("text_decorations") && q.Get("text_decorations") != "false" && q.Get("text_decorations") != "true":
		refused = "text_decorations"
	}
	for filter := range strings.SplitSeq(q.Get("result_filter"), ",") {
		if filter != "" && !slices.Contains(braveFilters, filter) {
			refused = "result_filter"
		}
	}
	for name := range q {
		if !slices.Contains([]string{"q", "count", "offset", "country", "safesearch", "freshness", "text_decorations", "result_filter", "search_lang"}, name) {
			refused = name
		}
	}
	if refused != "" {
		braveInvalid(w, r, []string{"query", refused})
		return
	}
	ok, quota, inWindow, inQuota := s.admit()
	s.braveHeaders(w.Header(), ok || !quota, inWindow, inQuota)
	switch {
	case ok:
		braveResults(s, w, r, count, offset)
	case quota:
		braveError(w, r, http.StatusTooManyRequests, "QUOTA_LIMITED", map[string]any{"plan": "Free", "quota_limit": s.o.Quota, "quota_current": s.o.Quota})
	default:
		braveError(w, r, http.StatusTooManyRequests, "RATE_LIMITED", map[string]any{"plan": "Free", "rate_limit": s.o.Rate, "rate_current": s.o.Rate})
	}
}

func (s *Service) braveHeaders(h http.Header, quotaLeft bool, inWindow, inQuota int) {
	if s.o.Rate == 0 {
		return
	}
	window := seconds(s.o.Window)
	reset := s.o.Reset
	if reset == 0 {
		reset = 1_419_704 * 1e9
	}
	if s.o.Quota == 0 || quotaLeft && inQuota < 0 {
		inQuota = 0 // a plan without quota says 0 and 0
	}
	h.Set("X-RateLimit-Limit", fmt.Sprintf("%d, %d", s.o.Rate, s.o.Quota))
	h.Set("X-RateLimit-Policy", fmt.Sprintf("%d;w=%d, %d;w=2592000", s.o.Rate, window, s.o.Quota))
	h.Set("X-RateLimit-Remaining", fmt.Sprintf("%d, %d", inWindow, inQuota))
	h.Set("X-RateLimit-Reset", fmt.Sprintf("%d, %d", window, seconds(reset)))
}

func braveResults(s *Service, w http.ResponseWriter, r *http.Request, count, offset int) {
	switch {
	case s.is(BadJSON):
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"type":"search","web":{"results":[{"title":"half`))
		return
	case s.is(OtherJSON):
		writeJSON(w, r, http.StatusOK, map[string]any{"type": "summarizer", "status": "complete"})
		return
	}
	q := r.URL.Query()
	mark := "strong"
	if q.Get("text_decorations") == "false" {
		mark = ""
	}
	docs := Corpus(q.Get("q"))
	answer := map[string]any{
		"type": "search",
		"query": map[string]any{
			"original": q.Get("q"), "more_results_available": len(docs) > (offset+1)*count, "show_strict_warning": false,
		},
		"mixed": map[string]any{"type": "mixed", "main": []any{}},
	}
	if page := slice(docs, offset*count, (offset+1)*count); len(page) > 0 {
		var results []any
		for _, d := range page {
			more := []string{d.render(d.Text, "", "")}
			for _, passage := range d.More {
				more = append(more, d.render(passage, "", ""))
			}
			dates := map[string]any{}
			if d.Age != "" {
				dates["page_age"] = d.Age + "T00:00:00"
			}
			if d.Ago != "" {
				dates["age"] = d.Ago
			}
			result := map[string]any{
				"title": d.render(d.Title, q.Get("q"), mark), "url": d.URL, "description": d.render(d.Text, q.Get("q"), mark),
				"language": "en", "family_friendly": true, "extra_snippets": more,
				"meta_url": map[string]any{"scheme": "https"}, "profile": map[string]any{"name": "x"},
			}
			maps.Copy(result, dates)
			results = append(results, result)
		}
		answer["web"] = map[string]any{"type": "search", "results": results, "family_friendly": true}
	}
	if filter := q.Get("result_filter"); filter != "" && !slices.Contains(strings.Split(filter, ","), "query") {
		delete(answer, "query")
	}
	writeJSON(w, r, http.StatusOK, answer)
}

func braveInvalid(w http.ResponseWriter, r *http.Request, loc []string) {
	braveError(w, r, http.StatusUnprocessableEntity, "VALIDATION", map[string]any{
		"errors": []any{map[string]any{"type": "missing", "loc": loc, "msg": "<b>Field</b> required", "input": r.URL.Query()}},
	})
}

func braveError(w http.ResponseWriter, r *http.Request, status int, code string, meta map[string]any) {
	writeJSON(w, r, status, map[string]any{
		"type": "ErrorResponse", "time": 1_700_000_000,
		"error": map[string]any{"id": "5d832250-9396-4f6e-b84a-2a1fe524cd7d", "status": status, "code": code, "detail": "Unable to <i>serve</i>.", "meta": meta},
	})
}

package search

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Tavily returns the Tavily API.
func Tavily(o Options) *Service { return newService(o, serveTavily) }

type tavilyRequest struct {
	Query       string `json:"query"`
	MaxResults  *int   `json:"max_results"`
	SearchDepth string `json:"search_depth"`
	Topic       string `json:"topic"`
	Country     string `json:"country"`
	TimeRange   string `json:"time_range"`
	StartDate   string `json:"start_date"`
	EndDate     string `json:"end_date"`
}

var (
	tavilyDay     = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2})?$`)
	tavilyCountry = regexp.MustCompile(`^([a-z]{3,}( [a-z]+)*)?$`)
)

func serveTavily(s *Service, w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path != "/search":
		tavilyError(w, r, http.StatusNotFound, "Not Found")
		return
	case r.Method != http.MethodPost:
		tavilyError(w, r, http.StatusMethodNotAllowed, "Method Not Allowed")
		return
	case s.is(Forbidden):
		writePage(w, http.StatusForbidden)
		return
	case r.Header.Get("Authorization") != "Bearer "+s.o.Key:
		tavilyError(w, r, http.StatusUnauthorized, "Unauthorized: missing or invalid API key "+r.Header.Get("Authorization"))
		return
	case s.is(NoPlan):
		tavilyError(w, r, http.StatusForbidden, "Forbidden: your plan does not include this")
		return
	case s.is(NoPayment):
		tavilyError(w, r, 433, "This request exceeds the pay-as-you-go limit.")
		return
	case !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		tavilyError(w, r, http.StatusUnprocessableEntity, "Input should be a valid dictionary")
		return
	}
	var ask tavilyRequest
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&ask); err != nil {
		tavilyError(w, r, http.StatusUnprocessableEntity, "Invalid body")
		return
	}
	count := 5
	if ask.MaxResults != nil {
		count = *ask.MaxResults
	}
	switch {
	case ask.Query == "":
		tavilyError(w, r, http.StatusBadRequest, "Query is missing.")
		return
	case utf8.RuneCountInString(ask.Query) > 400:
		tavilyError(w, r, http.StatusBadRequest, "Query is too long. Max query length is 400 characters.")
		return
	case count < 0 || count > 20, !tavilyDay.MatchString(ask.StartDate), !tavilyDay.MatchString(ask.EndDate), !tavilyCountry.MatchString(ask.Country),
		!slices.Contains([]string{"", "day", "week", "month", "year"}, ask.TimeRange):
		tavilyError(w, r, http.StatusBadRequest, "Invalid value.")
		return
	}
	ok, quota, _, _ := s.admit()
	switch {
	case quota:
		tavilyError(w, r, 432, "This request exceeds your plan's set usage limit. Please upgrade your plan or contact support.")
		return
	case !ok:
		w.Header().Set("Retry-After", strconv.Itoa(seconds(s.o.Window)))
		tavilyError(w, r, http.StatusTooManyRequests, "Your request has been blocked due to excessive requests. Please reduce the rate of requests.")
		return
	case s.is(BadJSON):
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"query":"x","results":[{]}`))
		return
	case s.is(OtherJSON):
		writeJSON(w, r, http.StatusOK, map[string]any{"detail": "ok"})
		return
	}
	results := []any{}
	for _, d := range slice(Corpus(ask.Query), 0, count) {
		results = append(results, map[string]any{
			"title": d.render(d.Title, "", ""), "url": d.URL, "content": d.render(d.Text, "", ""), "score": 0.9, "raw_content": nil,
		})
	}
	writeJSON(w, r, http.StatusOK, map[string]any{
		"query": ask.Query, "follow_up_questions": nil, "answer": nil, "images": []any{}, "results": results, "response_time": 1.1, "request_id": "x",
	})
}

func tavilyError(w http.ResponseWriter, r *http.Request, status int, message string) {
	writeJSON(w, r, status, map[string]any{"detail": map[string]any{"error": message}})
}

package search

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
)

// SearXNG returns an instance of SearXNG that answers in JSON. Its pages have ten results, and the last one of each page comes
// again on the next.
func SearXNG(o Options) *Service { return newService(o, serveSearXNG) }

const searxngPage = 10

var searxngLanguage = regexp.MustCompile(`^[a-z]{2,3}(-[a-zA-Z]{2})?$|^all$|^auto$`)

func serveSearXNG(s *Service, w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	page := 1
	if q.Has("pageno") {
		page, _ = strconv.Atoi(q.Get("pageno"))
	}
	switch {
	case r.URL.Path != "/search" && r.URL.Path != "/":
		http.Error(w, "<!DOCTYPE html><html><body>Page not found</body></html>", http.StatusNotFound)
		return
	case r.Method != http.MethodGet && r.Method != http.MethodPost:
		http.Error(w, "method", http.StatusMethodNotAllowed)
		return
	case q.Get("format") != "json" || s.is(Forbidden):
		writePage(w, http.StatusForbidden)
		return
	case q.Get("q") == "":
		writeJSON(w, r, http.StatusBadRequest, map[string]any{"error": "No query"})
		return
	case page < 1, q.Has("time_range") && !slices.Contains([]string{"day", "week", "month", "year"}, q.Get("time_range")),
		q.Has("safesearch") && !slices.Contains([]string{"0", "1", "2"}, q.Get("safesearch")),
		q.Has("language") && !searxngLanguage.MatchString(q.Get("language")):
		writeJSON(w, r, http.StatusBadRequest, map[string]any{"error": "Invalid value for a parameter"})
		return
	}
	if ok, _, _, _ := s.admit(); !ok {
		w.Header().Set("Retry-After", strconv.Itoa(seconds(s.o.Window)))
		writePage(w, http.StatusTooManyRequests)
		return
	}
	switch {
	case s.is(BadJSON):
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"query": "x", "results": [{"url": "https://`))
		return
	case s.is(OtherJSON):
		writeJSON(w, r, http.StatusOK, map[string]any{"name": "another service"})
		return
	}
	from := (page - 1) * searxngPage
	docs := slice(Corpus(q.Get("q")), max(from-1, 0), from+searxngPage)
	if page > 1 && len(docs) == 1 {
		docs = nil
	}
	results := []any{}
	unresponsive := [][]string{}
	if s.is(Silent) {
		docs, unresponsive = nil, [][]string{{"google", "Suspended: CAPTCHA"}, {"bing", "timeout"}}
	}
	for _, d := range docs {
		result := map[string]any{
			"url": d.URL, "title": d.render(d.Title, "", ""), "content": d.render(d.Text, "", ""), "engine": "bing",
			"engines": []string{"bing"}, "positions": []int{1}, "score": 1.5, "category": "general", "publishedDate": nil, "thumbnail": nil,
		}
		if d.Age != "" {
			result["publishedDate"] = d.Age + "T00:00:00"
		}
		results = append(results, result)
	}
	answers, boxes := []any{}, []any{}
	if query := q.Get("q"); (query == "answered" || query == "known") && page == 1 {
		answers = []any{ // as they are since 2025, and as they were
			map[string]any{"answer": "6 &times; 7 = <b>42</b>", "url": "https://calc.example/42", "engine": "calculator", "template": "answer/legacy.html"},
			map[string]any{"answer": "no source", "url": nil, "engine": "answerer"}, "a text", map[string]any{"translations": []any{}}, 7,
		}
		boxes = []any{
			map[string]any{"infobox": "Forty-two", "id": "https://wiki.example/42", "content": "is a <i>number</i>", "urls": []any{}, "engine": "wikipedia"},
			map[string]any{"infobox": "Empty", "id": "https://wiki.example/none", "content": "", "attributes": []any{}},
		}
	}
	writeJSON(w, r, http.StatusOK, map[string]any{
		"query": q.Get("q"), "number_of_results": 0, "results": results, "answers": answers, "corrections": []any{}, "infoboxes": boxes,
		"suggestions": []any{}, "unresponsive_engines": unresponsive,
	})
}

package linkedin

import (
	"fmt"
	"slices"
	"strings"

	"toolserver/domain"
	"toolserver/domain/nearest"
)

// A filter is an argument that narrows a search, and what LinkedIn calls it.
type filter struct {
	argument string
	query    string // LinkedIn's parameter
	several  bool   // values may be listed, separated by commas
	values   []filterValue
}

// filterValue is a word for people, its code for LinkedIn, and other words for
// the same.
type filterValue struct {
	word, code string
	also       []string
}

var (
	datePosted = filter{"dateSincePosted", "f_TPR", false, []filterValue{
		{"24hr", "r86400", []string{"24 hours", "24h", "day", "past day", "past 24 hours"}},
		{"past week", "r604800", []string{"week", "7 days"}},
		{"past month", "r2592000", []string{"month", "30 days"}},
	}}
	jobType = filter{"jobType", "f_JT", true, []filterValue{
		{"full time", "F", nil}, {"part time", "P", nil}, {"contract", "C", nil}, {"temporary", "T", nil},
		{"internship", "I", nil}, {"volunteer", "V", nil}, {"other", "O", nil},
	}}
	workplace = filter{"remoteFilter", "f_WT", true, []filterValue{{"on site", "1", nil}, {"remote", "2", nil}, {"hybrid", "3", nil}}}
	seniority = filter{"experienceLevel", "f_E", true, []filterValue{
		{"internship", "1", nil}, {"entry level", "2", []string{"entry"}}, {"associate", "3", nil},
		{"senior", "4", []string{"mid senior level", "mid senior", "senior level"}}, {"director", "5", nil}, {"executive", "6", nil},
	}}
	sorting = filter{"sortBy", "sortBy", false, []filterValue{{"recent", "DD", nil}, {"relevant", "R", nil}}}
)

// codes returns LinkedIn's codes for the values in text, in the order and the
// form of its parameter. No text means no filter. The error names the argument,
// what it may be and what was probably meant.
func (f *filter) codes(text string) (string, *domain.Error) {
	if strings.TrimSpace(text) == "" {
		return "", nil
	}
	words := []string{text}
	if f.several {
		words = strings.Split(text, ",")
	}
	var codes []string
	for _, word := range words {
		code, ok := f.code(word)
		if !ok {
			return "", f.unknown(word)
		}
		if !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
	}
	return strings.Join(codes, ","), nil
}

func (f *filter) code(word string) (string, bool) {
	word = squeeze(word)
	for _, v := range f.values {
		if squeeze(v.word) == word || slices.ContainsFunc(v.also, func(other string) bool { return squeeze(other) == word }) {
			return v.code, true
		}
	}
	return "", false
}

// squeeze drops what spellings differ in: Full-time, full_time, fulltime.
func squeeze(word string) string {
	return strings.NewReplacer(" ", "", "-", "", "_", "").Replace(strings.ToLower(strings.TrimSpace(word)))
}

func (f *filter) unknown(word string) *domain.Error {
	var allowed []string
	for _, v := range f.values {
		allowed = append(allowed, v.word)
	}
	word = strings.TrimSpace(word)
	problem := fmt.Sprintf("must be one of %s, not %q", strings.Join(allowed, ", "), clip(word, 60))
	if near, ok := nearest.Word(strings.NewReplacer("-", " ", "_", " ").Replace(word), allowed); ok {
		problem += "; did you mean " + near + "?"
	}
	return domain.InvalidArgument("linkedin_jobs", f.argument, problem)
}

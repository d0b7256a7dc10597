package linkedin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/nearest"
	"github.com/toolserver/toolserver/outbound/httpcall"
)

// A filter is an argument that narrows a search, and what LinkedIn calls it.
type filter struct {
	argument, value string
	query           string      // LinkedIn's parameter
	several         bool        // values may be listed, separated by commas
	words           [][2]string // a word for people, and its code for LinkedIn; further words for the same code follow the first
}

// filters returns the filters of a search.
func (in *jobsInput) filters() []filter {
	return []filter{
		{"dateSincePosted", in.DateSincePosted, "f_TPR", false, [][2]string{
			{"24hr", "r86400"}, {"past week", "r604800"}, {"past month", "r2592000"},
		}},
		{"jobType", in.JobType, "f_JT", true, [][2]string{
			{"full time", "F"}, {"part time", "P"}, {"contract", "C"}, {"temporary", "T"}, {"internship", "I"}, {"volunteer", "V"}, {"other", "O"},
		}},
		{"remoteFilter", in.RemoteFilter, "f_WT", true, [][2]string{{"on site", "1"}, {"remote", "2"}, {"hybrid", "3"}}},
		{"experienceLevel", in.ExperienceLevel, "f_E", true, [][2]string{
			{"internship", "1"}, {"entry level", "2"}, {"associate", "3"}, {"senior", "4"}, {"mid senior level", "4"}, {"director", "5"},
			{"executive", "6"},
		}},
		{"sortBy", in.SortBy, "sortBy", false, [][2]string{{"recent", "DD"}, {"relevant", "R"}}},
	}
}

// codes returns LinkedIn's codes for the values, in the order and the form of its parameter. No text means no filter.
// The error names the argument, what it may be and what was probably meant.
func (f *filter) codes() (string, *domain.Error) {
	if strings.TrimSpace(f.value) == "" {
		return "", nil
	}
	words := []string{f.value}
	if f.several {
		words = strings.Split(f.value, ",")
	}
	var codes []string
	for _, word := range words {
		i := slices.IndexFunc(f.words, func(v [2]string) bool { return squeeze(v[0]) == squeeze(word) })
		if i < 0 {
			return "", f.unknown(word)
		}
		if code := f.words[i][1]; !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
	}
	return strings.Join(codes, ","), nil
}

// squeeze drops what spellings differ in: Full-time, full_time, fulltime.
func squeeze(word string) string {
	return strings.NewReplacer(" ", "", "-", "", "_", "").Replace(strings.ToLower(strings.TrimSpace(word)))
}

func (f *filter) unknown(word string) *domain.Error {
	var allowed []string
	sameCode := func(a, b [2]string) bool { return a[1] == b[1] }
	for _, v := range slices.CompactFunc(slices.Clone(f.words), sameCode) {
		allowed = append(allowed, v[0])
	}
	word = strings.TrimSpace(word)
	problem := fmt.Sprintf("must be one of %s, not %q", strings.Join(allowed, ", "), httpcall.Clip(word, 60))
	if near, ok := nearest.Word(strings.NewReplacer("-", " ", "_", " ").Replace(word), allowed); ok {
		problem += "; did you mean " + near + "?"
	}
	return domain.InvalidArgument("linkedin_jobs", f.argument, problem)
}

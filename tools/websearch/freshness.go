package websearch

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Freshness is how old results may be: of the last day, week, month or year, or from a day to a day. The zero value is any age.
type Freshness struct {
	Period   string // day, week, month, year, or "" if the days are set
	From, To string // YYYY-MM-DD, both included
}

// parseFreshness reads day, week, month, year or YYYY-MM-DDtoYYYY-MM-DD.
func parseFreshness(text string) (Freshness, error) {
	from, to, days := strings.Cut(text, "to")
	if !days {
		return Freshness{Period: text}, nil // the schema knows the periods
	}
	for _, day := range []string{from, to} {
		if _, err := time.Parse(time.DateOnly, day); err != nil {
			return Freshness{}, fmt.Errorf("there is no day %s", day)
		}
	}
	if from > to {
		return Freshness{}, errors.New("the first day comes after the last")
	}
	return Freshness{From: from, To: to}, nil
}

// isSet reports whether results must have some age.
func (f Freshness) isSet() bool { return f != Freshness{} }

func (f Freshness) String() string {
	if f.Period != "" || f.From == "" {
		return f.Period
	}
	return f.From + "to" + f.To
}

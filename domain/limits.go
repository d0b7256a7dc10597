package domain

import "time"

// Limits bound what callers can ask for. Zero means no limit, except for
// MaxResultChars, whose zero is [DefaultMaxResultChars].
type Limits struct {
	MaxResultChars  int           `yaml:"max_result_chars" min:"1000" max:"10000000"`
	DefaultTimeout  time.Duration `yaml:"timeout" min:"1ms" max:"24h"`
	TaskTimeout     time.Duration `yaml:"task_timeout" min:"0s" max:"24h"`
	PerTool         int           `yaml:"per_tool" min:"0"`
	PerPrincipal    int           `yaml:"per_principal" min:"0"`
	RatePerMinute   int           `yaml:"rate_per_minute" min:"0"`
	ClientRate      int           `yaml:"client_rate_per_minute" min:"0" template:"-"`
	UnitsPerDay     int64         `yaml:"units_per_day" min:"0" template:"-"`
	QueueWait       time.Duration `yaml:"queue_wait" min:"0s" max:"10m"`
	PageSize        int           `yaml:"page_size" min:"0"`
	MaxAbandonGrace time.Duration `yaml:"-"` // how long a handler may take to return a partial result after its timeout
}

// DefaultMaxResultChars is how much text a result may have if configuration
// does not say.
const DefaultMaxResultChars = 40_000

// PageBytes returns the size of a page that, with the marker at its end, fits a
// result of maxChars characters.
func PageBytes(maxChars int) int {
	const marker = 300
	if maxChars <= 0 {
		maxChars = DefaultMaxResultChars
	}
	return max(maxChars-marker, maxChars/2)
}

// ResultChars returns how long the text of a result may be, of a tool that
// promises results of a certain length, or 0. An operator who wants shorter
// results than usual gets them of all tools.
func (l *Limits) ResultChars(promised int) int {
	switch {
	case l.MaxResultChars <= 0:
		return max(DefaultMaxResultChars, promised)
	case l.MaxResultChars < DefaultMaxResultChars:
		return l.MaxResultChars
	}
	return max(l.MaxResultChars, promised)
}

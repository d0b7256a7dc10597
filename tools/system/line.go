package system

import (
	"fmt"
	"strings"

	"toolserver/domain"
)

// line is the line of an entry in a list: facts, with commas between them.
type line struct{ strings.Builder }

// add adds a fact, unless its value is an empty string.
func (l *line) add(format string, value any) {
	if s, ok := value.(string); ok {
		if s == "" {
			return
		}
		value = domain.OneLine(s)
	}
	if l.Len() > 0 {
		l.WriteString(", ")
	}
	fmt.Fprintf(l, format, value)
}

package tools

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/toolserver/toolserver/domain/nearest"
)

// otherNames has a line for each tool, with what tools of other servers and clients are called that do
// the same. Of a name that several have, the first is the most likely. The last lines are for what only
// clients do themselves.
//
//go:embed othernames.txt
var otherNames string

// OtherNames returns the tools by each of their other names, folded as [nearest.Plain] does it.
func OtherNames() map[string][]string { return byOtherName() }

var byOtherName = sync.OnceValue(func() map[string][]string {
	names := map[string][]string{}
	for line := range strings.Lines(otherNames) {
		name, others, _ := strings.Cut(line, ":")
		for other := range strings.FieldsSeq(others) {
			names[nearest.Plain(other)] = append(names[nearest.Plain(other)], name)
		}
		if _, other := names[nearest.Plain(name)]; !other {
			names[nearest.Plain(name)] = nil
		}
	}
	return names
})

package domain

import "strings"

// Uses is the set of what a tool touches outside its arguments.
type Uses uint8

// What a tool can use.
const (
	Reads   Uses = 1 << iota // files
	Writes                   // files
	Runs                     // commands
	Fetches                  // HTTP services
	Keeps                    // state of its own
)

var useNames = [...]string{"reads", "writes", "runs", "fetches", "keeps"}

// String returns the names of the uses, such as "reads, runs", or "nothing".
func (u Uses) String() string {
	var names []string
	for i, name := range useNames {
		if u&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if names == nil {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

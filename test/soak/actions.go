//go:build linux

package main

import (
	"cmp"
	"fmt"
)

// action is one thing clients do.
type action struct {
	name   string
	weight int
	do     func(c *client) error
}

// actions are what every client does, as often as their weights say.
var actions = []action{
	{"echo", 160, (*client).echo},
	{"write_file", 48, (*client).writeFile},
	{"read_file", 48, (*client).readFile},
	{"edit_file", 40, (*client).editFile},
	{"grep", 24, (*client).grep},
	{"search_files", 24, (*client).searchFiles},
	{"switched tool", 24, (*client).listDirectory},
	{"bash", 24, (*client).bash},
	{"execute_command", 16, (*client).executeCommand},
	{"tools/list", 16, (*client).list},
	{"ping or discover", 24, (*client).ping},
	{"bad arguments", 32, (*client).badArguments},
	{"unknown tool", 16, (*client).unknownTool},
	{"refused path", 16, (*client).refusedPath},
	{"progress", 1, (*client).reportedProgress},
	{"", 8, (*client).takeBack},
	{"", 16, (*client).misspeak},
}

// act does one thing by chance.
func (c *client) act() error {
	total := 0
	for _, a := range actions {
		total += a.weight
	}
	n := c.rng.IntN(total)
	for _, a := range actions {
		if n -= a.weight; n >= 0 {
			continue
		}
		if err := a.do(c); err != nil {
			return fmt.Errorf("%s: %w", cmp.Or(a.name, "not a call"), err)
		}
		if a.name != "" {
			c.soak.tally.add("calls", a.name)
		}
		return nil
	}
	return nil
}

//go:build linux

// Probe tries what a sandbox is to refuse, and says of each try how it went. It is
// run as a command by the end-to-end tests.
//
//	probe network KIND=ADDRESS...      to reach something
//	probe change FILE DIRECTORY        to change a file, or the directory it is in
//	probe read FILE...                 to read files past their paths
//	probe flood KIND                   to use up the machine
//	probe race SIDE DIRECTORY TRIES    to make a repository of git that runs programs, with others
//	probe doors all|PID...             to get into other processes than these
package main

import (
	"fmt"
	"os"
)

func main() {
	run := map[string]func([]string){"network": network, "change": change, "read": read, "flood": flood, "doors": doors, "race": race}
	if len(os.Args) < 3 || run[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: probe network|change|read|flood|doors|race ARGUMENT...")
		os.Exit(2)
	}
	run[os.Args[1]](os.Args[2:])
}

// report says how a try went.
func report(what string, err error) {
	if err != nil {
		fmt.Printf("%s: refused: %v\n", what, err)
		return
	}
	fmt.Printf("%s: done\n", what)
}

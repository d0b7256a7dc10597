//go:build linux

package main

import (
	"fmt"
	"os"
	"time"
)

// flood uses up one thing, until it is stopped.
func flood(args []string) {
	switch args[0] {
	case "memory":
		for {
			b := make([]byte, 16<<20)
			for i := 0; i < len(b); i += os.Getpagesize() {
				b[i] = 1
			}
			kept = append(kept, b)
		}
	case "threads":
		for {
			go func() { select {} }()
			time.Sleep(time.Millisecond)
		}
	}
	fmt.Println("not known:", args[0])
}

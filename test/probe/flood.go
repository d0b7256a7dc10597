//go:build linux

package main

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
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
	case "files": // of memfd_create(2)
		for name := range 8 {
			fd, err := unix.MemfdCreate(fmt.Sprint(name), 0)
			for n := 0; err == nil && n < 64; n++ {
				_, err = unix.Write(fd, make([]byte, 1<<20))
			}
		}
		time.Sleep(time.Minute)
	case "disk": // by a file that has no name
		f, err := os.CreateTemp(".", "flood")
		if err == nil {
			err = os.Remove(f.Name())
		}
		for n := 0; err == nil && n < 50; n++ { // again and again in the same place
			_, err = f.WriteAt(make([]byte, 1<<20), 0)
			_ = f.Sync()
		}
		for n := 0; err == nil && n < 1000; n++ {
			_, err = f.Write(make([]byte, 1<<20))
			_ = f.Truncate(0)
			_, _ = f.Seek(0, 0)
		}
		time.Sleep(time.Minute)
	case "threads":
		for {
			go func() { select {} }()
			time.Sleep(time.Millisecond)
		}
	}
	fmt.Println("not known:", args[0])
}

package process

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// A goroutine that waits for another is often followed by it on the same thread, here the
// first one in many of the rounds.
func TestGoOnThread(t *testing.T) {
	first := 0
	for range 2000 {
		ran := make(chan int)
		go func() { ran <- unix.Gettid() }()
		if <-ran == unix.Getpid() {
			first++
		}
		GoOnThread(func() { ran <- unix.Gettid() })
		if <-ran == unix.Getpid() {
			t.Fatal("ran on the first thread")
		}
		runtime.Gosched()
	}
	t.Logf("a plain goroutine ran on the first thread %d times", first)
}

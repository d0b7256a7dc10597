package app

import (
	"context"
	"net"
	"os"
	"strconv"
	"time"
)

// notifier returns what tells systemd how the server is (sd_notify(3)). It takes the name of the socket from the environment: what commands and
// other servers start could speak for this one.
func notifier() (tell func(message string)) {
	conn, err := net.Dial("unixgram", os.Getenv("NOTIFY_SOCKET")) // also with an @ in front; there is none without a name
	_ = os.Unsetenv("NOTIFY_SOCKET")
	return func(message string) {
		if err == nil {
			_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = conn.Write([]byte(message))
		}
	}
}

// lives says that the server is ready and, as often as systemd wants to hear it, that it lives, until ctx ends.
func (s *serving) lives(ctx context.Context) {
	s.tell("READY=1")
	watched, _ := strconv.Atoi(os.Getenv("WATCHDOG_USEC"))
	for every := time.Duration(watched) * time.Microsecond / 2; every > 0 && ctx.Err() == nil; {
		select {
		case <-ctx.Done():
		case <-time.After(every):
			s.tell("WATCHDOG=1")
		}
	}
}

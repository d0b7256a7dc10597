package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// begin does what goes wrong before the server serves.
func begin(o options) error {
	if err := appendLine(o.starts, fmt.Sprint(os.Getpid())); err != nil {
		return err
	}
	if o.says != "" {
		fmt.Fprintln(os.Stderr, o.says)
	}
	if o.fork != "" {
		if _, err := leave(o.fork); err != nil {
			return err
		}
	}
	if _, err := os.Stat(o.until); err == nil {
		return nil
	}
	switch {
	case o.start == "hang" && o.http != "": // which hangs at requests
	case o.start == "hang": // but not for good, or each test had to end it
		_, _ = io.Copy(io.Discard, os.Stdin)
		if o.ignore != "" {
			stay()
		}
		os.Exit(0)
	case o.start == "crash":
		return errors.New("cannot open the database /var/lib/upstream.db: it is locked")
	}
	return nil
}

// appendLine adds a line to a file, if it has a name.
func appendLine(file, line string) error {
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

// leave starts a process that outlives this one, and holds its streams.
func leave(marker string) (pid int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(self, "--linger", marker)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	return cmd.Process.Pid, cmd.Process.Release()
}

// linger is what such a process does: nothing, whatever it is told, and not longer
// than any test takes.
func linger() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	time.Sleep(time.Hour)
	os.Exit(0)
}

// stay does not return. A select without cases would end a program that has nothing else
// to do.
func stay() {
	for {
		time.Sleep(time.Hour)
	}
}

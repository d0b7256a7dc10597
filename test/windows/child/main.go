// Command child is what the tests of test/windows have the server start. It keeps a
// connection to the address in its first argument, so that a test sees its end, until it is
// killed. With a second argument it starts another one of itself first, and ends.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	conn, err := net.Dial("tcp", args[0])
	if err != nil {
		return err
	}
	defer conn.Close()
	if len(args) > 1 {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		other := exec.Command(self, args[0])
		other.Stdout, other.Stderr = os.Stdout, os.Stderr // as what outlives its parent often has
		if err := other.Start(); err != nil {
			return err
		}
		_, err = io.ReadFull(conn, make([]byte, 1)) // until that has connected, too
		return err
	}
	_, err = io.Copy(io.Discard, conn)
	return err
}

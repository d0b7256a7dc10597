//go:build linux

// Netns runs a program on a machine of its own, which is the whole internet:
// every address there is belongs to it, and answers HTTP. Its names are those of
// a file. So tests see what a program connects to, and nothing leaves the machine
// that they run on.
//
//	netns -names FILE -report FILE [-ports 80,8080] PROGRAM [ARGUMENT]...
//
// The file of names is JSON: {"name.test": [["93.184.216.34"], ["127.0.0.1",
// "::1"]]} has a name lead to one address when it is first looked up, and to two
// of both families from then on. The report gets a line for each connection, with
// the address connected to, and one for each request:
//
//	connection 93.184.216.34:80
//	request 93.184.216.34:80 name.test/path
//
// The answer to /to?url=URL is a redirect to the URL; to others, it is a line of
// text. Netns exits with code 3 where the machine lets it do none of this.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// inside in place of the first argument says that this is the process in the
// namespaces.
const inside = "-inside"

// unavailable is the exit code if the machine refuses.
const unavailable = 3

func main() {
	if len(os.Args) > 1 && os.Args[1] == inside {
		os.Exit(runInside(os.Args[2:]))
	}
	cmd := exec.Command("/proc/self/exe", append([]string{inside}, os.Args[1:]...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if id := os.Geteuid(); id != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: id, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	os.Exit(run(cmd, unavailable))
}

// run runs a command with the streams of this process and returns its exit code.
func run(cmd *exec.Cmd, unstarted int) int {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM) // are for the program
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	fmt.Fprintln(os.Stderr, "netns:", err)
	return unstarted
}

func runInside(args []string) int {
	flags := flag.NewFlagSet("netns", flag.ExitOnError)
	names := flags.String("names", "", "file of names")
	report := flags.String("report", "", "file to report to")
	ports := flags.String("ports", "80,443,8080,3128", "ports that answer")
	_ = flags.Parse(args) // exits
	if flags.NArg() == 0 {
		flags.Usage()
		return 2
	}
	web, err := setUp(*names, *report, strings.Split(*ports, ","))
	if err != nil {
		fmt.Fprintln(os.Stderr, "netns:", err)
		return unavailable
	}
	defer web.finish()
	cmd := exec.Command(flags.Arg(0), flags.Args()[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return run(cmd, 1)
}

func setUp(names, report string, ports []string) (*web, error) {
	if err := ownInternet(); err != nil {
		return nil, err
	}
	if err := answerNames(names); err != nil {
		return nil, err
	}
	return serve(report, ports)
}

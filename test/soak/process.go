//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// patience is how long anything may take. An answer that takes longer is lost.
const patience = 30 * time.Second

// process is a server that runs as a child of this one.
type process struct {
	soak *soak
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser // stdio servers only
	out  io.ReadCloser  // stdio servers only
	log  string         // path of what it writes to standard error
	done chan struct{}  // closed when it has ended and been waited for
	err  error          // then: how it ended

	dying atomic.Bool // its end is no surprise
}

// start starts a server. It is in a process group of its own, so that Ctrl-C
// ends it when we say so, and it does not outlive us.
func (s *soak) start(name string, piped bool, file configFile, args ...string) (*process, error) {
	p := &process{soak: s, name: name, log: filepath.Join(s.temp, fmt.Sprintf("%s.%d.log", name, s.number())), done: make(chan struct{})}
	p.cmd = exec.Command(s.program, append([]string{"serve", "--config", file.path}, args...)...)
	p.cmd.Env = append(os.Environ(), "GOTRACEBACK=all")
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.cmd.Stderr = log
	if piped {
		if p.in, err = p.cmd.StdinPipe(); err != nil {
			return nil, err
		}
		if p.out, err = p.cmd.StdoutPipe(); err != nil {
			return nil, err
		}
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.processes[p] = struct{}{}
	return p, nil
}

// wait waits for the process, whose output has been read to its end.
func (p *process) wait() {
	p.err = p.cmd.Wait()
	p.soak.mu.Lock()
	delete(p.soak.processes, p)
	p.soak.mu.Unlock()
	close(p.done)
	if !p.dying.Load() {
		p.soak.fail(fmt.Errorf("%s ended: %v; standard error: %s", p.name, p.err, p.lastWords()))
	}
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) signal(sig os.Signal) { p.cmd.Process.Signal(sig) }

// ended waits for the process to have ended by itself, and returns how it did.
func (p *process) ended() error {
	select {
	case <-p.done:
		return p.err
	case <-time.After(patience):
		return fmt.Errorf("%s has not ended within %s", p.name, patience)
	}
}

// stop ends the process, kindly if it will.
func (p *process) stop() error {
	p.dying.Store(true)
	p.signal(syscall.SIGTERM)
	select {
	case <-p.done:
		return p.err
	case <-time.After(patience / 2):
		p.signal(syscall.SIGKILL)
		<-p.done
		return fmt.Errorf("%s did not end on SIGTERM", p.name)
	}
}

// dump ends the process and returns what its goroutines were doing.
func (p *process) dump() (goroutines, error) {
	p.dying.Store(true)
	p.signal(syscall.SIGQUIT)
	if err := p.ended(); err == nil {
		return nil, fmt.Errorf("%s ended well on SIGQUIT, which leaves no dump", p.name)
	} else if _, ok := errors.AsType[*exec.ExitError](err); !ok {
		return nil, err
	}
	b, err := os.ReadFile(p.log)
	if err != nil {
		return nil, err
	}
	_, dump, ok := bytes.Cut(b, []byte("SIGQUIT: quit"))
	if !ok {
		return nil, fmt.Errorf("%s left no dump", p.name)
	}
	return parseDump(string(dump)), nil
}

// expectedLogs are what a server may say of what we do to it.
var expectedLogs = []string{
	`toolserver: serving MCP at `,
	`toolserver: WARNING: --insecure-no-auth`,
	`"level":"warn"`, // calls that fail, as many do on purpose
	`"msg":"the configuration is wrong; the old one stays in force"`,
}

// lastWords returns the end of what the server wrote to standard error.
func (p *process) lastWords() []byte {
	b, _ := os.ReadFile(p.log) // there is nothing better to say without it
	return b[max(0, len(b)-4000):]
}

// checkLog returns an error if the server has complained of something we did
// not cause.
func (p *process) checkLog() error {
	b, err := os.ReadFile(p.log)
	if err != nil {
		return err
	}
next:
	for line := range strings.Lines(string(b)) {
		for _, expected := range expectedLogs {
			if strings.Contains(line, expected) {
				continue next
			}
		}
		return fmt.Errorf("%s wrote to standard error: %.2000s", p.name, line)
	}
	return nil
}

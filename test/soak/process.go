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
	"slices"
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
	path := filepath.Join(s.temp, fmt.Sprintf("%s.%d.log", name, s.number()))
	p := &process{soak: s, name: name, log: path, done: make(chan struct{})}
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
		p.soak.fail(fmt.Errorf("%s ended: %v; standard error: %s", p.name, p.err, p.logEnd()))
	}
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) signal(sig os.Signal) { p.cmd.Process.Signal(sig) }

// waitEnded waits for the process to have ended by itself, and returns how it did.
func (p *process) waitEnded() error {
	select {
	case <-p.done:
		return p.err
	case <-time.After(patience):
		return fmt.Errorf("%s has not ended within %s", p.name, patience)
	}
}

// stop ends the process, by force if it does not end on SIGTERM.
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
	if err := p.waitEnded(); err == nil {
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

// expectedLogs are parts of the lines a server may log.
var expectedLogs = []string{
	`toolserver: serving MCP at `,
	`toolserver: WARNING: --insecure-no-auth`,
	`"level":"warn"`, // calls that fail, as many do on purpose
	`"msg":"the configuration is wrong; the old one stays in force"`,
}

// logEnd returns the end of what the server wrote to standard error.
func (p *process) logEnd() []byte {
	b, _ := os.ReadFile(p.log) // there is nothing better to say without it
	return b[max(0, len(b)-4000):]
}

// checkLog returns an error if the server has logged something that the soak does
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

// goroutines counts the goroutines of a process by what started them, without
// those of Go itself.
type goroutines map[string]int

// parseDump reads what Go prints on SIGQUIT.
func parseDump(dump string) goroutines {
	all := goroutines{}
	for part := range strings.SplitSeq(dump, "\n\n") {
		if !strings.HasPrefix(part, "goroutine ") || strings.HasPrefix(part, "goroutine 0 ") {
			continue
		}
		by := "main"
		if _, after, ok := strings.Cut(part, "\ncreated by "); ok {
			by, _, _ = strings.Cut(after, " in goroutine")
			by, _, _ = strings.Cut(by, "\n")
		}
		if !strings.HasPrefix(by, "runtime.") {
			all[by]++
		}
	}
	return all
}

func (g goroutines) total() (n int) {
	for _, count := range g {
		n += count
	}
	return n
}

// more returns an error if g has goroutines that fresh has not.
func (g goroutines) more(fresh goroutines) error {
	var lines []string
	for by, n := range g {
		if n > fresh[by] {
			lines = append(lines, fmt.Sprintf("  %d instead of %d by %s", n, fresh[by], by))
		}
	}
	if lines == nil {
		return nil
	}
	slices.Sort(lines)
	return fmt.Errorf("%d goroutines instead of the %d of a fresh server:\n%s", g.total(), fresh.total(), strings.Join(lines, "\n"))
}

//go:build linux

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

type options struct {
	program string
	time    time.Duration
	seed    uint64
	reloads int // instead of time
}

// soak is one run of the program.
type soak struct {
	options
	ctx   context.Context // ends with the first failure, which is its cause
	fail  context.CancelCauseFunc
	temp  string     // of everything
	dir   string     // the servers' files
	file  configFile // that changes
	still configFile // that does not
	tools []string   // there must be, but for the switched one
	tally tally

	http  *httpServer
	stdio *stdioConn
	last  atomic.Uint64 // number handed out

	mu        sync.Mutex
	processes map[*process]struct{}
	abandoned []string // sessions
}

// share is the part of the time that is for warming up.
const share = 0.15

func newSoak(ctx context.Context, o options) (*soak, error) {
	program, err := filepath.Abs(o.program)
	if err != nil {
		return nil, err
	}
	o.program = program
	temp, err := os.MkdirTemp("", "soak")
	if err != nil {
		return nil, err
	}
	s := &soak{options: o, temp: temp, dir: filepath.Join(temp, "files"), processes: map[*process]struct{}{}}
	s.ctx, s.fail = context.WithCancelCause(ctx)
	s.file, s.still = configFile{filepath.Join(temp, "toolserver.yaml")}, configFile{filepath.Join(temp, "still.yaml")}
	if err := os.MkdirAll(filepath.Join(s.dir, runFolder), 0o755); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// close ends every server, whatever has happened.
func (s *soak) close() {
	s.fail(nil)
	s.mu.Lock()
	var left []*process
	for p := range s.processes {
		left = append(left, p)
	}
	s.mu.Unlock()
	for _, p := range left {
		p.stop()
	}
	os.RemoveAll(s.temp)
}

// run is the whole of the soak.
func (s *soak) run() error {
	start := time.Now()
	defer func() { s.tally.took = time.Since(start) }()
	if err := s.open(); err != nil {
		return err
	}
	watched, err := s.watch()
	if err != nil {
		return err
	}
	warmUp := time.Duration(float64(s.time) * share)
	if err := s.load("warm-up", warmUp); err != nil {
		return err
	}
	if err := s.rest(watched); err != nil {
		return err
	}
	loaded := time.Now()
	calls := s.tally.calls()
	if err := s.load("load", s.time-warmUp); err != nil {
		return err
	}
	s.tally.rate = float64(s.tally.calls()-calls) / time.Since(loaded).Seconds()
	return s.settle(watched)
}

// open starts the servers that stay, and learns which tools there are.
func (s *soak) open() (err error) {
	first := s.file.write(false)
	if s.options.reloads > 0 {
		first = s.file.writeVersion(0, false)
	}
	if err = errors.Join(first, s.still.write(false)); err != nil {
		return err
	}
	if s.http, err = s.startHTTP("http"); err != nil {
		return err
	}
	if s.stdio, err = s.startStdio("stdio", s.file); err != nil {
		return err
	}
	if err = s.stdio.initialize(s.ctx); err != nil {
		return err
	}
	s.tools, err = listTools(s.ctx, stdioLink{s.stdio, false})
	return err
}

// number returns one that was not there before.
func (s *soak) number() uint64 { return s.last.Add(1) }

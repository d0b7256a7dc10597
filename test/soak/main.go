//go:build linux

// Soak drives servers for some minutes as many clients would for hours, over
// both transports and in both generations of the protocol at once, and checks
// each answer against its request. The first answer that is wrong, late or
// unsolicited ends it. After the load, the servers must be as they were: no
// descriptor, process, goroutine or memory more than before.
//
// It reads /proc, and so needs Linux.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// The two generations of the protocol.
const (
	legacy = mcp.LATEST_LEGACY_PROTOCOL_VERSION
	modern = mcp.LATEST_PROTOCOL_VERSION
)

// warmUpShare is the share of the load that comes before the first measurement.
const warmUpShare = 0.15

type options struct {
	program string
	time    time.Duration
	seed    uint64
	reloads int // instead of time
}

// soak is one run of the program.
type soak struct {
	options
	ctx     context.Context // ends with the first failure, which is its cause
	fail    context.CancelCauseFunc
	temp    string     // has everything
	dir     string     // the servers' files
	file    configFile // that changes
	still   configFile // that does not
	tools   []string   // of the server, without the switched one
	servers []*server  // that run all the time; the first one serves HTTP
	tally   tally
	last    atomic.Uint64 // number that was handed out
	reload  int           // the last one

	mu        sync.Mutex
	processes map[*process]struct{}
	abandoned []string // sessions
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run() error {
	var o options
	flag.StringVar(&o.program, "server", "toolserver", "the server's `program`")
	flag.DurationVar(&o.time, "time", 5*time.Minute, "time of the load; the checks before and after it take about two minutes more")
	flag.IntVar(&o.reloads, "reloads", 0, "`number` of reloads to make under load, instead of everything else for some time")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "`number` that seeds the random choices")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	s, err := newSoak(ctx, o)
	if err != nil {
		return err
	}
	defer s.close()
	err = s.run()
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	s.tally.print(os.Stdout)
	if err != nil {
		return fmt.Errorf("%w\nsoak: the seed was %d", err, o.seed)
	}
	return nil
}

func newSoak(ctx context.Context, o options) (*soak, error) {
	temp, err := os.MkdirTemp("", "soak")
	if err != nil {
		return nil, err
	}
	s := &soak{options: o, temp: temp, dir: filepath.Join(temp, "files"), processes: map[*process]struct{}{}}
	s.ctx, s.fail = context.WithCancelCause(ctx)
	s.file, s.still = configFile{filepath.Join(temp, "toolserver.yaml")}, configFile{filepath.Join(temp, "still.yaml")}
	s.program, err = filepath.Abs(o.program)
	if err = errors.Join(err, os.MkdirAll(filepath.Join(s.dir, runFolder), 0o755)); err != nil {
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
func (s *soak) run() (err error) {
	start := time.Now()
	defer func() { s.tally.took = time.Since(start) }()
	if err = errors.Join(s.file.write(0, false), s.still.write(0, false)); err != nil {
		return err
	}
	if s.servers, err = s.startServers(""); err != nil {
		return err
	}
	if s.tools, err = toolNames(s.ctx, s.servers[1].link); err != nil {
		return err
	}
	if err = s.measureNew(); err != nil {
		return err
	}
	warmUp := time.Duration(float64(s.time) * warmUpShare)
	if err = s.load("warm-up", warmUp, max(1, s.reloads/5)); err != nil {
		return err
	}
	if err = s.measureWarm(); err != nil {
		return err
	}
	loaded, calls := time.Now(), s.tally.calls()
	if err = s.load("load", s.time-warmUp, s.reloads); err != nil {
		return err
	}
	s.tally.rate = float64(s.tally.calls()-calls) / time.Since(loaded).Seconds()
	return s.measureEnd()
}

// worker uses the servers until phase ends.
type worker struct {
	name  string
	count int  // in a load; as many as keep two processors busy
	many  bool // one of it works in a soak of reloads, too
	run   func(c *client, phase context.Context) error
}

var workers = []worker{
	{"http-legacy", 3, true, (*client).useSessions},
	{"http-modern", 3, true, func(c *client, phase context.Context) error { return c.useOne(phase, 0) }},
	{"stdio-legacy", 2, true, func(c *client, phase context.Context) error { return c.useOne(phase, 1) }},
	{"stdio-modern", 2, true, func(c *client, phase context.Context) error { return c.useOne(phase, 2) }},
	{"visitor", 2, false, (*client).visit},
	{"sessions", 1, false, (*client).openSessions},
	{"stream", 1, true, (*client).followSessions},
	{"listen", 1, true, func(c *client, phase context.Context) error { return c.listen(phase, 0) }},
	{"stdio-listen", 1, true, func(c *client, phase context.Context) error { return c.listen(phase, 2) }},
}

// load lets all clients work for d, or up to a reload in a soak of reloads, and
// returns when they have finished what they were doing.
func (s *soak) load(name string, d time.Duration, reloads int) error {
	begun, calls := time.Now(), s.tally.calls()
	phase, end := context.WithCancel(s.ctx)
	defer end()
	var wg sync.WaitGroup
	for _, w := range workers {
		count := w.count
		if s.reloads > 0 {
			count = min(count, 1)
			if !w.many {
				continue
			}
		}
		for i := range count {
			c := s.newClient(fmt.Sprintf("%s-%s%d", name, w.name, i))
			wg.Go(func() {
				if err := w.run(c, phase); err != nil && s.ctx.Err() == nil {
					s.fail(fmt.Errorf("%s: %w", c.name, err))
				}
			})
		}
	}
	var err error
	if s.reloads > 0 {
		err = s.reloadTo(reloads)
	} else {
		err = s.reloadFor(d)
	}
	end()
	wg.Wait()
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	fmt.Fprintf(os.Stderr, "soak: %s: %d calls in %s\n", name, s.tally.calls()-calls, time.Since(begun).Round(time.Second))
	return err
}

func (s *soak) newClient(name string) *client {
	return &client{soak: s, name: name, rng: rand.New(rand.NewPCG(s.seed, s.number())), lines: map[string][]string{}}
}

// number returns one that was not there before.
func (s *soak) number() uint64 { return s.last.Add(1) }

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

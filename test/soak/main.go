//go:build linux

// Soak drives servers for some minutes as many clients would for hours, over
// both transports and in both eras at once, and checks each answer against its
// request. The first answer that is wrong, late or not asked for ends it. When
// all is quiet again, the servers must be as they were: no descriptor, process,
// goroutine or memory more than before.
//
// It reads /proc, and so needs Linux.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

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
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "`number` from which chance begins")
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
	if o.reloads > 0 {
		err = s.runReloads()
	} else {
		err = s.run()
	}
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	s.tally.print(os.Stdout)
	if err != nil {
		return fmt.Errorf("%w\nsoak: the seed was %d", err, o.seed)
	}
	return nil
}

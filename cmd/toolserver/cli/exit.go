package cli

import (
	"context"
	_ "embed"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/toolserver/toolserver/domain"
)

// Exit codes. A program that a signal ends exits with 128 plus the signal's number.
const (
	exitOK      = 0
	exitFailed  = 1   // the tool failed, a check failed, or the policy denies the call
	exitUsage   = 2   // the command line, the arguments or the configuration are wrong
	exitTimeout = 124 // with --exit-code: the command timed out
	exitSignal  = 128
)

// exitCodes is what help says about them.
//
//go:embed exitcodes.txt
var exitCodes string

// exitError is an error with the exit code it leads to.
type exitError struct {
	code int
	err  error // nil if everything is printed already
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usage(err error) error { return &exitError{exitUsage, err} }

// codeOf returns the exit code of an error.
func (g *globals) codeOf(err error) int {
	if err == nil {
		return exitOK
	}
	if signal := g.signal.Load(); signal != 0 {
		return exitSignal + int(signal)
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	switch domain.CodeOf(err) {
	case domain.CodeInvalidParams, domain.CodeToolNotFound, domain.CodeToolDisabled:
		return exitUsage
	}
	return exitFailed
}

// interruptible returns a context that SIGINT and SIGTERM end. A second signal terminates the program.
func (g *globals) interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			if number, ok := s.(syscall.Signal); ok {
				g.signal.Store(int32(number))
			}
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { signal.Stop(signals); cancel() }
}

// Package jq selects parts of JSON with programs of jq.
//
// A program can loop, and grow without limit in one step that nothing can cancel. So it runs
// in a process of its own, the same program in a hidden mode ([RunChild]), with bounds of
// time, memory and output, and is killed with all that it has taken.
package jq

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/share"
	"github.com/toolserver/toolserver/wire/rawjson"
)

const (
	maxProgram = 4000 // bytes
	maxTime    = 10 * time.Second
	maxAtOnce  = 4
)

// Selector runs programs. It is safe for concurrent use.
type Selector struct {
	self  string
	slots *share.Pool
}

// New returns a selector. Self is the path of this program, whose main calls [RunChild].
func New(self string) *Selector { return &Selector{self, share.NewQueue(maxAtOnce)} }

// Check reports what of a program can be seen to be wrong without running it, as what follows
// the name of an argument.
func Check(program string) error {
	if len(program) > maxProgram {
		return fmt.Errorf("has more than %d bytes", maxProgram)
	}
	query, err := gojq.Parse(program)
	if wrong, ok := errors.AsType[*gojq.ParseError](err); ok {
		err = fmt.Errorf("%w at byte %d", err, wrong.Offset-len(wrong.Token)+1)
	}
	if err == nil {
		_, err = gojq.Compile(query)
	}
	if err != nil {
		return fmt.Errorf("is no program of jq: %w", err)
	}
	return nil
}

// Select returns what a program outputs for value, a line each: texts as they are, and the rest
// as JSON. If that fails the result says why, and what rest says, if it is not nil.
func (s *Selector) Select(ctx context.Context, tool, program string, value []byte, rest func() string) (domain.ToolResult, error) {
	if err := Check(program); err != nil {
		return domain.ToolResult{}, domain.InvalidArgument(tool, "select", err.Error())
	}
	text, problem := s.run(ctx, program, value)
	if problem != "" {
		problem = "select " + problem
		if rest != nil {
			problem += ". " + rest()
		}
		return domain.Failure("select_failed", problem, "Correct select, and give it to read_large_result with the id of the result."), nil
	}
	r := domain.Text(text)
	r.Empty = "[select returned nothing]"
	return r, nil
}

// run has a child run a program.
func (s *Selector) run(ctx context.Context, program string, value []byte) (text, problem string) {
	if rawjson.Valid(value) != nil {
		return "", "applies to results that are JSON; this is not"
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	owner := domain.SessionOf(ctx).Principal.ID
	if err := s.slots.Acquire(ctx, owner, 1); err != nil {
		return "", "had to wait too long for others"
	}
	defer s.slots.Release(owner, 1)
	cmd := exec.CommandContext(ctx, s.self)
	cmd.Args, cmd.Env, cmd.WaitDelay = []string{childName}, []string{}, time.Second
	cmd.Stdin = bytes.NewReader(append(rawjson.AppendString(nil, program), value...))
	out, err := cmd.Output()
	failed, ended := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return strings.TrimSuffix(string(out), "\n"), ""
	case ctx.Err() != nil:
		return "", fmt.Sprintf("took too long, %v or what was left of the call", maxTime)
	case ended && failed.ExitCode() == codeWrong:
		return "", strings.TrimSpace(string(failed.Stderr))
	case ended: // by itself, or by the runtime
		return "", fmt.Sprintf("takes more than %d MiB of memory", maxMemory>>20)
	}
	return "", "cannot be run: " + err.Error()
}

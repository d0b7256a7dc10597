// Package jq selects parts of JSON with programs of jq.
//
// A program can loop, and grow without limit in one step that nothing can cancel. So it runs
// in a process of its own, the same program in a hidden mode ([RunChild]), with bounds of
// time, memory and output, and is killed with all that it has taken.
package jq

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
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
	owner := call.SessionOf(ctx).Principal.ID
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

// childName is argv[0] of a child.
const childName = "toolserver: select"

const (
	codeWrong = 1 // the program is, as standard error says
	codeEnded = 3

	maxMemory = 512 << 20
	maxOutput = 16 << 20
)

// RunChild is the life of a child, if this process was started as one. It returns the exit
// status for main.
func RunChild() (code int, isChild bool) {
	if len(os.Args) != 1 || os.Args[0] != childName {
		return 0, false
	}
	end := func() { os.Exit(codeEnded) }
	time.AfterFunc(maxTime+time.Second, end) // the parent is gone
	go func() {
		taken := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for metrics.Read(taken); taken[0].Value.Uint64() <= maxMemory; metrics.Read(taken) {
			time.Sleep(5 * time.Millisecond)
		}
		end()
	}()
	if err := runProgram(); err != nil {
		fmt.Fprintf(os.Stderr, "%.1000v\n", err)
		return codeWrong, true
	}
	return 0, true
}

// runProgram reads a program and a value, and writes what that program outputs for it.
func runProgram() error {
	var program string
	var value any
	in := json.NewDecoder(os.Stdin)
	in.UseNumber()
	if err := in.Decode(&program); err != nil {
		return err
	}
	if err := in.Decode(&value); err != nil {
		return err
	}
	query, err := gojq.Parse(program)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	for results := query.Run(value); ; out.WriteByte('\n') {
		v, more := results.Next()
		if !more {
			_, err := os.Stdout.Write(out.Bytes())
			return err
		}
		text, isText := v.(string)
		if failure, ok := v.(error); ok {
			return fmt.Errorf("failed: %w", failure)
		} else if !isText {
			b, err := gojq.Marshal(v)
			if err != nil {
				return err
			}
			text = string(b)
		}
		if out.WriteString(text); out.Len() > maxOutput {
			return fmt.Errorf("outputs more than %d MiB", maxOutput>>20)
		}
	}
}

package jq

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime/metrics"
	"time"

	"github.com/itchyny/gojq"
)

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

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// drained is how many calls are in flight when the input ends.
const drained = 50

// measureDrain counts the calls that are answered although the input ended when
// they were in flight, as it does for whoever pipes requests into a server.
func measureDrain(ctx context.Context, l *lab) error {
	dir, err := l.dir("drain")
	if err != nil {
		return err
	}
	for _, x := range []struct {
		what string
		req  request
	}{{"echo", call("echo", `{"message":"hello"}`)}, {"sleep of 200 ms", nap}} {
		answered := map[string][]float64{}
		drain := func(name string, argv ...string) target {
			return target{name, func() (sample, error) {
				s, n, err := l.drainOnce(ctx, dir, name, argv, x.req)
				answered[name] = append(answered[name], float64(n))
				return s, err
			}}
		}
		c, err := compare(l.rounds, []target{
			drain("toolserver", l.manytools(dir)...),
			drain("mcp-go", l.program("mcpgo"), "-tools=2"),
		})
		if err != nil {
			return err
		}
		reached := atLeast("answered", slices.Min(answered["toolserver"]), drained, number)
		for _, name := range c.names {
			c.rename(name, fmt.Sprintf("%s, %.0f/%d answered", name, slices.Min(answered[name]), drained))
		}
		l.table.add(fmt.Sprintf("%d calls in flight at end of input: %s", drained, x.what), c, reached)
	}
	return nil
}

// drainOnce sends a server all calls at once and then no more, and counts the
// results it gets. The sample's time is how long the server takes to end.
func (l *lab) drainOnce(ctx context.Context, dir, name string, argv []string, r request) (sample, int, error) {
	p, err := l.start(ctx, dir, name, argv...)
	if err != nil {
		return sample{}, 0, err
	}
	defer p.stop()
	if err := p.handshake(); err != nil {
		return sample{}, 0, err
	}
	watch := time.AfterFunc(hang, func() { p.cmd.Process.Kill() })
	defer watch.Stop()
	var out []byte
	for id := range drained {
		out = append(r.append(out, p.id+1+id), '\n')
	}
	if _, err := p.in.Write(out); err != nil {
		return sample{}, 0, fmt.Errorf("%s: %w", name, err)
	}
	begin := time.Now()
	p.in.Close()
	answered := map[int]bool{}
	for {
		line, err := p.out.Next()
		if errors.Is(err, io.EOF) {
			return sample{p50: time.Since(begin)}, len(answered), nil
		}
		if err != nil {
			return sample{}, 0, fmt.Errorf("%s: %w", name, err)
		}
		good := bytes.Contains(line, []byte(`"result":`)) && !bytes.Contains(line, []byte(`"isError":true`))
		if id, ok := answerID(line); ok && id > p.id && good {
			answered[id] = true
		}
	}
}

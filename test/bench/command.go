package main

import (
	"context"
	"fmt"
	"os/exec"
	"time"
)

// measureCommand measures running true, by each of the two tools, beside what
// bash needs for it that is just started and waited for.
func measureCommand(ctx context.Context, l *lab) error {
	dir, err := l.dir("command")
	if err != nil {
		return err
	}
	const command = `{"command":"true"}`
	inFlight := []int{1, 8}
	results, err := l.contest(ctx, dir, inFlight, []contender{
		l.ours("bash", dir, call("bash", command)),
		l.ours("execute_command", dir, call("execute_command", command)),
	}, nil)
	if err != nil {
		return err
	}
	floor, err := compare(l.rounds, []target{{"bash -c true, no server", func() (sample, error) { return shellOnce(ctx, l.time) }}})
	if err != nil {
		return err
	}
	results[0].names = append(results[0].names, floor.names...)
	results[0].samples[floor.names[0]] = floor.samples[floor.names[0]]
	for i, c := range results {
		var bars []bar
		for _, tool := range []string{"bash", "execute_command"} {
			bars = append(bars, atMost(tool+" CPU", c.median(tool, cpu), float64(time.Millisecond), nanos))
			if inFlight[i] > 1 {
				bars = append(bars, atLeast(tool+" per second", c.median(tool, rate), 200, number))
			}
		}
		l.table.add(fmt.Sprintf("run true, %d in flight", inFlight[i]), c, bars...)
	}
	return nil
}

// shellOnce runs bash -c true over and over for d, and takes the time of the
// shells alone.
func shellOnce(ctx context.Context, d time.Duration) (sample, error) {
	var used time.Duration
	var took []time.Duration
	start := time.Now()
	for len(took) == 0 || time.Since(start) < d {
		begin := time.Now()
		cmd := exec.CommandContext(ctx, "bash", "-c", "true")
		if err := cmd.Run(); err != nil {
			return sample{}, err
		}
		took = append(took, time.Since(begin))
		used += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	s := newSample(time.Since(start), took)
	s.cpu = used / time.Duration(len(took))
	return s, nil
}

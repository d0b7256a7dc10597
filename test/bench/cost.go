package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// costDirectories are by the number of entries in them.
var costDirectories = []int{50, 100_000}

// measureCost compares what a command costs in a small and in a large directory: the
// first call of a server, later calls and 8 in flight, beside bash alone.
func measureCost(ctx context.Context, l *lab) error {
	dirs := map[int]string{}
	for _, n := range costDirectories {
		dir, err := l.entries(n)
		if err != nil {
			return err
		}
		dirs[n] = dir
	}
	floor, err := compare(l.rounds, []target{{"bash -c true, no server", func() (sample, error) { return shellOnce(ctx, l.time) }}})
	if err != nil {
		return err
	}
	for _, command := range []string{"true", "echo hi"} {
		if err := l.costOf(ctx, dirs, command, floor); err != nil {
			return err
		}
	}
	return l.firstCalls(ctx, dirs)
}

// entries makes a directory of n entries, of which half are in directories of a thousand.
func (l *lab) entries(n int) (string, error) {
	dir, err := l.dir("entries-" + strconv.Itoa(n))
	if err != nil {
		return "", err
	}
	for i := range n {
		at := dir
		if n > 1000 && i%2 == 0 {
			at = filepath.Join(dir, "d"+strconv.Itoa(i/2000))
			if err := os.MkdirAll(at, 0o755); err != nil {
				return "", err
			}
		}
		if err := os.WriteFile(filepath.Join(at, strconv.Itoa(i)), nil, 0o644); err != nil {
			return "", err
		}
	}
	return dir, nil
}

func inEntries(n int) string { return fmt.Sprintf("bash in %d entries", n) }

// costOf measures later calls, one and eight at a time.
func (l *lab) costOf(ctx context.Context, dirs map[int]string, command string, floor contest) error {
	var all []contender
	for _, n := range costDirectories {
		all = append(all, l.ours(inEntries(n), dirs[n], call("bash", fmt.Sprintf(`{"command":%q}`, command))))
	}
	inFlight := []int{1, 8}
	results, err := l.contest(ctx, dirs[costDirectories[0]], inFlight, all, nil)
	if err != nil {
		return err
	}
	small, large, plain := inEntries(costDirectories[0]), inEntries(costDirectories[1]), floor.names[0]
	for i, c := range results {
		c.names = append(c.names, plain)
		c.samples[plain] = floor.samples[plain]
		bars := []bar{
			atMost("CPU, large to small", c.ratio(large, small, cpu), 1.2, times),
			atMost("CPU to bash alone", c.median(small, cpu)/c.median(plain, cpu), 1.5, times),
		}
		if inFlight[i] > 1 {
			bars = append(bars, atLeast("large per second", c.median(large, rate), 200, number))
		}
		l.table.add(fmt.Sprintf("cost of %s, %d in flight", command, inFlight[i]), c, bars...)
	}
	return nil
}

// firstCalls measures the first call of a server.
func (l *lab) firstCalls(ctx context.Context, dirs map[int]string) error {
	var all []contender
	for _, n := range costDirectories {
		all = append(all, l.ours(inEntries(n), dirs[n], call("bash", `{"command":"true"}`)))
	}
	var targets []target
	for _, x := range l.withBefore(all) {
		targets = append(targets, target{x.name, func() (sample, error) { return l.firstCall(ctx, x) }})
	}
	c, err := compare(l.rounds, targets)
	if err != nil {
		return err
	}
	small, large := inEntries(costDirectories[0]), inEntries(costDirectories[1])
	l.table.add("cost of the first call", c, atMost("CPU, large to small", c.ratio(large, small, cpu), 1.2, times))
	return nil
}

// firstCall starts a server and measures one call.
func (l *lab) firstCall(ctx context.Context, x contender) (s sample, err error) {
	p, err := l.start(ctx, l.temp, x.name, x.argv...)
	if err != nil {
		return s, err
	}
	defer p.stop()
	if err := p.handshake(); err != nil {
		return s, err
	}
	before, err := treeCPU(p.pid())
	if err != nil {
		return s, err
	}
	begin := time.Now()
	if _, err := p.once(x.req); err != nil {
		return s, err
	}
	s.p50 = time.Since(begin)
	after, err := treeCPU(p.pid())
	s.cpu = after - before
	return s, err
}

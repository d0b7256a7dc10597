package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// measureFiles compares how servers list a directory, and measures what depends on the
// size of one: a name that is missing in it, and writing a file there.
func measureFiles(ctx context.Context, l *lab) error {
	return errors.Join(l.compareListing(ctx), l.measureMissing(ctx), l.measureWriting(ctx))
}

// filesIn makes a directory of n files.
func (l *lab) filesIn(name string, n int) (string, error) {
	dir, err := l.dir(name)
	if err != nil {
		return "", err
	}
	for i := range n {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%06d.txt", i)), nil, 0o644); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// compareListing compares how servers list a directory of 200 files.
func (l *lab) compareListing(ctx context.Context) error {
	const n = 200
	dir, err := l.filesIn("listed", n)
	if err != nil {
		return err
	}
	npm, err := l.npmPeers(ctx)
	if err != nil {
		return fmt.Errorf("npm's server-filesystem is missing: %w", err)
	}
	list := call("list_directory", fmt.Sprintf(`{"path":%q}`, dir))
	inFlight := []int{1, 8}
	results, err := l.contest(ctx, dir, inFlight, []contender{
		l.ours("toolserver", dir, list),
		{name: "mark3labs filesystem", argv: []string{l.program("markfiles"), dir}, req: list},
		{
			name: "npm server-filesystem", argv: []string{"node", filepath.Join(npm, "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"), dir},
			warmUp: nodeWarmUp, req: list,
		},
	}, nil)
	for i, c := range results {
		l.table.add(fmt.Sprintf("list_directory, %d files, %d in flight", n, inFlight[i]), c, lowest(c, "toolserver")...)
	}
	return err
}

// measureMissing measures suggestions for a name that does not exist.
func (l *lab) measureMissing(ctx context.Context) error {
	dir, err := l.filesIn("missing", l.files)
	if err != nil {
		return err
	}
	req := call("read_file", `{"path":"file00012.txt"}`)
	var targets []target
	for _, x := range l.withBefore([]contender{l.ours("toolserver", dir, req)}) {
		p, err := l.start(ctx, dir, x.name, x.argv...)
		if err != nil {
			return err
		}
		defer p.stop()
		if err := p.handshake(); err != nil {
			return err
		}
		targets = append(targets, target{x.name, func() (sample, error) { return p.loadFailing(req, l.time) }})
	}
	c, err := compare(l.rounds, targets)
	if err != nil {
		return err
	}
	l.table.add(fmt.Sprintf("read_file of a missing name, %d files beside it", l.files), c,
		atMost("CPU", c.median("toolserver", cpu), float64(5*time.Millisecond), nanos))
	return nil
}

// loadFailing makes calls that fail, one at a time.
func (p *process) loadFailing(r request, d time.Duration) (s sample, err error) {
	before, err := treeCPU(p.pid())
	if err != nil {
		return s, err
	}
	first := p.id
	if s, err = p.loadBeside(r, nil, d); err != nil {
		return s, err
	}
	after, err := treeCPU(p.pid())
	s.cpu = (after - before) / time.Duration(p.id-first)
	return s, err
}

// measureWriting compares writing a file in a small and in a large directory.
func (l *lab) measureWriting(ctx context.Context) error {
	var all []contender
	var top string
	for _, n := range []int{10, 10_000} {
		dir, err := l.filesIn(fmt.Sprintf("written-%d", n), n)
		if err != nil {
			return err
		}
		top = dir
		all = append(all, l.ours(fmt.Sprintf("toolserver, %d files there", n), dir, call("write_file", `{"path":"new.txt","content":"some text"}`)))
	}
	results, err := l.contest(ctx, top, []int{1}, all, nil)
	if err != nil {
		return err
	}
	c := results[0]
	l.table.add("write_file, 1 in flight", c, atMost("CPU, large to small", c.ratio(all[1].name, all[0].name, cpu), 1.2, times))
	return nil
}

// longResults is how many results that are too long a server is given to keep.
const longResults = 250

// measureLongResults measures the memory of a server itself after results that it
// keeps because they are too long.
func measureLongResults(ctx context.Context, l *lab) error {
	dir, err := l.dir("longresults")
	if err != nil {
		return err
	}
	echo := call("echo", fmt.Sprintf(`{"message":%q}`, sourceText(1<<20)))
	var targets []target
	for _, x := range l.withBefore([]contender{l.ours("toolserver", dir, echo)}) {
		targets = append(targets, target{x.name, func() (s sample, err error) {
			p, err := l.start(ctx, dir, x.name, x.argv...)
			if err != nil {
				return s, err
			}
			defer p.stop()
			if err := p.handshake(); err != nil {
				return s, err
			}
			for range longResults {
				if _, err := p.once(x.req); err != nil {
					return s, err
				}
			}
			m, err := memoryOf(p.pid())
			s.rss = m.rss
			return s, err
		}})
	}
	c, err := compare(min(l.rounds, 3), targets)
	if err != nil {
		return err
	}
	l.table.add(fmt.Sprintf("%d echoes of 1 MiB over stdio", longResults), c, atMost("RSS", c.median("toolserver", rss), 64<<20, mebi))
	return nil
}

// Bench measures the server beside its peers, in one run, and prints a table.
//
// Every target of a comparison runs once in each round, so that all of them
// meet the same noise; figures are medians over the rounds, and ratios are
// formed inside a round. The figure to trust is CPU per call: the time the
// server and its children spend on a processor, read from /proc, which other
// programs disturb least. The bars printed beside the figures are for reading;
// nothing fails because a machine is slow.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"
)

// part measures one thing and adds it to the lab's table.
type part struct {
	name string
	run  func(context.Context, *lab) error
}

var parts = []part{
	{"executor", measureExecutor},
	{"startup", measureStartup},
	{"readfile", measureReadFile},
	{"files", measureFiles},
	{"longresults", measureLongResults},
	{"command", measureCommand},
	{"cost", measureCost},
	{"list", measureList},
	{"walk", measureWalk},
	{"echo", measureEcho},
	{"http", measureHTTP},
	{"connections", measureConnections},
	{"sizes", measureSizes},
	{"parallel", measureParallel},
	{"drain", measureDrain},
	{"sessions", measureSessions},
	{"streams", measureStreams},
	{"principals", measurePrincipals},
	{"replicas", measureReplicas},
	{"hop", measureHop},
	{"hopsizes", measureHopSizes},
	{"hopslow", measureHopSlow},
	{"servers", measureServers},
	{"isolation", measureIsolation},
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	var l lab
	only := flag.String("only", "", "measure only these `parts`, separated by commas: "+strings.Join(names, ", "))
	document := flag.String("write", "", "a `document` in which the table replaces that of the last run")
	flag.StringVar(&l.server, "server", "toolserver", "the server's `program`")
	flag.StringVar(&l.before, "before", "", "a `commit` whose server is measured beside the one under test")
	flag.StringVar(&l.cache, "cache", "build/bench", "`directory` that keeps the peers between runs")
	flag.IntVar(&l.rounds, "rounds", 7, "rounds of each comparison")
	flag.IntVar(&l.starts, "starts", 40, "rounds of the comparison of starts")
	flag.DurationVar(&l.time, "time", 400*time.Millisecond, "time of one target in one round")
	flag.IntVar(&l.files, "files", 100_000, "files of the tree that is searched, and of a directory where a name is missing")
	flag.IntVar(&l.mebibytes, "large", 1024, "size of the one file that is searched, in `MiB`")
	flag.Parse()
	wanted := names
	if *only != "" {
		wanted = strings.Split(*only, ",")
	}
	for _, name := range wanted {
		if !slices.Contains(names, name) {
			return fmt.Errorf("-only: no part %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := l.open(ctx); err != nil {
		return err
	}
	defer l.close()
	if *document != "" { // before measuring, which takes its time
		if err := checkDocument(*document); err != nil {
			return err
		}
	}
	l.table.note("%s", l.conditions(ctx))
	if err := l.measure(ctx, wanted); err != nil {
		return err
	}
	l.table.print(os.Stdout)
	if *document == "" {
		return nil
	}
	return l.write(*document)
}

// measure runs the parts that are wanted. One that fails leaves a note in the
// table, and the others still run.
func (l *lab) measure(ctx context.Context, wanted []string) error {
	for _, p := range parts {
		if !slices.Contains(wanted, p.name) {
			continue
		}
		start := time.Now()
		err := p.run(ctx, l)
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		if err != nil {
			l.table.note("%s was not measured: %v", p.name, err)
		}
		fmt.Fprintf(os.Stderr, "bench: %s took %.0f s\n", p.name, time.Since(start).Seconds())
	}
	return nil
}

// conditions says what a run depends on.
func (l *lab) conditions(ctx context.Context) string {
	text := fmt.Sprintf("%s/%s, %d CPUs, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		version, _, _ := strings.Cut(strings.TrimSpace(string(release)), "-") // without what a builder adds
		text += ", Linux " + version
	}
	if commit, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output(); err == nil {
		text += ", commit " + strings.TrimSpace(string(commit))
	}
	if l.before != "" {
		text += " (before: " + l.before + ")"
	}
	text += fmt.Sprintf(", %d rounds of %v, %d starts", l.rounds, l.time, l.starts)
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		text += ", load average before the run " + strings.Join(strings.Fields(string(load))[:3], " ")
	}
	return text + "."
}

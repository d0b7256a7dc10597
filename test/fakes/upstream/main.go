// Upstream is an MCP server that breaks every rule it is told to, for tests of
// what is in front of it. It speaks both generations of the protocol, over stdio
// and, with --http, over Streamable HTTP, for which it prints its URL. It is built
// without any MCP library, since these do not break rules.
//
// What it does wrong from its start is said by flags, and what it does wrong in a
// call by the tool that is called and its arguments.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/toolserver/toolserver/wire/jsonrpc"
)

// options are the flags.
type options struct {
	http    string        // address to serve at instead of stdio
	name    string        // of the server, which the tool about says
	speaks  string        // both, legacy or modern
	start   string        // what goes wrong at the start: hang or crash
	until   string        // file whose existence ends what goes wrong at the start
	starts  string        // file that gets a line for each start
	noise   string        // what is written before each message on stdout, by kinds
	drip    time.Duration // between two bytes of each message
	offer   string        // sets of tools
	tools   int           // how many ordinary ones there are besides
	page    int           // tools of a page; 0 is all of them
	cursor  string        // endless or repeat: how pagination does not end
	change  string        // file that says how the tools differ from before
	ignore  string        // eof, term: what does not end it
	fork    string        // marker of a grandchild that it leaves behind
	status  int           // of every HTTP response
	taskDir string        // where tasks are kept when the program ends
	says    string        // on standard error, at the start
}

func main() {
	var o options
	flag.StringVar(&o.http, "http", "", "serve Streamable HTTP at this `address` and print the URL")
	flag.StringVar(&o.name, "name", "upstream", "the server's `name`")
	flag.StringVar(&o.speaks, "speaks", "both", "protocol versions: both, legacy or modern")
	flag.StringVar(&o.start, "start", "", "what goes wrong at the start: hang or crash")
	flag.StringVar(&o.until, "until", "", "nothing goes wrong at the start once this `file` exists")
	flag.StringVar(&o.starts, "starts", "", "add a line to this `file` at each start")
	flag.StringVar(&o.noise, "noise", "", "`kinds` of garbage before each message: "+strings.Join(noiseKinds, ", "))
	flag.DurationVar(&o.drip, "drip", 0, "time between two bytes of each message")
	flag.StringVar(&o.offer, "offer", "good", "`sets` of tools: "+strings.Join(setNames(), ", "))
	flag.IntVar(&o.tools, "tools", 0, "offer so many ordinary tools, too")
	flag.IntVar(&o.page, "page", 0, "tools of a page; 0 is all")
	flag.StringVar(&o.cursor, "cursor", "", "pagination that does not end: endless or repeat")
	flag.StringVar(&o.change, "change", "", "`file` that says how the tools have changed: description, schema, annotations, gone, new")
	flag.StringVar(&o.ignore, "ignore", "", "what does not end the program: eof, term")
	flag.StringVar(&o.fork, "fork", "", "start a process that holds the streams and ignores TERM; its command line has this `marker`")
	flag.IntVar(&o.status, "status", 0, "answer every HTTP request with this status")
	flag.StringVar(&o.says, "says", "", "write this `text` to standard error at the start")
	flag.StringVar(&o.taskDir, "tasks-dir", "", "keep tasks in this `directory`, for the next process")
	lingerer := flag.String("linger", "", "be the process that --fork starts")
	flag.Parse()
	if *lingerer != "" {
		linger()
	}
	os.Exit(run(o))
}

func run(o options) int {
	if err := begin(o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	ctx := context.Background()
	if has(o.ignore, "term") {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	}
	u := &upstream{options: o, sessions: map[*session]bool{}, tasks: map[string]*task{}}
	if o.http != "" {
		return u.serveHTTP(ctx)
	}
	u.serveStdio(ctx, os.Stdin, os.Stdout)
	if has(o.ignore, "eof") {
		stay()
	}
	return 0
}

// upstream is the server, and who is connected to it.
type upstream struct {
	options

	mu       sync.Mutex
	sessions map[*session]bool
	tasks    map[string]*task
	last     int // ID of an HTTP session
}

// maxMessage is what the server takes.
const maxMessage = 64 << 20

// serveStdio serves one client until its input ends, and then lets calls finish.
func (u *upstream) serveStdio(ctx context.Context, in io.Reader, out io.Writer) {
	ctx, cancel := context.WithCancel(ctx)
	var calls sync.WaitGroup
	defer calls.Wait()
	defer cancel()
	var mu sync.Mutex
	s := u.open(func(line []byte) {
		mu.Lock()
		defer mu.Unlock()
		for _, kind := range strings.Split(u.noise, ",") {
			_, _ = out.Write(noise(kind))
		}
		u.write(out, append(line, '\n'))
	})
	defer u.close(s)
	lines := jsonrpc.NewLineReader(in, maxMessage)
	for {
		line, err := lines.Next()
		if err != nil {
			return
		}
		if line = append([]byte(nil), line...); len(line) > 0 {
			s.take(ctx, line, s.out, calls.Go)
		}
	}
}

// write writes a message: byte by byte, if it drips.
func (u *upstream) write(w io.Writer, b []byte) {
	if u.drip == 0 {
		_, _ = w.Write(b) // who does not read gets nothing
		return
	}
	for i := range b {
		if _, err := w.Write(b[i : i+1]); err != nil {
			return
		}
		if f, ok := w.(interface{ Flush() }); ok {
			f.Flush()
		}
		time.Sleep(u.drip)
	}
}

// has reports whether a list, such as "eof,term", has a word.
func has(list, word string) bool {
	return strings.Contains(","+list+",", ","+word+",")
}

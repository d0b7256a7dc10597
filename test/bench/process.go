package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/toolserver/toolserver/wire/jsonrpc"
)

// process is a server that runs as a child. Its standard error is thrown away.
type process struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	pipe io.ReadCloser // what it writes, of which out has the lines
	out  *jsonrpc.LineReader
	id   int // of the last request
}

// start starts a server in dir, which sees no configuration of the user's.
func (l *lab) start(ctx context.Context, dir, name string, argv ...string) (*process, error) {
	return l.startWith(ctx, dir, name, nil, argv...)
}

// startWith starts a server with more in its environment.
func (l *lab) startWith(ctx context.Context, dir, name string, env []string, argv ...string) (*process, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+l.temp, "XDG_STATE_HOME="+l.temp, "TOOLSERVER_CONFIG=")
	cmd.Env = append(cmd.Env, env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &process{name: name, cmd: cmd, in: in, pipe: out, out: jsonrpc.NewLineReader(out, maxLine)}, nil
}

// maxLine is the length of the longest message of a server.
const maxLine = 1 << 30

// stopTime is how long a server may take to end when its input has.
const stopTime = 5 * time.Second

// stop ends the server.
func (p *process) stop() {
	p.in.Close()
	kill := time.AfterFunc(stopTime, func() { p.cmd.Process.Kill() })
	defer kill.Stop()
	io.Copy(io.Discard, p.pipe)
	p.cmd.Wait()
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func stopAll(servers []*process) {
	for _, p := range servers {
		p.stop()
	}
}

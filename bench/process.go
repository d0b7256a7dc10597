package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"time"
)

// process is a server that runs as a child. Its standard error is thrown away.
type process struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	id   int // of the last request

	partial []byte // what does not fit into out's buffer
}

// start starts a server in dir, which sees no configuration of the user's.
func (l *lab) start(ctx context.Context, dir, name string, argv ...string) (*process, error) {
	return l.startWith(ctx, dir, name, nil, argv...)
}

// startWith starts a server with more in its environment.
func (l *lab) startWith(ctx context.Context, dir, name string, env []string, argv ...string) (*process, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+l.temp, "TOOLSERVER_CONFIG=")
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
	return &process{name: name, cmd: cmd, in: in, out: bufio.NewReaderSize(out, 256<<10)}, nil
}

// stopTime is how long a server may take to end when its input has.
const stopTime = 5 * time.Second

// stop ends the server.
func (p *process) stop() {
	p.in.Close()
	kill := time.AfterFunc(stopTime, func() { p.cmd.Process.Kill() })
	defer kill.Stop()
	io.Copy(io.Discard, p.out)
	p.cmd.Wait()
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func stopAll(servers []*process) {
	for _, p := range servers {
		p.stop()
	}
}

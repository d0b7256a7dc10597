package clients

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/sandbox/process"
	"github.com/toolserver/toolserver/upstream"
	"github.com/toolserver/toolserver/upstream/mcpclient"
)

// tryTime bounds a check of an entry, stopTime how long the server may then take to end, maxSaid what
// is repeated of what it writes.
const (
	tryTime  = 30 * time.Second
	stopTime = 5 * time.Second
	maxSaid  = 2000
)

// ErrNotInstalled says that a client has no entry of that name.
var ErrNotInstalled = errors.New("there is no such entry")

// Try starts what the entry in the file starts, as clients do: in the environment of a program that
// no shell has started, in the root directory. It returns how many tools the server has.
func (s *Site) Try(ctx context.Context, name, version string) (tools int, err error) {
	server, err := s.server(name)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	opts := mcpclient.Options{Name: "toolserver-install", Version: version, Handshake: true, ConnectTimeout: tryTime}
	if server.URL != "" {
		header := http.Header{}
		if auth := server.Headers["Authorization"]; auth != "" {
			header.Set("Authorization", "Bearer "+resolved(strings.TrimPrefix(auth, "Bearer ")))
		}
		c, err := mcpclient.ConnectHTTP(ctx, &http.Client{}, server.URL, header, opts)
		if err != nil {
			return 0, err
		}
		defer c.Close()
		return count(ctx, c)
	}
	argv := slices.Concat(server.Command, server.Args)
	if len(argv) == 0 || argv[0] == "" {
		return 0, errors.New("the entry has neither a command nor an address")
	}
	return try(ctx, argv, environment(&server), opts)
}

func count(ctx context.Context, c *mcpclient.Client) (int, error) {
	tools, err := c.List(ctx, "tools/list")
	return len(tools), err
}

func try(ctx context.Context, argv, env []string, opts mcpclient.Options) (tools int, err error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = env, filepath.VolumeName(os.Getenv("SYSTEMROOT"))+string(filepath.Separator), stopTime
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	said := &process.Tail{}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	streams := struct {
		io.ReadCloser
		io.Writer
	}{out, in}
	c, err := mcpclient.Connect(ctx, streams, opts)
	if err == nil {
		tools, err = count(ctx, c)
		c.Close()
	}
	in.Close() // which has it end
	ended := time.AfterFunc(stopTime, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait() // its end says nothing that an answer has not said
	ended.Stop()
	if text := strings.TrimSpace(said.String()); err != nil && text != "" {
		err = fmt.Errorf("%w; it wrote: %s", err, text[max(0, len(text)-maxSaid):])
	}
	return tools, err
}

// environment returns what clients give a server: a few variables of their own, and those of the
// entry.
func environment(s *upstream.Settings) (all []string) {
	names := []string{"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"}
	if runtime.GOOS == "windows" {
		names = []string{
			"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMFILES",
			"SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE",
		}
	}
	for _, name := range append(names, s.Inherit...) {
		if value, ok := os.LookupEnv(name); ok {
			all = append(all, name+"="+value)
		}
	}
	for name, value := range s.Env {
		all = append(all, name+"="+resolved(value))
	}
	return all
}

var (
	reference = lazyregexp.New(`^(\$?\{[^$]*\}|\$\w+)$`)
	word      = lazyregexp.New(`\w+`)
)

// resolved returns what a value stands for: the variable of this process, if it is a reference.
func resolved(value string) string {
	if !reference().MatchString(value) {
		return value
	}
	words := word().FindAllString(value, -1)
	if len(words) == 0 {
		return value
	}
	return os.Getenv(words[len(words)-1])
}

package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/sandbox/command"
)

// endless is a script that reads its input and does not end. It is canceled once it has read.
const endless = "sh -c cat >/dev/null; sleep 1000"

// filter runs a script over a file with the given content, which was read already.
func filter(t *testing.T, p Policy, content, script string) (string, error) {
	t.Helper()
	s, _ := newProcesses(t, p)
	path := filepath.Join(p.WorkingDirectory, "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Read(make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	argv := strings.SplitN(script, " ", 3)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if script == endless {
		go func() {
			defer cancel()
			for ctx.Err() == nil { // until it runs and has read: the offset is that of its standard input, too
				if at, err := f.Seek(0, io.SeekCurrent); err != nil || at == int64(len(content)) {
					return
				}
				time.Sleep(time.Millisecond)
			}
		}()
	}
	res, err := s.For("reader").Filters().Run(ctx, FilterRequest{Argv: argv, File: f, Output: 1 << 10})
	if err != nil {
		return "", err
	}
	if res.Canceled {
		return "canceled", nil
	}
	return res.Stdout.Head(1 << 10), nil
}

// A filter reads the file that it is given from its beginning and no other, writes nothing,
// and runs whatever allowlists say.
func TestFilters(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := Policy{WorkingDirectory: dir, Tools: map[string]ToolPolicy{"bash": {AllowedCommands: []command.Rule{}}}}
	out, err := filter(t, p, "content", "sh -c cat")
	if err != nil || out != "content" {
		t.Errorf("%q %v", out, err)
	}
	s, _ := newProcesses(t, p)
	if s.commands["bash"].Confined() {
		outside := filepath.Join("/var/tmp", rand.Text())
		t.Cleanup(func() { os.Remove(outside) })
		for _, what := range []string{"cat " + secret, "echo x >" + filepath.Join(dir, "new"), "echo x >" + outside, "echo x >/dev/tcp/127.0.0.1/1"} {
			out, err := filter(t, p, "content", "sh -c "+"if ("+what+") 2>/dev/null; then echo done; else echo refused; fi")
			if err != nil || !strings.HasPrefix(out, "refused") {
				t.Errorf("%s: %q %v", what, out, err)
			}
		}
	}
	if out, err := filter(t, p, "content", endless); out != "canceled" {
		t.Errorf("canceled: %q %v", out, err)
	}
	if _, err := filter(t, p, "content", "cat"); err == nil || !strings.Contains(err.Error(), "does not declare") {
		t.Errorf("not declared: %v", err)
	}
	var missing *MissingProgramError
	if _, err := filter(t, p, "content", "no-such-program"); !errors.As(err, &missing) {
		t.Errorf("missing: %v", err)
	}
	p.Tools = map[string]ToolPolicy{"bash": {DeniedCommands: command.Rules("sh")}}
	var denied *DeniedError
	if _, err := filter(t, p, "content", "sh -c cat"); !errors.As(err, &denied) {
		t.Errorf("denied: %v", err)
	}
	s, _ = newProcesses(t, p)
	if _, err := s.For("bash").Filters().Run(context.Background(), FilterRequest{Argv: []string{"sh"}}); err == nil || !strings.Contains(err.Error(), "does not declare") {
		t.Errorf("another tool: %v", err)
	}
}

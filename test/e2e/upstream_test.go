package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/process"
	"github.com/toolserver/toolserver/sandbox/runner"
	"github.com/toolserver/toolserver/upstream/mcpclient"
)

// pipes are the streams of a child.
type pipes struct {
	io.Reader
	io.WriteCloser
}

// TestUpstreamParts is what talking to another server takes: a confined child that is
// held, or HTTP, and a client, in protocol versions of both generations.
func TestUpstreamParts(t *testing.T) {
	t.Parallel()
	dir, marker := t.TempDir(), newMarker()
	launcher := process.NewLauncher(process.Options{Supervisor: binary()})
	t.Cleanup(launcher.Close)
	owner := sandbox.Owner{Tool: "upstream", Holds: true, Reads: "read_file", Writes: "write_file"}
	kernel := sandbox.NewKernel(runner.New(launcher, runner.Options{}))
	box, err := sandbox.New(sandbox.Policy{WorkingDirectory: dir, Owners: []sandbox.Owner{owner}}, kernel)
	must(t, err)
	remote := startHTTP(t, fixtureBinary(t), dir)
	local := filepath.Join(dir, "fixture") // where it can be seen if the other one is in /tmp
	program, err := os.ReadFile(fixtureBinary(t))
	must(t, err)
	must(t, os.WriteFile(local, program, 0o755))
	for _, version := range []string{"2025-11-25", modernVersion} {
		options := mcpclient.Options{Name: "t", Version: "1", Protocol: version, Handlers: map[string]mcpclient.Handler{
			"elicitation/create":     func(context.Context, json.RawMessage) (any, error) { return map[string]any{"action": "decline"}, nil },
			"sampling/createMessage": func(context.Context, json.RawMessage) (any, error) { return map[string]any{"model": "poet"}, nil },
		}}
		argv := []string{"sh", "-c", `sleep 1000.` + marker + ` & >../outside; exec "$@"`, "sh", local, "serve", "--stdio", dir}
		child, err := box.For("upstream").Processes().Start(t.Context(), sandbox.ProcessRequest{Argv: argv, Stderr: os.Stderr})
		must(t, err)
		stdio, err := mcpclient.Connect(t.Context(), pipes{child.Stdout, child.Stdin}, options)
		must(t, err)
		overHTTP, err := mcpclient.ConnectHTTP(t.Context(), http.DefaultClient, remote.url, nil, options)
		must(t, err)
		for _, c := range []*mcpclient.Client{stdio, overHTTP} {
			do := func(ctx context.Context, what, at string, progress func(mcpclient.Progress)) (string, error) {
				result, err := c.CallTool(ctx, "fixture_do", map[string]string{"do": what, "at": at}, progress)
				return string(result), err
			}
			seen := 0
			_, err := do(t.Context(), "progress", "", func(mcpclient.Progress) { seen++ })
			asked, err2 := do(t.Context(), "ask", "", nil)
			sampled, err3 := do(t.Context(), "sample", "", nil)
			if must(t, errors.Join(err, err2, err3)); seen == 0 || !strings.Contains(asked, "decline") || !strings.Contains(sampled, "poet") {
				t.Errorf("%d reports of progress, %s, %s", seen, asked, sampled)
			}
			at, err := os.MkdirTemp(dir, "call")
			must(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				noted(t, at, "begun", 1)
				cancel()
			}()
			if _, err := do(ctx, "hold", at, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("canceled: %v", err)
			}
			noted(t, at, "stopped", 1)
		}
		stdio.Close()
		overHTTP.Close()
		child.Close()
		gone(t, marker)
		if _, err := os.Stat(filepath.Join(dir, "..", "outside")); err == nil {
			t.Error("the child is not confined")
		}
	}
}

package confine

import (
	"context"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/sandbox/process"
)

// A command connects to what the server serves for it, and to nothing else; jobs at a time
// have each their own; and what serves ends with the command.
func TestProxied(t *testing.T) {
	if landlockABI() == 0 || !Probe().Seccomp || !Probe().NetNamespace {
		t.Skip("no Landlock, no seccomp or no network namespaces here")
	}
	needs(t, "bash")
	self, err := process.Self()
	if err != nil {
		t.Fatal(err)
	}
	outside, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer outside.Close()
	_, port, err := net.SplitHostPort(outside.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	launcher := process.NewLauncher(process.Options{Supervisor: self})
	defer launcher.Close()
	g := newGround(t)
	began, ended := make(chan struct{}, 8), make(chan struct{}, 8)
	start := func(answer, script string) (*process.Process, func() string) {
		t.Helper()
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		serve := func(ctx context.Context, l net.Listener) {
			began <- struct{}{}
			defer func() { ended <- struct{}{} }()
			defer context.AfterFunc(ctx, func() { l.Close() })()
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				_, _ = io.WriteString(c, answer+"\n") // the command tells
				c.Close()
			}
		}
		p, err := launcher.Start(t.Context(), process.Spec{
			Shell: script, Dir: g.work, Env: process.MinimalEnv(nil), Stdout: w, Stderr: w, Serve: serve,
			Confine: mustEncode(t, Spec{Write: []string{g.work}, Network: Proxied}),
		})
		if err != nil {
			t.Fatal(err)
		}
		w.Close()
		return p, func() string {
			b, err := io.ReadAll(r)
			if err != nil {
				t.Error(err)
			}
			return string(b)
		}
	}
	ask := "exec 3<>/dev/tcp/" + strings.Replace(ProxyAddress, ":", "/", 1) + "; cat <&3; ls /proc/self/fd | wc -l; exec 3>&-; "
	_, said := start("first", ask+ask+"exec 3<>/dev/tcp/127.0.0.1/"+port)
	_, saidToo := start("second", ask)
	if out := said(); strings.Count(out, "first\n") != 2 || !strings.Contains(out, "refused") || !strings.Contains(out, "\n5\n") {
		t.Errorf("got %q", out)
	}
	if out := saidToo(); !strings.HasPrefix(out, "second\n") {
		t.Errorf("got %q", out)
	}
	p, said := start("third", ask+"sleep 100")
	for range 3 {
		<-began
	}
	p.Kill()
	said()
	if _, err := p.Wait(); err != nil {
		t.Error(err)
	}
	for range 3 {
		<-ended // or the test times out
	}
	// What nobody serves is closed.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	none, err := launcher.Start(t.Context(), process.Spec{
		Shell: ask, Env: process.MinimalEnv(nil), Stdout: w, Stderr: w, Confine: mustEncode(t, Spec{Network: Proxied}),
	})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(r); err != nil || !strings.Contains(string(b), "refused") && !strings.Contains(string(b), "reset") {
		t.Errorf("got %q, %v", b, err)
	}
	if _, err := none.Wait(); err != nil {
		t.Error(err)
	}
}

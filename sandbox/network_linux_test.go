package sandbox

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A long-lived process has a proxy, too, unless it is not confined.
func TestNetworkOfProcesses(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, _ := newProcesses(t, Policy{WorkingDirectory: dir, Settings: Settings{Network: Network{Allow: []string{"a.example"}}}})
	if !s.commands["upstream"].Confined() || !s.kernel.support.NetNamespace {
		t.Skip("no network namespaces here")
	}
	if _, err := os.Stat("/bin/bash"); err != nil {
		t.Skip(err)
	}
	const script = `echo "$HTTPS_PROXY$https_proxy,$NO_PROXY"; exec 3<>/dev/tcp/127.0.0.1/3128 && printf 'CONNECT b.example:443 HTTP/1.1\r\n\r\n' >&3 && cat <&3 & wait`
	for _, tt := range []struct {
		unconfined bool
		set, want  string
	}{
		{false, "", "http://127.0.0.1:3128http://127.0.0.1:3128,localhost,127.0.0.1,::1"},
		{false, "own", "http://127.0.0.1:3128http://127.0.0.1:3128,own"}, {true, "own", ",own"},
	} {
		request := ProcessRequest{Argv: []string{"/bin/bash", "-c", script}, Env: map[string]string{}, Unconfined: tt.unconfined}
		if tt.set != "" {
			request.Env["NO_PROXY"] = tt.set
		}
		if tt.unconfined {
			request.Argv[2], _, _ = strings.Cut(script, ";")
		}
		child, err := s.For("upstream").Processes().Start(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		defer child.Close()
		lines := bufio.NewScanner(child.Stdout)
		if !lines.Scan() || lines.Text() != tt.want {
			t.Errorf("%+v: the variables are %q", tt, lines.Text())
		}
		if tt.unconfined {
			continue
		}
		if !lines.Scan() || !strings.Contains(lines.Text(), "400 ") && !strings.Contains(lines.Text(), "403 ") {
			t.Errorf("%+v: the proxy answers %q", tt, lines.Text())
		}
	}
}

// The lists of a policy are checked when it is made.
func TestNetworkLists(t *testing.T) {
	for _, n := range []Settings{{Network: Network{Allow: []string{"*.*"}}}, {Network: Network{Allow: []string{}}, PrivateHosts: []string{"10/8"}}} {
		if _, err := New(Policy{WorkingDirectory: t.TempDir(), Settings: n, Owners: owners}, NewKernel(nil)); err == nil {
			t.Errorf("%+v is accepted", n)
		}
	}
}

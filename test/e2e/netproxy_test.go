//go:build linux

package e2e

import (
	"archive/zip"
	"bytes"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolserver/toolserver/sandbox/confine"
)

// A village is what commands may reach in these tests: servers of this machine that have
// what tool chains ask for. Its host is none of those that programs reach without a proxy.
type village struct {
	host        string // a name if the machine has one, else an address
	plain, tls  *httptest.Server
	outside     *httptest.Server // of which policy says nothing
	outsiders   atomic.Int64
	certificate []byte
}

func newVillage(t *testing.T) *village {
	t.Helper()
	v := &village{host: "127.0.0.2"}
	if name, err := os.Hostname(); err == nil {
		if list, err := net.LookupHost(name); err == nil && len(list) == 1 && list[0] == "127.0.0.1" && name != "localhost" {
			v.host = name
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/hello", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "hello %s\n", r.URL.RawQuery) })
	v.serveGit(t, mux)
	v.serveNpm(t, mux)
	v.servePip(t, mux)
	v.serveGo(t, mux)
	v.plain, v.tls = httptest.NewUnstartedServer(mux), httptest.NewUnstartedServer(mux)
	address := "127.0.0.1:0"
	if v.host == "127.0.0.2" {
		address = "127.0.0.2:0"
	}
	for _, s := range []*httptest.Server{v.plain, v.tls} {
		l, err := net.Listen("tcp", address)
		must(t, err)
		s.Listener.Close()
		s.Listener = l
		t.Cleanup(s.Close)
	}
	v.plain.Start()
	v.tls.StartTLS()
	v.certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: v.tls.Certificate().Raw})
	v.outside = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { v.outsiders.Add(1) }))
	t.Cleanup(v.outside.Close)
	return v
}

// at returns where a server of the village is.
func (v *village) at(s *httptest.Server) string {
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	return v.host + ":" + port
}

// config allows the village.
func (v *village) config() string {
	hosts := fmt.Sprintf("['%s', '%s']", v.at(v.plain), v.at(v.tls))
	return "sandbox:\n  network: {allow: " + hosts + "}\n  private_hosts: " + hosts + "\n"
}

func (v *village) serveGit(t *testing.T, mux *http.ServeMux) {
	t.Helper()
	root := t.TempDir()
	for _, argv := range [][]string{
		{"git", "init", "-q", "-b", "main", "work"}, {"git", "-C", "work", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "in the village"},
		{"git", "clone", "-q", "--bare", "work", "repo.git"},
	} {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = root, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + root}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("no git to serve: %v: %s", err, out)
		}
	}
	path, err := exec.LookPath("git")
	must(t, err)
	mux.Handle("/repo.git/", &cgi.Handler{
		Path: path, Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "HOME=" + root}, Stderr: io.Discard,
	})
}

// serveNpm serves the package village, which has one file.
func (v *village) serveNpm(t *testing.T, mux *http.ServeMux) {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "package"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "package", "package.json"), []byte(`{"name":"village","version":"1.0.0","main":"index.js"}`), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "package", "index.js"), []byte(`console.log("from the village")`), 0o644))
	archive, err := exec.Command("tar", "-C", dir, "-czf", "-", "package").Output()
	must(t, err)
	sum := sha512.Sum512(archive)
	mux.HandleFunc("/npm/village", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{ // the client tells
			"name": "village", "dist-tags": map[string]string{"latest": "1.0.0"}, "versions": map[string]any{"1.0.0": map[string]any{
				"name": "village", "version": "1.0.0",
				"dist": map[string]string{"tarball": "http://" + r.Host + "/npm/village-1.0.0.tgz", "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])},
			}},
		})
	})
	mux.HandleFunc("/npm/village-1.0.0.tgz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive) }) // the client tells
}

func archive(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
		w, err := z.Create(name)
		must(t, err)
		_, err = io.WriteString(w, text)
		must(t, err)
	}
	must(t, z.Close())
	return b.Bytes()
}

func (v *village) servePip(t *testing.T, mux *http.ServeMux) {
	const info = "village-1.0.0.dist-info/"
	wheel := archive(t, map[string]string{
		"village.py": "print('from the village')\n", info + "METADATA": "Metadata-Version: 2.1\nName: village\nVersion: 1.0.0\n",
		info + "WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n", info + "RECORD": "village.py,,\n" + info + "METADATA,,\n" + info + "WHEEL,,\n" + info + "RECORD,,\n",
	})
	mux.HandleFunc("/pip/village/", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `<!DOCTYPE html><html><body><a href="/pip/village-1.0.0-py3-none-any.whl">village-1.0.0-py3-none-any.whl</a></body></html>`)
	})
	mux.HandleFunc("/pip/village-1.0.0-py3-none-any.whl", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(wheel) }) // the client tells
}

func (v *village) serveGo(t *testing.T, mux *http.ServeMux) {
	const mod = "module example.com/village\n\ngo 1.20\n"
	source := archive(t, map[string]string{
		"example.com/village@v1.0.0/go.mod": mod, "example.com/village@v1.0.0/village.go": "package village\n\nconst Name = \"from the village\"\n",
	})
	for name, text := range map[string]string{"list": "v1.0.0\n", "v1.0.0.info": `{"Version":"v1.0.0"}`, "v1.0.0.mod": mod, "v1.0.0.zip": string(source)} {
		mux.HandleFunc("/go/example.com/village/@v/"+name, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }) // the client tells
	}
}

// TestNetworkAllow has tool chains reach what a list allows through the proxy, without
// settings of their own, and nothing reach anything else.
func TestNetworkAllow(t *testing.T) {
	v := newVillage(t)
	plain, secure := "http://"+v.at(v.plain), "https://"+v.at(v.tls)
	direct := strings.NewReplacer("http://", "", ":", "/").Replace(v.outside.URL)
	program := func(name string) bool { _, err := exec.LookPath(name); return err == nil }
	eachAccount(t, func(t *testing.T, who account) {
		g := newGround(t, who)
		g.file("ca.pem", string(v.certificate), 0o644)
		b := g.open(setup{config: v.config()})
		for _, tt := range []struct {
			program, command, want string
		}{
			{"curl", "curl -sS '" + plain + "/hello?a=%zz;b'", "hello a=%zz;b"},
			{"curl", "curl -sS -k " + secure + "/hello?tls", "hello tls"},
			{"curl", "curl -sS --socks5-hostname " + confine.ProxyAddress + " " + plain + "/hello?socks", "hello socks"},
			{"curl", "curl -sS -m 20 https://evil.example/", "the sandbox refused a connection to evil.example:443: not in sandbox.network.allow (" + v.at(v.plain) + ", " + v.at(v.tls) + ")"},
			{"curl", "curl -sS -m 20 http://evil.example/", "[the sandbox refused a connection to evil.example:80: not in sandbox.network.allow ("},
			{"curl", "curl -sS -m 20 --socks5-hostname " + confine.ProxyAddress + " http://169.254.169.254/", "refused a connection to 169.254.169.254:80"},
			{"curl", "curl -sS -m 20 --proxy http://" + confine.ProxyAddress + " --noproxy '' " + v.outside.URL, "refused a connection to " + strings.TrimPrefix(v.outside.URL, "http://")},
			{"curl", "curl -sS -m 20 --proxy http://" + confine.ProxyAddress + " --noproxy '' 'http://[::1]:1/'", "refused a connection to [::1]:1"},
			{"curl", "curl -sS -m 20 --noproxy '*' " + plain + "/hello; echo code $?", "code 7"},
			{"curl", "curl -sS -m 20 " + v.outside.URL, "Failed to connect"}, // a server of the command's own is not there
			{"bash", "exec 3<>/dev/tcp/" + direct, "refused"},
			{"bash", "exec 3<>/dev/udp/1.1.1.1/53", "unreachable"},
			{"perl", `perl -MSocket=:all -e 'socket(S,AF_INET6,SOCK_STREAM,0) and connect(S,pack_sockaddr_in6(443,inet_pton(AF_INET6,"2606:4700::1111"))) or die "no: $!"'`, "no: "},
			{"perl", `perl -e 'socket(S,17,3,0) or die "no: $!"'`, "no: "},
			{"python3", "python3 -c \"import urllib.request as u; print(u.urlopen('" + plain + "/hello?python').read())\"", "hello python"},
			{"python3", "python3 -c \"import urllib.request as u; u.urlopen('https://evil.example/')\"", "[the sandbox refused a connection to evil.example:443"},
			{"python3", "python3 -m http.server --bind 127.0.0.1 8000 >log 2>&1 & for i in $(seq 100); do curl -sSf http://localhost:8000/ca.pem && break; sleep 0.1; done 2>&1 | tail -1", "END CERTIFICATE"},
			{"git", "export GIT_SSL_NO_VERIFY=1; git clone -q " + secure + "/repo.git cloned && git -C cloned fetch && git -C cloned log --format=%s", "in the village"},
			{"git", "GIT_TERMINAL_PROMPT=0 git clone https://evil.example/repo.git", "the sandbox refused a connection to evil.example:443"},
			{"npm", "mkdir -p n && cd n && echo '{}' > package.json && npm install --cache ../npm --no-audit --no-fund --registry " + plain + "/npm village && node -e 'require(\"village\")'", "from the village"},
			{"pip", "python3 -m pip install -q --disable-pip-version-check --no-deps --target p --index-url " + plain + "/pip/ --trusted-host " + v.host + " village; PYTHONPATH=p python3 -c 'import village'", "from the village"},
			{"go", "mkdir -p m && cd m && export GOPROXY=" + plain + "/go GONOSUMDB=* GOFLAGS=-mod=mod GOMODCACHE=$PWD/../mod; go mod init example.com/m && go get example.com/village && cat $GOMODCACHE/example.com/village@v1.0.0/village.go", "from the village"},
		} {
			switch {
			case !program(tt.program):
				t.Logf("there is no %s here", tt.program)
				continue
			case tt.program == "go" && v.host == "127.0.0.2":
				t.Log("Go asks no proxy for 127.0.0.2, and this machine has no name")
				continue
			}
			if o := b.call("bash", map[string]any{"command": tt.command, "timeout": 600}); !strings.Contains(o.text, tt.want) {
				t.Errorf("%s\n%v", tt.command, o)
			}
		}
		if n := v.outsiders.Load(); n != 0 {
			t.Errorf("%d requests came out", n)
		}
		b.stop()
	})
}

// TestNetworkAllowJobs has jobs keep their proxies and the rules they began with, while
// commands get those in force, and says what jobs were refused.
func TestNetworkAllowJobs(t *testing.T) {
	v := newVillage(t)
	g := newGround(t, account{"own", os.Geteuid()})
	file := filepath.Join(g.dir, "config.yaml")
	g.configure(file, v.config())
	b := g.open(setup{file: file})
	ask := "curl -sS http://" + v.at(v.plain) + "/hello?"
	started := b.call("bash", map[string]any{"background": true, "command": ask + "one; while [ ! -e go ]; do sleep 0.05; done; " + ask + "two; curl -sS http://evil.example/; echo; echo end; sleep 100"})
	_, id, _ := strings.Cut(started.text, "[job ")
	id, _, _ = strings.Cut(id, " ")
	g.configure(file, "sandbox: {network: {allow: [a.example]}}\n")
	eventually(t, "the new rules are in force", func() bool { return strings.Contains(b.bash(ask+"new").text, "(a.example)") })
	g.file("go", "", 0o644)
	var said outcome
	eventually(t, "the job came to its end", func() bool {
		said = b.call("bash_jobs", map[string]any{"action": "read", "job": id})
		return strings.Contains(said.text, "\nend\n")
	})
	for _, want := range []string{"hello one\nhello two\n", "[the sandbox refused a connection to evil.example:80: not in sandbox.network.allow (" + v.at(v.plain)} {
		if !strings.Contains(said.text, want) {
			t.Errorf("the job says %v, want %q", said, want)
		}
	}
	b.stop()
}

// TestNetworkAllowWithout has a machine without network namespaces.
func TestNetworkAllowWithout(t *testing.T) {
	v := newVillage(t)
	eachAccount(t, func(t *testing.T, who account) {
		g := newGround(t, who)
		b := g.open(setup{config: v.config(), without: "namespaces"})
		o := b.bash("env | grep -i _proxy; curl -sS -m 20 http://" + v.at(v.plain) + "/hello; curl -sS -m 20 " + v.outside.URL)
		if strings.Contains(o.text, "hello") || strings.Contains(o.text, confine.ProxyAddress) || !strings.Contains(o.text, "not enforced by the kernel: network: allow") {
			t.Errorf("got %v", o)
		}
		b.stop()
		text, code := g.run(setup{config: v.config() + "  enforcement: required\n", without: "namespaces"})
		if code == 0 || !strings.Contains(text, "network: allow cannot be enforced: there are no network namespaces") {
			t.Errorf("required: %d, %s", code, text)
		}
		b = g.open(setup{config: v.config() + "  enforcement: parse_only\n"})
		if o := b.bash("env | grep -ci _proxy"); !strings.HasPrefix(o.text, "0\n") {
			t.Errorf("parse_only: %v", o)
		}
		b.stop()
	})
	if n := v.outsiders.Load(); n != 0 {
		t.Errorf("%d requests came out", n)
	}
}

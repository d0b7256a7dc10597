package deploy

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// public is the name in the examples.
const public = "tools.example.com"

// freePort returns one of loopback that nothing listens on at the moment.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}

// await tries something until it succeeds, for half a minute.
func await(t *testing.T, what string, try func() error) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for tick := time.Tick(20 * time.Millisecond); ; {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-tick:
		case <-deadline:
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// A daemon is a program that runs until the test ends it.
type daemon struct {
	*exec.Cmd
	log   string
	ended chan struct{}
}

func start(t *testing.T, dir, program string, args ...string) *daemon {
	t.Helper()
	d := &daemon{Cmd: exec.Command(program, args...), log: filepath.Join(dir, filepath.Base(program)+".log"), ended: make(chan struct{})}
	file, err := os.OpenFile(d.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	must(t, err)
	defer file.Close()
	d.Stdout, d.Stderr = file, file
	must(t, d.Start())
	go func() { _ = d.Wait(); close(d.ended) }()
	t.Cleanup(func() {
		_ = d.Process.Signal(syscall.SIGTERM)
		select {
		case <-d.ended:
		case <-time.After(time.Second):
			_ = d.Process.Kill()
		}
		if t.Failed() {
			text, _ := os.ReadFile(d.log)
			t.Logf("%s: %s", program, text[max(0, len(text)-3000):])
		}
	})
	return d
}

// A replica is a server with a token for ann.
type replica struct {
	*daemon
	t                  *testing.T
	dir, address, name string
}

func newReplica(t *testing.T, work, name, entry string, apart bool) *replica {
	t.Helper()
	r := &replica{t: t, dir: t.TempDir(), name: name, address: freePort(t)}
	must(t, os.WriteFile(filepath.Join(r.dir, "config.yaml"), fmt.Appendf(nil, `working_directory: %s
state_directory: %s/state
server:
  http: %s
  public_url: https://%s
  trusted_proxies: [127.0.0.1]
  drain_delay: 5s
  grace: 20s
  keys: [{id: k1, file: k1.key}]
  tokens:
%ssandbox: {env: {REPLICA: %s}}
logging: {format: json}
`, work, r.dir, r.address, public, entry, name), 0o600))
	key := "the same for all replicas"
	if apart {
		key = name
	}
	must(t, os.WriteFile(filepath.Join(r.dir, "k1.key"), bytes.Repeat([]byte(key), 16), 0o600))
	r.run()
	return r
}

// run starts it, and waits until it is ready.
func (r *replica) run() {
	r.t.Helper()
	r.daemon = start(r.t, r.dir, toolserver(r.t), "serve", "--config", filepath.Join(r.dir, "config.yaml"))
	await(r.t, "replica "+r.name, func() error { return r.ready() })
}

func (r *replica) ready() error {
	resp, err := http.Get("http://" + r.address + "/readyz")
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%d", resp.StatusCode)
	}
	return nil
}

// calls returns how many it has served.
func (r *replica) calls() int {
	text, err := os.ReadFile(r.log)
	must(r.t, err)
	return bytes.Count(text, []byte(`"msg":"call"`))
}

// A balancer passes requests on to two addresses.
type balancer struct {
	*daemon
	transport *http.Transport // of clients, for which it has the public name
}

// said reports whether its log matches a pattern so often.
func (b *balancer) said(pattern string, times int) error {
	text, err := os.ReadFile(b.log)
	if got := len(regexp.MustCompile(pattern).FindAll(text, -1)); got < times {
		return fmt.Errorf("%d times %q: %v: %s", got, pattern, err, text[max(0, len(text)-300):])
	}
	return nil
}

// certificate writes one for the public name, alone and with its key in one file, and returns a pool with it.
func certificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{public}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	for name, content := range map[string][]byte{"tls.crt": certPEM, "tls.key": keyPEM, public + ".pem": append(certPEM, keyPEM...)} {
		must(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return pool
}

// newBalancer starts nginx or haproxy with its example, in which addresses and paths, and what change names, are others.
func newBalancer(t *testing.T, program string, upstreams [2]string, change ...string) *balancer {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is missing", program)
	}
	dir := t.TempDir()
	pool := certificate(t, dir)
	address := freePort(t)
	replace := append([]string{"10.0.0.11:8080", upstreams[0], "10.0.0.12:8080", upstreams[1]}, change...)
	var check, run []string
	config := filepath.Join(dir, program+".conf")
	switch program {
	case "nginx":
		temporary := "http {\n"
		for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
			temporary += fmt.Sprintf("    %s_temp_path %s/%s;\n", kind, dir, kind)
		}
		replace = append(replace, "http {\n", temporary, "/etc/nginx/tls", dir, "/run/", dir+"/", "/var/log/nginx", dir,
			"listen 80;", "listen "+freePort(t)+";", "        listen [::]:80;\n", "", "listen 443 ", "listen "+address+" ", "        listen [::]:443 ssl http2;\n", "")
		check, run = []string{"-t", "-c", config, "-p", dir}, []string{"-c", config, "-p", dir, "-g", "daemon off;"}
	case "haproxy":
		replace = append(replace, "maxconn 20000", "maxconn 500", "/etc/haproxy", dir, "bind :80", "bind "+freePort(t), "bind :443", "bind "+address)
		check, run = []string{"-c", "-f", config}, []string{"-db", "-f", config}
	}
	example, err := filepath.Glob("../../deploy/" + program + "/*.c*f*")
	if err != nil || len(example) != 1 {
		t.Fatalf("%q: %v", example, err)
	}
	text, err := os.ReadFile(example[0])
	must(t, err)
	for i := 0; i < len(change); i += 2 {
		if !strings.Contains(string(text), change[i]) {
			t.Fatalf("%s does not say %q", example[0], change[i])
		}
	}
	must(t, os.WriteFile(config, []byte(strings.NewReplacer(replace...).Replace(string(text))), 0o644))
	if out, err := exec.Command(program, check...).CombinedOutput(); err != nil || strings.Contains(strings.ToLower(string(out)), "warn") {
		if os.Geteuid() == 0 || err != nil || program == "haproxy" { // nginx warns that who is not root has no other user
			t.Fatalf("%v: %s", err, out)
		}
	}
	b := &balancer{daemon: start(t, dir, program, run...), transport: &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
		TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true,
	}}
	await(t, program, func() error {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err
	})
	return b
}

// connect has a client connect through it.
func (b *balancer) connect(token, version string) (*mcp.ClientSession, error) {
	e := endpoint{"https://" + public + "/mcp", b.transport}
	return e.connect(token, version)
}

const modern, legacy = "2026-07-28", "2025-11-25"

// TestBalancers has real clients call through the examples, while one replica after the other is restarted.
func TestBalancers(t *testing.T) {
	program := toolserver(t)
	for name, example := range map[string]struct {
		balancer string
		change   []string
		versions []string // of the clients that it is for
		both     bool     // replicas serve one client
		restart  bool
	}{
		"nginx":                {"nginx", nil, []string{modern, legacy}, true, true},
		"nginx without keys":   {"nginx", []string{"# hash $http_authorization", "hash $http_authorization"}, []string{modern, legacy}, false, false},
		"haproxy":              {"haproxy", nil, []string{modern, legacy}, true, true},
		"haproxy without keys": {"haproxy", []string{"default_backend shared", "default_backend apart"}, []string{modern, legacy}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work := t.TempDir()
			ann, entry := token(t, program, "ann")
			replicas := [2]*replica{newReplica(t, work, "one", entry, !example.both), newReplica(t, work, "two", entry, !example.both)}
			b := newBalancer(t, example.balancer, [2]string{replicas[0].address, replicas[1].address}, example.change...)
			for _, version := range example.versions {
				for range 5 {
					session, err := b.connect(ann, version)
					if err != nil {
						t.Fatalf("%s: %v", version, err)
					}
					if got := session.InitializeResult(); got != nil && got.ProtocolVersion != version {
						t.Errorf("it speaks %s, not %s", got.ProtocolVersion, version)
					}
					for i := range 4 {
						text := fmt.Sprintf("call %d", i)
						if got := call(session, "echo", map[string]any{"message": text}); !strings.Contains(got, text) {
							t.Errorf("%s: %s", version, got)
						}
					}
					session.Close()
				}
			}
			if one, two := replicas[0].calls(), replicas[1].calls(); (one > 0 && two > 0) != example.both || one+two != 20*len(example.versions) {
				t.Errorf("the replicas served %d and %d calls", one, two)
			}
			if example.restart {
				sticky := example.versions
				if example.balancer == "nginx" { // a session there has no replica of its own
					sticky = []string{modern}
				}
				restart(t, b, replicas, work, ann, sticky)
			}
		})
	}
}

// restart restarts one replica after the other under load. No call fails, nor does one that takes long, nor one of a session whose
// replica still serves; with nginx, each of the three callers may have been unlucky twice.
func restart(t *testing.T, b *balancer, replicas [2]*replica, work, ann string, versions []string) {
	over, failed, unlucky := make(chan struct{}), atomic.Int64{}, atomic.Int64{}
	var load sync.WaitGroup
	for range 3 {
		load.Go(func() {
			session, err := b.connect(ann, modern)
			if err != nil {
				t.Errorf("connect: %v", err)
				return
			}
			defer session.Close()
			for {
				select {
				case <-over:
					return
				default:
				}
				if got := call(session, "echo", map[string]any{"message": "under load"}); strings.Contains(got, "Bad Gateway") {
					unlucky.Add(1)
				} else if !strings.Contains(got, "under load") && failed.Add(1) < 5 {
					t.Errorf("under load: %s", got)
				}
			}
		})
	}
	stop := sync.OnceFunc(func() { close(over); load.Wait() })
	defer stop()
	for round := range replicas {
		// Of each version, a call that takes long, all of them at one replica: the one that got the first.
		var long sync.WaitGroup
		var stopped *replica
		for _, version := range versions {
			seconds := "8" // longer than it goes on to listen
			if version == legacy {
				seconds = "3" // then the session ends, and the SDK gives its calls up
			}
			for try := 0; ; try++ {
				session, err := b.connect(ann, version)
				must(t, err)
				begun := fmt.Sprintf("begun-%d-%s-%d-", round, version, try)
				long.Go(func() {
					defer session.Close()
					if got := call(session, "bash", map[string]any{"command": "touch " + begun + "$REPLICA; sleep " + seconds + "; echo over"}); !strings.Contains(got, "over") {
						t.Errorf("a %s call that takes long: %s", version, got)
					}
				})
				var at string
				await(t, "the long call", func() error {
					found, _ := filepath.Glob(filepath.Join(work, begun+"*"))
					if len(found) != 1 {
						return fmt.Errorf("%q", found)
					}
					at = strings.TrimPrefix(filepath.Base(found[0]), begun)
					return nil
				})
				if round == 0 && stopped == nil || at == replicas[round].name {
					stopped = replicas[0]
					if at == "two" {
						stopped = replicas[1]
						if round == 0 {
							replicas[0], replicas[1] = replicas[1], replicas[0]
						}
					}
					break
				}
				if try == 20 {
					t.Fatalf("no call came to replica %s", replicas[round].name)
				}
			}
		}
		must(t, stopped.Process.Signal(syscall.SIGTERM))
		if b.Path != "" && strings.HasSuffix(b.Path, "haproxy") { // which finds out while the replica still serves
			await(t, "the health check", func() error {
				return b.said(": Server shared/replica. is DOWN", round+1)
			})
			before, other := stopped.calls(), replicas[1-round].calls()
			await(t, "calls meanwhile", func() error { // of the load
				if got := replicas[1-round].calls() - other; got < 50 {
					return fmt.Errorf("%d", got)
				}
				return nil
			})
			if got := stopped.calls() - before; got > 3 { // those that were under way
				t.Errorf("the replica that drains got %d more calls", got)
			}
		}
		long.Wait()
		select {
		case <-stopped.ended:
		case <-time.After(30 * time.Second):
			t.Fatal("the replica does not end")
		}
		stopped.run()
		if strings.HasSuffix(b.Path, "haproxy") {
			await(t, "the health check", func() error {
				return b.said(": Server shared/replica. is UP", round+1)
			})
		} else {
			await(t, "calls", func() error { // it is not tried for five seconds
				if stopped.calls() == 0 {
					return fmt.Errorf("none")
				}
				return nil
			})
		}
	}
	stop()
	// nginx does not know of /readyz: what is in the queue of the port when the replica closes that is lost.
	if n := unlucky.Load(); n > 0 && (strings.HasSuffix(b.Path, "haproxy") || n > 6) {
		t.Errorf("%d calls got 502", n)
	}
}

// TestPassedOn checks what comes to a replica through the examples, and when.
func TestPassedOn(t *testing.T) {
	for _, program := range []string{"nginx", "haproxy"} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			requests := make(chan *http.Request, 10)
			half, rest := make(chan string, 1), make(chan struct{})
			backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/readyz":
				case "/mcp/stream":
					w.Header().Set("Content-Type", "text/event-stream")
					fmt.Fprint(w, "data: first\n\n")
					w.(http.Flusher).Flush()
					<-rest
				case "/mcp/uploads":
					b := make([]byte, 4)
					_, _ = io.ReadFull(r.Body, b)
					half <- string(b)
					_, _ = io.Copy(io.Discard, r.Body)
				default:
					requests <- r
				}
			}))
			defer backend.Close()
			address := backend.Listener.Addr().String()
			b := newBalancer(t, program, [2]string{address, address})
			client := &http.Client{Transport: b.transport, Timeout: 20 * time.Second}
			url := "https://" + public
			await(t, "the backend", func() error { // health checks come first
				resp, err := client.Get(url + "/.well-known/mcp/server-card.json")
				if err == nil {
					resp.Body.Close()
					if resp.StatusCode != http.StatusOK {
						err = fmt.Errorf("%d", resp.StatusCode)
					}
				}
				return err
			})
			for len(requests) > 0 {
				<-requests
			}
			headers := map[string]string{
				"Authorization": "Bearer x", "Mcp-Session-Id": "s", "Mcp-Protocol-Version": modern, "Mcp-Method": "tools/call", "Mcp-Name": "echo",
				"Mcp-Param-Text": "x", "Last-Event-Id": "3", "Origin": "https://example.com", "Accept": "application/json, text/event-stream",
				"Traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "Tracestate": "a=b", "Dpop": "proof",
			}
			r, err := http.NewRequest("POST", url+"/mcp", strings.NewReader("{}"))
			must(t, err)
			for name, value := range headers {
				r.Header.Set(name, value)
			}
			r.Header.Set("X-Forwarded-For", "192.0.2.1")
			resp, err := client.Do(r)
			must(t, err)
			resp.Body.Close()
			got := <-requests
			for name, value := range headers {
				if v := got.Header.Values(name); len(v) != 1 || v[0] != value {
					t.Errorf("%s: %q", name, v)
				}
			}
			if v := got.Header.Values("X-Forwarded-For"); len(v) != 1 || v[0] != "127.0.0.1" || got.Host != public {
				t.Errorf("X-Forwarded-For %q, Host %q", v, got.Host)
			}

			resp, err = client.Get(url + "/mcp/stream")
			must(t, err)
			first := make([]byte, len("data: first"))
			if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != "data: first" { // while the stream is open
				t.Errorf("%q, %v", first, err)
			}
			close(rest)
			resp.Body.Close()

			body, writer := io.Pipe()
			r, err = http.NewRequest("PUT", url+"/mcp/uploads", body)
			must(t, err)
			r.ContentLength = 8
			sent := make(chan error, 1)
			go func() {
				resp, err := client.Do(r)
				if err == nil {
					resp.Body.Close()
				}
				sent <- err
			}()
			_, err = writer.Write([]byte("half"))
			must(t, err)
			select {
			case got := <-half: // before the rest is sent
				if got != "half" {
					t.Errorf("%q", got)
				}
			case <-time.After(10 * time.Second):
				t.Error("an upload is held back")
			}
			_, _ = writer.Write([]byte("rest"))
			writer.Close()
			must(t, <-sent)

			for _, path := range []string{"/readyz", "/livez", "/metrics", "/", "/mcpx"} {
				resp, err := client.Get(url + path)
				must(t, err)
				resp.Body.Close()
				if resp.StatusCode != http.StatusNotFound {
					t.Errorf("%s: %d", path, resp.StatusCode)
				}
			}
		})
	}
}

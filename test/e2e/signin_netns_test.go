//go:build linux

package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	fake "github.com/toolserver/toolserver/test/fakes/google"
	"github.com/toolserver/toolserver/test/fakes/oauth"
)

// host is a network namespace with an address of its own: nothing of its loopback is reached from others.
type host struct {
	t       *testing.T
	process *exec.Cmd // that has the namespace
	address string
}

// newHosts returns machines that are connected by a switch, which is the last of them. It skips the test where there are none.
func newHosts(t *testing.T, n int) (all []*host) {
	t.Helper()
	for range n {
		m := &host{t: t, process: exec.Command("unshare", "--net", "sh", "-c", "echo; exec sleep 600")}
		out, err := m.process.StdoutPipe()
		must(t, err)
		must(t, m.process.Start())
		t.Cleanup(func() { _ = m.process.Process.Kill(); _ = m.process.Wait() })
		if k, _ := out.Read(make([]byte, 1)); k == 0 {
			t.Skip("this machine has no network namespaces")
		}
		all = append(all, m)
	}
	hub := all[n-1]
	hub.run("ip link add name switch type bridge")
	for i, m := range all {
		m.address = fmt.Sprintf("10.77.0.%d", i+1)
		m.run("ip link set lo up")
		device := "switch"
		if m != hub {
			device = "net"
			hub.run(fmt.Sprintf("ip link add v%d type veth peer name net netns %d", i, m.process.Process.Pid))
			hub.run(fmt.Sprintf("ip link set v%d master switch", i))
			hub.run(fmt.Sprintf("ip link set v%d up", i))
		}
		m.run("ip addr add " + m.address + "/24 dev " + device)
		m.run("ip link set " + device + " up")
	}
	return all
}

func (m *host) path() string { return fmt.Sprintf("/proc/%d/ns/net", m.process.Process.Pid) }

// run runs a command on the machine.
func (m *host) run(command string) {
	m.t.Helper()
	if out, err := exec.Command("nsenter", append([]string{"--net=" + m.path()}, strings.Fields(command)...)...).CombinedOutput(); err != nil {
		m.t.Skipf("%s: %v: %s", command, err, out)
	}
}

// on does something with the network of the machine. Sockets stay where they were made.
func (m *host) on(do func()) {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		f, err := os.Open(m.path())
		if err == nil {
			defer f.Close()
			err = unix.Setns(int(f.Fd()), unix.CLONE_NEWNET)
		}
		if err == nil {
			do()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		panic(err)
	}
}

func (m *host) listen() (l net.Listener) {
	m.t.Helper()
	var err error
	m.on(func() { l, err = net.Listen("tcp4", m.address+":0") })
	must(m.t, err)
	return l
}

// transport connects from the machine.
func (m *host) transport(roots *x509.CertPool) *http.Transport {
	t := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DialContext: func(ctx context.Context, network, address string) (c net.Conn, err error) {
		m.on(func() { c, err = new(net.Dialer).DialContext(ctx, network, address) })
		return c, err
	}}
	m.t.Cleanup(t.CloseIdleConnections)
	return t
}

// newCertificate returns a certificate for addresses, with files that have it and its key.
func newCertificate(t *testing.T, dir string, addresses ...string) (pair tls.Certificate, cert, key string, roots *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	for _, a := range addresses {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(a))
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	must(t, err)
	kept, err := x509.MarshalPKCS8PrivateKey(private)
	must(t, err)
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certPEM, keyPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: kept})
	must(t, os.WriteFile(cert, certPEM, 0o600))
	must(t, os.WriteFile(key, keyPEM, 0o600))
	pair, err = tls.X509KeyPair(certPEM, keyPEM)
	must(t, err)
	roots = x509.NewCertPool()
	roots.AppendCertsFromPEM(certPEM)
	return pair, cert, key, roots
}

// TestSignInElsewhere has two people, on machines that are not the server's, sign in at the same upstream and at Google.
func TestSignInElsewhere(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can connect network namespaces")
	}
	machines := newHosts(t, 4)
	server, annHost, bobHost, others := machines[0], machines[1], machines[2], machines[3]
	dir := t.TempDir()
	pair, cert, key, roots := newCertificate(t, dir, server.address, others.address)
	f := oauth.StartTLS(others.listen, pair)
	t.Cleanup(func() {
		f.Close()
		if found := f.Problems(); len(found) > 0 {
			t.Errorf("the server does what is forbidden: %q", found)
		}
	})
	f.Inner = whoami()
	const port = "8443"
	public := "https://" + server.address + ":" + port
	google, err := fake.New(fake.Options{ClientSecret: googleSecret, Redirect: public + "/connect/callback"})
	must(t, err)
	mail := map[string]string{"ann": alice, "bob": bob}
	for name, email := range mail {
		google.AddUser(fake.User{Email: email, TimeZone: "Europe/London", TestUser: true})
		google.Deliver(email, []byte("From: carol@example.com\r\nTo: "+email+"\r\nSubject: Secret of "+name+"\r\n\r\nHello.\r\n"))
	}
	accounts := httptest.NewUnstartedServer(google)
	accounts.Listener.Close()
	accounts.Listener = others.listen()
	accounts.Start()
	t.Cleanup(accounts.Close)
	config := httpConfig(t, t.TempDir(), fmt.Sprintf("sandbox: {private_hosts: ['%s:*', '%s']}\n", others.address, strings.TrimPrefix(accounts.URL, "http://"))+
		strings.Replace(withTokens("ann", annToken, "bob", bobToken), "{tokens", fmt.Sprintf("{public_url: %s, tls: {cert: %s, key: %s}, tokens", public, cert, key), 1)+
		fmt.Sprintf("google: {client_id: test-client, client_secret: %s, base_url: '%s'}\n", googleSecret, accounts.URL)+
		"discovery: all\nmcp_servers: {o: {url: '"+f.URL()+"', oauth: {per_principal: true}}}\n")
	s := spawn(t, nil, nil, append([]string{"nsenter", "--net=" + server.path(), "env", "HOME=" + dir, "SSL_CERT_FILE=" + cert, binary(), "serve", "--http", server.address + ":" + port}, config...)...)
	eventually(t, "the server serves", func() bool { return strings.Contains(s.log(), "serving MCP at ") })
	ann := join(t, public+"/mcp", "ann", annToken, "2025-11-25", annHost.transport(roots), nil)
	user := &opener{action: "accept"} // bob's client opens addresses
	bob := join(t, public+"/mcp", "bob", bobToken, modernVersion, bobHost.transport(roots), user)

	said := ann.says("o__sign_in", nil)
	link := linkAddress.FindString(said)
	if !strings.HasPrefix(link, public+"/connect/") || strings.Contains(said, "machine") {
		t.Fatalf("sign_in: %s", said)
	}
	if status, page := bob.open(link, bobToken); status != http.StatusForbidden {
		t.Errorf("bob on ann's link: %d %s", status, page)
	}
	ann.signsIn(link)
	eventually(t, "the tools are listed", func() bool { return len(ann.tools()) == 2 && len(bob.tools()) == 2 })
	for _, p := range []*person{bob, ann, bob} {
		if got := p.says("o__whoami", nil); got != "it is "+p.name {
			t.Errorf("%s: %s", p.name, got)
		}
	}
	if asked, _ := user.said(); len(asked) != 1 || !strings.Contains(asked[0], public+"/connect/") {
		t.Errorf("asked %q", asked)
	}
	// Google's pages are at the same address.
	for _, p := range []*person{ann, bob} {
		consents := func(address string) {
			status, page := p.open(address, p.token)
			v := &visitor{t, p.browser}
			at, err := http.NewRequest(http.MethodGet, accounts.URL, nil)
			must(t, err)
			if done := v.decides(visited{page, status, at.URL}, mail[p.name], "allow"); !strings.Contains(done.text, mail[p.name]) {
				t.Errorf("%s at Google: %d %s", p.name, done.status, done.text)
			}
		}
		user.opens = consents
		got := p.says("gmail_search", map[string]any{"query": "secret"})
		if p == ann {
			link := linkAddress.FindString(got)
			if !strings.HasPrefix(link, public+"/connect/") || strings.Contains(got, "machine") {
				t.Fatalf("gmail_search: %s", got)
			}
			consents(link)
			got = p.says("gmail_search", map[string]any{"query": "secret"})
		}
		if !strings.Contains(got, "Secret of "+p.name) || strings.Count(got, "Secret of") != 1 {
			t.Errorf("the mail of %s: %s", p.name, got)
		}
	}
	for _, secret := range append(f.Secrets(), annToken, bobToken, googleSecret) {
		if strings.Contains(s.log(), secret) {
			t.Errorf("the log has %s", secret)
		}
	}
}

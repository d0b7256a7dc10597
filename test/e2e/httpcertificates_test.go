//go:build unix

package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestClientCertificates lets in who has a certificate of one authority, under its name and with the groups of the user of that
// name, as long as that authority is trusted.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.certificate("cert", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	ours, theirs := newAuthority(t), newAuthority(t)
	o.file("ca.pem", ours.pem)
	file, _ := configured(t, fmt.Sprintf("server: {tokens: [%s], tls: {cert: %s/cert.pem, key: %[2]s/cert.key, client_ca: %[2]s/ca.pem}}\n"+
		"users: {'spiffe://example.com/agent': {groups: [eng]}}\ntools: {echo: {groups: [eng]}}\n", tokenEntry("ann", "anns"), o.dir))
	s := launchHTTP(t, nil, binary(), "--config", file)
	echo := func(cert *tls.Certificate, token string) string {
		t.Helper()
		config := &tls.Config{InsecureSkipVerify: true}
		if cert != nil {
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert, nil }
		}
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}, Timeout: patience}
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"},"_meta":{"io.modelcontextprotocol/protocolVersion":"` +
			modernVersion + `","io.modelcontextprotocol/clientCapabilities":{}}}}`
		req, err := http.NewRequestWithContext(t.Context(), "POST", s.url, strings.NewReader(body))
		must(t, err)
		for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"MCP-Protocol-Version": modernVersion, "Mcp-Method": "tools/call", "Mcp-Name": "echo"} {
			req.Header.Set(name, value)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := client.Do(req)
		if err != nil {
			return "no connection"
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		must(t, err)
		return fmt.Sprint(res.StatusCode, " ", string(answer))
	}
	agent := ours.issue(t, "spiffe://example.com/agent", time.Hour)
	for _, test := range []struct {
		name  string
		cert  *tls.Certificate
		token string
		want  string
	}{
		{"an agent", agent, "", "Echo: hi"},
		{"another agent", ours.issue(t, "spiffe://example.com/other", time.Hour), "", "no tool"},
		{"nobody", nil, "", "401 "},
		{"a token without certificate", nil, "anns", "no tool"},
		{"a token with the certificate of another", agent, "anns", "no tool"},
		{"a certificate of another authority", theirs.issue(t, "spiffe://example.com/agent", time.Hour), "", "no connection"},
		{"an expired certificate", ours.issue(t, "spiffe://example.com/agent", -time.Minute), "", "no connection"},
	} {
		if got := echo(test.cert, test.token); !strings.Contains(got, test.want) {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
	if !strings.Contains(s.log(), `"principal":"certificate:spiffe://example.com/agent"`) {
		t.Errorf("the log says %s", s.log())
	}
	o.file("ca.pem", theirs.pem)
	eventually(t, "the authority is not trusted any more", func() bool { return echo(agent, "") == "no connection" })
}

// TestCertificateUnderLoad renews the certificate while clients call, each time on a connection of its own: none is refused. A pair that is
// wrong leaves the old one in use.
func TestCertificateUnderLoad(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	now := time.Now()
	o.certificate("cert", now.Add(-time.Hour), now.Add(time.Hour))
	file := o.file("tls.yaml", fmt.Sprintf("server: {tokens: [%s], tls: {cert: cert.pem, key: cert.key}}\nworking_directory: .\n"+
		"logging: {record: false}\nlimits: {rate_per_minute: 0}\n", tokenEntry("ann", "anns")))
	s := launchHTTP(t, nil, binary(), "--config", file)
	s.client.Transport.(*http.Transport).DisableKeepAlives = true
	presented := func() string { // the end of what is presented
		conn, err := tls.Dial("tcp", s.address, &tls.Config{InsecureSkipVerify: true})
		must(t, err)
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].NotAfter.UTC().String()
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	var calls atomic.Int64
	for range 8 {
		all.Go(func() {
			for ctx.Err() == nil {
				said, err := s.tool(t.Context(), "anns", "echo", `{"message":"hi"}`)
				if calls.Add(1); err != nil || !strings.Contains(said, "Echo: hi") {
					t.Errorf("%v: %s", err, said)
					return
				}
			}
		})
	}
	for i := range 5 {
		end := now.Add(time.Duration(i+2) * time.Hour).Truncate(time.Second)
		o.certificate("cert", now.Add(-time.Hour), end)
		eventually(t, "the new one is presented", func() bool { return presented() == end.UTC().String() })
	}
	last := presented()
	o.certificate("other", now.Add(-time.Hour), now.Add(time.Hour))
	wrong, err := os.ReadFile(filepath.Join(o.dir, "other.key"))
	must(t, err)
	o.file("cert.key", string(wrong))
	eventually(t, "it is said", func() bool { return strings.Contains(s.log(), "private key does not match public key") })
	if got := presented(); got != last {
		t.Errorf("a wrong pair has it present %s, not %s", got, last)
	}
	stop()
	all.Wait()
	if n := calls.Load(); n < 100 {
		t.Errorf("there were %d calls", n)
	}
}

// authority issues certificates for clients.
type authority struct {
	pem  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: rand.Text()}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	cert, err := x509.ParseCertificate(der)
	must(t, err)
	return &authority{string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), cert, key}
}

// issue returns a certificate with a URI that ends after a while.
func (a *authority) issue(t *testing.T, uri string, life time.Duration) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	u, err := url.Parse(uri)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(life), URIs: []*url.URL{u}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	must(t, err)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

//go:build linux

package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolserver/toolserver/test/fakes/kubernetes"
	"github.com/toolserver/toolserver/upstream/mcpclient"
)

// kube is a cluster, with what endpoints need to have workspaces in it.
type kube struct {
	*kubernetes.Cluster
	t     *testing.T
	api   *kubernetes.APIServer // nil where there is a real one
	dir   string
	ca    string
	tools string // of the configuration of endpoints
	tls   string // of the configuration of pods; empty for tokens instead
}

const podPort = 18443

// newKube starts a cluster with a warm pool called work of so many sandboxes.
func newKube(t *testing.T, warm int) *kube {
	t.Helper()
	k := &kube{t: t, dir: t.TempDir()}
	k.Cluster = &kubernetes.Cluster{Token: "admin", Namespace: "spaces", Dir: k.dir, Port: podPort, Start: k.start}
	if k.API = os.Getenv("KUBE_APISERVER"); k.API != "" { // a real one that knows agent-sandbox, the tokens admin and endpoint, and deploy/kubernetes/workspaces/rbac.yaml
		k.Client = &http.Client{Timeout: patience, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 8}}
		k.ca = ", ca: " + os.Getenv("KUBE_APISERVER_CA")
		for _, plural := range []string{"sandboxclaims", "sandboxwarmpools", "sandboxtemplates", "sandboxes"} {
			k.DeleteAll(plural)
		}
	} else {
		k.api = kubernetes.NewAPIServer()
		t.Cleanup(k.api.Close)
		k.API = k.api.URL
		k.api.Allowed["endpoint"] = []string{"get sandboxclaims", "list sandboxclaims", "watch sandboxclaims", "create sandboxclaims", "get sandboxes",
			"patch sandboxes", "get sandboxwarmpools", "get sandboxtemplates"}
	}
	must(t, os.WriteFile(filepath.Join(k.dir, "token"), []byte("endpoint\n"), 0o600))
	k.Run()
	t.Cleanup(k.Stop)
	must(t, k.Pool("work", warm))
	eventually(t, "the warm pool is ready", func() bool { return k.Warm() == warm })
	return k
}

// start returns the program of a pod, which accepts requests that name it as their host only.
func (k *kube) start(name, ip, volume string) *exec.Cmd {
	work, state := filepath.Join(volume, "work"), filepath.Join(volume, "state")
	for _, dir := range []string{work, state} {
		_ = os.MkdirAll(dir, 0o700)
	}
	file := filepath.Join(volume, "config.yaml")
	shown := k.tls
	if shown == "" {
		shown = "tokens: [" + tokenEntry("endpoint", "pods-only") + "]"
	}
	text := fmt.Sprintf("working_directory: %s\nstate_directory: %s\nserver: {allowed_hosts: ['${HOSTNAME}'], %s}\nlogging: {record: false}\n", work, state, shown)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		panic(err)
	}
	cmd := exec.Command(binary(), "serve", "--http", fmt.Sprintf("%s:%d", ip, podPort), "--config", file)
	cmd.Env = []string{"HOSTNAME=" + name, "HOME=" + volume, "PATH=" + os.Getenv("PATH"), "TMPDIR=/var/tmp"}
	return cmd
}

// endpoint starts a server whose people have workspaces in the cluster: p0 to p49, with tokens s0 to s49.
func (k *kube) endpoint(more string) *httpServer {
	k.t.Helper()
	known := "token: pods-only"
	if k.tls != "" {
		known = fmt.Sprintf("tls: {ca: %s/pods.pem, cert: %[1]s/endpoint.pem, key: %[1]s/endpoint.key}", k.dir)
	}
	var people []string
	for i := range 50 {
		people = append(people, fmt.Sprint("p", i), fmt.Sprint("s", i))
	}
	file, _ := configured(k.t, withTokens(people...)+fmt.Sprintf(`state_directory: %s
sandbox:
  driver: kubernetes
  kubernetes: {namespace: spaces, warm_pool: work, port: %d, %s, api: {url: %q, token_file: %s/token%s}%s}
profiles: [{name: Everybody & co}]
%s`, filepath.Join(k.t.TempDir(), "state"), podPort, known, k.API, k.dir, k.ca, more, k.tools))
	return launchHTTP(k.t, nil, binary(), "--config", file)
}

// podUser is a client of an endpoint.
type podUser struct {
	t *testing.T
	*mcpclient.Client
}

func (k *kube) person(s *httpServer, i int) *podUser {
	k.t.Helper()
	c, err := mcpclient.ConnectHTTP(k.t.Context(), &http.Client{Transport: &http.Transport{}}, s.url, http.Header{"Authorization": {fmt.Sprint("Bearer s", i)}},
		mcpclient.Options{Name: "t", Version: "1", Protocol: modernVersion, ConnectTimeout: patience})
	must(k.t, err)
	k.t.Cleanup(c.Close)
	return &podUser{k.t, c}
}

// call calls a tool, and returns its text or the error.
func (p *podUser) call(tool string, args map[string]any) string {
	b, err := json.Marshal(map[string]any{"name": tool, "arguments": args})
	if err != nil {
		return err.Error()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	result, err := p.Call(ctx, "tools/call", json.RawMessage(b))
	if err != nil {
		return "error: " + err.Error()
	}
	var r struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(result, &r); err != nil || len(r.Content) == 0 {
		return "no result: " + string(result)
	}
	if r.IsError {
		return "failed: " + r.Content[0].Text
	}
	return r.Content[0].Text
}

func (p *podUser) write(text string) string {
	return p.call("write_file", map[string]any{"path": "mine.txt", "content": text})
}

func (p *podUser) read() string { return p.call("read_file", map[string]any{"path": "mine.txt"}) }

// claimOf returns the claim of the only person there is.
func (k *kube) claimOf() (name, claim string) {
	k.t.Helper()
	all := k.Claims()
	if len(all) != 1 {
		k.t.Fatalf("%d claims", len(all))
	}
	for name, claim = range all {
	}
	return name, claim
}

// TestPodsKeepPeopleApart has fifty people write a file of the same name, with two endpoints and a warm pool, and read back their own.
func TestPodsKeepPeopleApart(t *testing.T) {
	const many = 50
	k := newKube(t, 5)
	servers := []*httpServer{k.endpoint(""), k.endpoint("")}
	var all sync.WaitGroup
	slots := make(chan struct{}, 8)
	for i := range many {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			own := fmt.Sprintf("of person %d only", i)
			p := k.person(servers[i%2], i)
			if said := p.write(own); !strings.Contains(said, "mine.txt") {
				t.Errorf("person %d: %s", i, said)
			}
			if said := p.call("bash", map[string]any{"command": fmt.Sprintf("echo job-%d; sleep 300", i), "background": true}); !strings.Contains(said, "job") {
				t.Errorf("person %d: job: %s", i, said)
			}
			if said := k.person(servers[(i+1)%2], i).read(); said != own { // by the other endpoint
				t.Errorf("person %d reads %q", i, said)
			}
		})
	}
	all.Wait()
	for i := range many {
		p := k.person(servers[i%2], i)
		if said := p.read(); said != fmt.Sprintf("of person %d only", i) {
			t.Errorf("person %d reads %q afterwards", i, said)
		}
		said := p.call("bash_jobs", nil)
		if !strings.Contains(said, fmt.Sprintf("echo job-%d;", i)) || strings.Count(said, "echo job-") != 1 {
			t.Errorf("person %d has the jobs %s", i, said)
		}
		if said := p.call("bash", map[string]any{"command": "ls"}); said != "mine.txt\n" && said != "mine.txt" {
			t.Errorf("person %d sees %q", i, said)
		}
	}
	if n := len(k.Claims()); n != many {
		t.Errorf("%d claims for 50 people", n)
	}
	if dump := fmt.Sprint(k.Claims()); regexp.MustCompile(`"[^"]*\bp4[0-9]\b`).MatchString(dump) || strings.Contains(dump, "token:") {
		t.Error("the API server learns names of people")
	}
}

// TestPodsPauseAndResume pauses the workspace that nobody uses, unless a command of it runs, and keeps its files.
func TestPodsPauseAndResume(t *testing.T) {
	k := newKube(t, 1)
	s := k.endpoint(", idle: 4s")
	p := k.person(s, 0)
	p.write("kept")
	p.call("bash", map[string]any{"command": "sleep 12; echo done > job.txt", "background": true})
	claim, _ := k.claimOf()
	sandbox := k.SandboxOf(claim)
	if sandbox == claim || sandbox == "" {
		t.Errorf("sandbox %q is not from the warm pool", sandbox)
	}
	eventually(t, "the workspace is paused", func() bool { return strings.Contains(k.Claims()[claim], "Sandbox is suspended") })
	if said := p.call("read_file", map[string]any{"path": "job.txt"}); said != "done\n" && said != "done" {
		t.Errorf("it was paused under a command that ran: %s", said)
	}
	if said := p.read(); said != "kept" {
		t.Errorf("after it was resumed: %s", said)
	}
	if k.SandboxOf(claim) != sandbox {
		t.Error("another sandbox")
	}
	// an endpoint that was killed leaves none running
	must(t, s.cmd.Process.Kill())
	<-s.exited
	again := k.endpoint(", idle: 4s")
	eventually(t, "what the last one left is paused", func() bool { return strings.Contains(k.Claims()[claim], "Sandbox is suspended") })
	if said := k.person(again, 0).read(); said != "kept" || len(k.Claims()) != 1 {
		t.Errorf("after a restart: %s, %d claims", said, len(k.Claims()))
	}
}

// TestPodsGo ends pods under calls: one that may have had an effect is not made again, and the next finds the workspace.
func TestPodsGo(t *testing.T) {
	k := newKube(t, 1)
	s := k.endpoint(", ready_timeout: 5s")
	p := k.person(s, 0)
	p.write("kept")
	claim, _ := k.claimOf()
	during := func(command string, happens func()) string {
		t.Helper()
		said := make(chan string, 1)
		go func() { said <- p.call("bash", map[string]any{"command": command}) }()
		began := filepath.Join(k.dir, "volumes", k.SandboxOf(claim), "work", "began")
		eventually(t, "the command runs", func() bool { _, err := os.Stat(began); return err == nil })
		must(t, os.Remove(began))
		happens()
		select {
		case text := <-said:
			return text
		case <-time.After(patience):
			t.Fatal("no answer")
			return ""
		}
	}
	const command = "touch began; echo x >> effects; sleep 30"
	contain(t, "a call whose pod is evicted", during(command, func() { k.Evict(k.SandboxOf(claim)) }), "server workspace failed during the call", "Whether the call had an effect is unknown")
	eventually(t, "the workspace is there again", func() bool { return p.read() == "kept" })
	if said := p.call("read_file", map[string]any{"path": "effects"}); strings.Count(said, "x") != 1 {
		t.Errorf("a call was made again: %q", said)
	}
	if said := during(command+" & sleep 1; exit", func() { k.LoseNode(k.SandboxOf(claim)); k.ForgetNode(k.SandboxOf(claim)) }); !strings.Contains(said, "effect is unknown") {
		t.Errorf("a call whose node is lost: %s", said)
	}
	eventually(t, "it is there on another node", func() bool { return p.read() == "kept" })
	k.LoseNode(k.SandboxOf(claim))
	began := time.Now()
	contain(t, "a call of a pod that does not answer", p.call("read_file", map[string]any{"path": "mine.txt"}), "error")
	if took := time.Since(began); took > patience {
		t.Errorf("it took %v", took)
	}
	k.ForgetNode(k.SandboxOf(claim))
	eventually(t, "it is there after that", func() bool { return p.read() == "kept" })
	k.Delete("sandboxclaims", claim)
	eventually(t, "it is claimed anew", func() bool { return strings.HasPrefix(p.write("new"), "Created") || strings.Contains(p.read(), "new") })
	contain(t, "the log", s.log(), "claim of a workspace was deleted")
}

// TestPodsWithoutAPIServer has ready workspaces go on while the API server is away, and others say that it is.
func TestPodsWithoutAPIServer(t *testing.T) {
	k := newKube(t, 1)
	if k.api == nil {
		t.Skip("is about one that can be stopped")
	}
	s := k.endpoint(", ready_timeout: 20s")
	p, q := k.person(s, 0), k.person(s, 1)
	p.write("kept")
	k.api.Compact() // and then watches are told that they are too late
	k.api.SetDown(true)
	for range 20 {
		if said := p.read(); said != "kept" {
			t.Fatalf("without an API server: %s", said)
		}
	}
	contain(t, "a workspace that is yet to be made", q.call("echo", map[string]any{"message": "x"}), "API server cannot be reached")
	k.api.SetDown(false)
	eventually(t, "the other one is made", func() bool { return q.write("x") != "" && q.read() == "x" })
	if p.read() != "kept" {
		t.Error("the first one is another one now")
	}
}

// TestPodsRefused says what an operator can do about an API server that refuses.
func TestPodsRefused(t *testing.T) {
	k := newKube(t, 0)
	if k.api == nil {
		t.Skip("is about one that can be told what to refuse")
	}
	check := func() string {
		s := k.endpoint("")
		out, _ := exec.Command("env", "-i", "HOME="+t.TempDir(), "PATH="+os.Getenv("PATH"), binary(), "check", "--config", s.cmd.Args[len(s.cmd.Args)-1]).CombinedOutput()
		return string(out)
	}
	contain(t, "check", check(), "ok   pods", "warm pool work in namespace spaces")
	k.api.Allowed["endpoint"] = []string{"get sandboxclaims", "list sandboxclaims", "watch sandboxclaims"}
	s := k.endpoint("")
	contain(t, "a claim that is not allowed", k.person(s, 0).call("echo", map[string]any{"message": "x"}), "does not allow this server to create sandboxclaims", "grant its service account this verb")
	contain(t, "check of a server that may not", check(), "create sandboxclaims", "patch sandboxes", "fail pods")
	k.api.NoCRDs = true
	contain(t, "check without agent-sandbox", check(), "install agent-sandbox")
}

// pair writes a certificate for a name that an authority has issued, and its key.
func (k *kube) pair(a *authority, name string, use x509.ExtKeyUsage) {
	k.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(k.t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(3), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{name},
		ExtKeyUsage: []x509.ExtKeyUsage{use}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	must(k.t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(k.t, err)
	must(k.t, os.WriteFile(filepath.Join(k.dir, name+".pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	must(k.t, os.WriteFile(filepath.Join(k.dir, name+".key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
}

// TestPodsKnowTheEndpoint has pods accept the certificate of the endpoint only, and requests that are meant for them only: one that has got
// the address of another rejects what was for that.
func TestPodsKnowTheEndpoint(t *testing.T) {
	k := newKube(t, 0)
	pods, endpoints, strangers := newAuthority(t), newAuthority(t), newAuthority(t)
	must(t, os.WriteFile(filepath.Join(k.dir, "pods.pem"), []byte(pods.pem), 0o600))
	must(t, os.WriteFile(filepath.Join(k.dir, "endpoints.pem"), []byte(endpoints.pem), 0o600))
	k.pair(pods, "workspace", x509.ExtKeyUsageServerAuth)
	k.pair(endpoints, "endpoint", x509.ExtKeyUsageClientAuth)
	k.tls = fmt.Sprintf("tls: {cert: %s/workspace.pem, key: %[1]s/workspace.key, client_ca: %[1]s/endpoints.pem, client_auth: require}", k.dir)
	s := k.endpoint("")
	ann, bob := k.person(s, 0), k.person(s, 1)
	ann.write("of ann")
	first, _ := k.claimOf()
	bob.write("of bob")
	if ann.read() != "of ann" || bob.read() != "of bob" {
		t.Fatal("with certificates nothing goes")
	}
	addresses := map[string]string{}
	for name, claim := range k.Claims() {
		addresses[name] = regexp.MustCompile(`127[.]77[.][0-9.]+`).FindString(claim)
	}
	for _, cert := range []*tls.Certificate{nil, strangers.issue(t, "spiffe://x/y", time.Hour)} {
		config := &tls.Config{InsecureSkipVerify: true, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if cert == nil {
				return &tls.Certificate{}, nil
			}
			return cert, nil
		}}
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: config}, Timeout: patience}
		if res, err := client.Get(fmt.Sprintf("https://%s:%d/mcp", addresses[first], podPort)); err == nil {
			t.Errorf("somebody else gets into a pod: %s", res.Status)
		}
	}
	k.SetPaused(true)
	for name, address := range addresses {
		if name != first { // as if that of ann were of bob's pod now
			k.Report("sandboxclaims", first, map[string]any{"sandbox": map[string]any{"podIPs": []string{address}}})
		}
	}
	eventually(t, "the endpoint has seen it", func() bool { return ann.read() != "of ann" })
	for range 5 {
		if said := ann.read(); strings.Contains(said, "bob") || !strings.HasPrefix(said, "error") {
			t.Fatalf("ann reads %q", said)
		}
	}
	if bob.read() != "of bob" {
		t.Error("bob's workspace is gone")
	}
}

// TestPodsPassOn has the endpoint decide who may use which tool, and pass on what pods say: progress, long results, documents, places.
func TestPodsPassOn(t *testing.T) {
	k := newKube(t, 0)
	k.Delay = time.Second
	k.tools = "tools: {execute_command: {enabled: false}, grep: {groups: [nobody]}}\n"
	s := k.endpoint("")
	p := k.person(s, 0)
	var said []string
	result, err := p.Do(t.Context(), mcpclient.Request{Method: "tools/call", Params: json.RawMessage(`{"name":"write_file","arguments":{"path":"mine.txt","content":"hello"}}`),
		Progress: func(now mcpclient.Progress) { said = append(said, now.Message) }})
	if err != nil || !strings.Contains(strings.Join(said, "|"), "workspace starts") {
		t.Errorf("while it starts: %q, %v, %s", said, err, result)
	}
	listed, err := p.Call(t.Context(), "tools/list", json.RawMessage("{}"))
	must(t, err)
	for tool, want := range map[string]bool{"read_file": true, "bash": true, "web_fetch": true, "execute_command": false, "grep": false} {
		if got := strings.Contains(string(listed), fmt.Sprintf(`"name":%q`, tool)); got != want {
			t.Errorf("%s is listed: %v", tool, got)
		}
	}
	contain(t, "a disabled tool", p.call("execute_command", map[string]any{"command": "ls"}), "disabled in the server's configuration")
	contain(t, "a tool of others", p.call("grep", map[string]any{"pattern": "x"}), "no tool")
	contain(t, "what the policy in the pod denies", p.call("write_file", map[string]any{"path": "/elsewhere.txt", "content": "x"}), "outside the allowed paths")
	long := p.call("bash", map[string]any{"command": "seq 200000"})
	id := regexp.MustCompile(`lr_[a-z0-9]+`).FindString(long)
	if id == "" {
		t.Fatalf("a long result has no ID: %.300s", long[max(0, len(long)-300):])
	}
	if page := p.call("read_large_result", map[string]any{"id": id, "page": 2}); len(page) < 1000 {
		t.Errorf("its second page is %q", page)
	}
	document := comesTo(p.Client, "resources/read", `{"uri":"file:///mine.txt"}`)
	contain(t, "a document of the pod", document, "hello", "file:///mine.txt")
	if strings.Contains(document, "mcp://") {
		t.Errorf("its address is another one: %s", document)
	}
	told := comesTo(p.Client, "server/discover", "{}")
	contain(t, "what models are told", told, "Relative paths start at "+filepath.Join(k.dir, "volumes"))
	contain(t, "the log", s.log(), `"target":{"command":["seq 200000"]}`)
}

//go:build unix

package kubernetes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Cluster is what runs in a cluster beside the API server, with which it speaks as everybody does: the controllers of agent-sandbox, and a
// kubelet.
type Cluster struct {
	API       string // address of the API server
	Token     string // that may do everything
	Namespace string
	Dir       string        // for volumes and logs
	Port      int           // of pods
	Delay     time.Duration // before a pod that was not warm starts

	// Start returns the program of a pod, whose volume is a directory that is there.
	Start func(pod, ip, volume string) *exec.Cmd

	Client *http.Client // of the API server; with a time limit if unset

	end     chan struct{}
	running sync.WaitGroup

	mu     sync.Mutex
	pods   map[string]*pod // by the name of the sandbox
	number int
	paused bool // the controllers
}

// pod is a process with an address.
type pod struct {
	ip     string
	phase  string // Pending, Running, Failed or Terminating
	ready  bool
	lost   bool // its node is
	due    time.Time
	cmd    *exec.Cmd
	exited chan struct{}
}

// Run begins to work until [Cluster.Stop].
func (c *Cluster) Run() {
	if c.end, c.pods = make(chan struct{}), map[string]*pod{}; c.Client == nil {
		c.Client = &http.Client{Timeout: 10 * time.Second}
	}
	c.running.Go(func() {
		for {
			select {
			case <-c.end:
				return
			case <-time.After(30 * time.Millisecond):
			}
			c.mu.Lock()
			paused := c.paused
			c.mu.Unlock()
			if !paused {
				c.reconcile()
			}
		}
	})
}

// Stop ends everything.
func (c *Cluster) Stop() {
	close(c.end)
	c.running.Wait()
	for _, p := range c.pods {
		p.kill()
	}
}

// SetPaused has the controllers do nothing for a while.
func (c *Cluster) SetPaused(paused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused = paused
}

// do sends a request to the API server, and reports its status.
func (c *Cluster) do(method, plural, name string, body, into any) int {
	group := "extensions.agents.x-k8s.io"
	if plural == "sandboxes" {
		group = "agents.x-k8s.io"
	}
	var b []byte
	if body != nil {
		b, _ = json.Marshal(body)
	}
	at := c.API + "/apis/" + group + "/v1beta1/namespaces/" + c.Namespace + "/" + plural
	if name != "" {
		at += "/" + name
	}
	req, err := http.NewRequest(method, at, bytes.NewReader(b))
	if err != nil {
		return 0
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	req.Header.Set("Content-Type", map[string]string{"POST": "application/json", "PATCH": "application/merge-patch+json"}[method])
	res, err := c.Client.Do(req)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	if res.StatusCode/100 == 2 && into != nil {
		_ = json.Unmarshal(text, into)
	} else if res.StatusCode/100 != 2 && res.StatusCode != http.StatusConflict && res.StatusCode != http.StatusNotFound {
		fmt.Fprintf(os.Stderr, "cluster: %s %s %s: %d %s\n", method, plural, name, res.StatusCode, text)
	}
	return res.StatusCode
}

// Delete deletes an object.
func (c *Cluster) Delete(plural, name string) int { return c.do("DELETE", plural, name, nil, nil) }

// DeleteAll deletes all objects of a kind.
func (c *Cluster) DeleteAll(plural string) {
	var all struct{ Items []typeMeta }
	c.do("GET", plural, "", nil, &all)
	for _, each := range all.Items {
		c.Delete(plural, each.Metadata.Name)
	}
}

// Report writes a status that the controllers have not set; see [Cluster.SetPaused].
func (c *Cluster) Report(plural, name string, status map[string]any) int {
	return c.do("PATCH", plural, name+"/status", object{"status": status}, nil)
}

// Pool makes a template and a warm pool of that name.
func (c *Cluster) Pool(name string, replicas int) error {
	meta := object{"name": name}
	template := object{"apiVersion": "extensions.agents.x-k8s.io/v1beta1", "kind": "SandboxTemplate", "metadata": meta, "spec": object{
		"podTemplate": object{"spec": object{"containers": []any{object{"name": "toolserver", "image": "toolserver"}}}}}}
	pool := object{"apiVersion": "extensions.agents.x-k8s.io/v1beta1", "kind": "SandboxWarmPool", "metadata": meta, "spec": object{
		"replicas": replicas, "sandboxTemplateRef": object{"name": name}}}
	if one, other := c.do("POST", "sandboxtemplates", "", template, nil), c.do("POST", "sandboxwarmpools", "", pool, nil); one != 201 || other != 201 {
		return fmt.Errorf("the warm pool cannot be made: %d %d", one, other)
	}
	return nil
}

// Claims returns the claims, by name, as the API server has them.
func (c *Cluster) Claims() map[string]string {
	var list struct{ Items []json.RawMessage }
	c.do("GET", "sandboxclaims", "", nil, &list)
	all := map[string]string{}
	for _, raw := range list.Items {
		var m typeMeta
		_ = json.Unmarshal(raw, &m)
		all[m.Metadata.Name] = string(raw)
	}
	return all
}

const warmLabel = "agents.x-k8s.io/warm-pool-sandbox"

func setReady(conditions []condition, status, reason, message string) []condition {
	if len(conditions) == 1 && conditions[0].Status == status && conditions[0].Reason == reason && conditions[0].Message == message {
		return conditions
	}
	return []condition{{Type: "Ready", Status: status, Reason: reason, Message: message, LastTransitionTime: time.Now().UTC().Truncate(time.Second)}}
}

// reconcile does once what the controllers and the kubelet do.
func (c *Cluster) reconcile() {
	var all struct{ Items []sandbox }
	var claims struct{ Items []sandboxClaim }
	var pools struct{ Items []sandboxWarmPool }
	if c.do("GET", "sandboxes", "", nil, &all) != 200 || c.do("GET", "sandboxclaims", "", nil, &claims) != 200 || c.do("GET", "sandboxwarmpools", "", nil, &pools) != 200 {
		return
	}
	byName := map[string]*sandbox{}
	for i := range all.Items {
		byName[all.Items[i].Metadata.Name] = &all.Items[i]
	}
	c.mu.Lock()
	for name, p := range c.pods {
		if byName[name] == nil {
			p.kill()
			delete(c.pods, name)
		}
	}
	c.mu.Unlock()
	owners := map[string]bool{}
	for _, claim := range claims.Items {
		owners[claim.Metadata.UID] = true
	}
	for _, s := range byName {
		if o := s.Metadata.OwnerReferences; len(o) > 0 && o[0].Kind == "SandboxClaim" && !owners[o[0].UID] {
			c.Delete("sandboxes", s.Metadata.Name) // as the garbage collector does
			continue
		}
		c.sandbox(s)
	}
	for i := range claims.Items {
		c.claim(&claims.Items[i], byName)
	}
	for i := range pools.Items {
		p := &pools.Items[i]
		warm := int32(0)
		for _, s := range byName {
			if s.Metadata.Labels[warmLabel] == p.Metadata.Name {
				warm++
			}
		}
		for ; p.Spec.Replicas != nil && warm < *p.Spec.Replicas; warm++ {
			c.create(fmt.Sprintf("%s-%d", p.Metadata.Name, time.Now().UnixNano()%1e9), p.typeMeta, map[string]string{warmLabel: p.Metadata.Name})
		}
	}
}

// create makes a sandbox that another object owns.
func (c *Cluster) create(name string, owner typeMeta, labels map[string]string) {
	c.do("POST", "sandboxes", "", object{
		"apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox",
		"metadata": object{"name": name, "labels": labels, "ownerReferences": []any{object{"apiVersion": owner.APIVersion, "kind": owner.Kind,
			"name": owner.Metadata.Name, "uid": owner.Metadata.UID, "controller": true}}},
		"spec": object{"podTemplate": object{"spec": object{"containers": []any{object{"name": "toolserver", "image": "toolserver"}}}}},
	}, nil)
}

// claim finds or makes the sandbox of a claim, and says how it is.
func (c *Cluster) claim(claim *sandboxClaim, sandboxes map[string]*sandbox) {
	var its *sandbox
	for _, s := range sandboxes {
		for _, o := range s.Metadata.OwnerReferences {
			if o.UID == claim.Metadata.UID {
				its = s
			}
		}
	}
	status := claim.Status
	var pool sandboxWarmPool
	if its == nil && c.do("GET", "sandboxwarmpools", claim.Spec.WarmPoolRef.Name, nil, &pool) == 404 {
		status.Conditions = setReady(status.Conditions, "False", "WarmPoolNotFound", fmt.Sprintf("SandboxWarmPool %q not found", claim.Spec.WarmPoolRef.Name))
		c.report("sandboxclaims", claim.Metadata.Name, claim.Status, status)
		return
	}
	if its == nil {
		for _, s := range sandboxes {
			if s.Metadata.Labels[warmLabel] == claim.Spec.WarmPoolRef.Name && len(s.Status.PodIPs) > 0 {
				adopted := c.do("PATCH", "sandboxes", s.Metadata.Name, object{"metadata": object{"resourceVersion": s.Metadata.ResourceVersion, "labels": object{warmLabel: nil},
					"ownerReferences": []any{object{"apiVersion": claim.APIVersion, "kind": claim.Kind, "name": claim.Metadata.Name, "uid": claim.Metadata.UID, "controller": true}}}}, nil)
				if delete(s.Metadata.Labels, warmLabel); adopted == 200 {
					return
				}
			}
		}
		c.create(claim.Metadata.Name, claim.typeMeta, nil)
		return
	}
	status.Sandbox.Name, status.Sandbox.PodIPs = its.Metadata.Name, its.Status.PodIPs
	if len(its.Status.Conditions) > 0 {
		r := its.Status.Conditions[0]
		status.Conditions = setReady(status.Conditions, r.Status, r.Reason, r.Message)
	} else {
		status.Conditions = setReady(status.Conditions, "False", "SandboxNotReady", "Sandbox is not ready")
	}
	c.report("sandboxclaims", claim.Metadata.Name, claim.Status, status)
}

// report writes a status that has changed.
func (c *Cluster) report(plural, name string, before, now any) {
	one, _ := json.Marshal(before)
	other, _ := json.Marshal(now)
	if bytes.Equal(one, other) {
		return
	}
	var was, is object
	_ = json.Unmarshal(one, &was)
	_ = json.Unmarshal(other, &is)
	var clear func(was, is object) // what is not there any more
	clear = func(was, is object) {
		for key, value := range was {
			if below, ok := value.(map[string]any); ok && is[key] != nil {
				clear(below, is[key].(map[string]any))
			} else if is[key] == nil {
				is[key] = nil
			}
		}
	}
	clear(was, is)
	c.do("PATCH", plural, name+"/status", object{"status": is}, nil)
}

// sandbox brings the pod of a sandbox where its mode wants it, and says how it is.
func (c *Cluster) sandbox(s *sandbox) {
	c.mu.Lock()
	p := c.pods[s.Metadata.Name]
	name, status := s.Metadata.Name, s.Status
	suspended := s.Spec.OperatingMode == "Suspended"
	switch {
	case p == nil && !suspended:
		p = &pod{phase: "Pending", due: time.Now()}
		if s.Metadata.Labels[warmLabel] == "" {
			p.due = p.due.Add(c.Delay)
		}
		c.pods[name] = p
	case p != nil && suspended && p.phase != "Terminating" && !p.lost:
		if p.phase == "Failed" {
			delete(c.pods, name)
			p = nil
			break
		}
		p.phase, p.ready = "Terminating", false
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
	case p != nil && p.phase == "Terminating" && p.ended():
		delete(c.pods, name)
		p = nil
	}
	if p != nil && p.phase == "Pending" && time.Now().After(p.due) {
		c.start(name, p)
	}
	if p != nil && p.phase == "Running" && !p.lost {
		if p.ended() {
			p.phase, p.ready = "Failed", false
		} else if !p.ready {
			conn, err := net.DialTimeout("tcp", net.JoinHostPort(p.ip, fmt.Sprint(c.Port)), 100*time.Millisecond)
			if p.ready = err == nil; p.ready {
				conn.Close()
			}
		}
	}
	status.PodIPs = nil
	if p != nil && p.ip != "" {
		status.PodIPs = []string{p.ip}
	}
	ready := func(state, reason, message string) {
		status.Conditions = setReady(status.Conditions, state, reason, message)
	}
	switch {
	case suspended && p != nil:
		ready("False", "SandboxSuspended", "Sandbox is suspending")
	case suspended:
		ready("False", "SandboxSuspended", "Sandbox is suspended")
	case p != nil && p.phase == "Failed":
		ready("False", "PodFailed", "Pod failed")
	case p != nil && p.ready:
		ready("True", "DependenciesReady", "Pod is Ready")
	case p != nil:
		ready("False", "DependenciesNotReady", "Pod exists with phase: "+p.phase)
	}
	c.mu.Unlock()
	c.report("sandboxes", name, s.Status, status)
}

// start starts the process of a pod. The caller holds mu.
func (c *Cluster) start(name string, p *pod) {
	c.number++
	p.ip = fmt.Sprintf("127.77.%d.%d", c.number/200, c.number%200+1)
	volume := filepath.Join(c.Dir, "volumes", name)
	_ = os.MkdirAll(volume, 0o700)
	p.cmd = c.Start(name, p.ip, volume)
	log, err := os.OpenFile(filepath.Join(c.Dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		defer log.Close()
		p.cmd.Stdout, p.cmd.Stderr = log, log
	}
	p.exited = make(chan struct{})
	if err := p.cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		close(p.exited)
	} else {
		go func() { _ = p.cmd.Wait(); close(p.exited) }()
	}
	p.phase = "Running"
}

func (p *pod) ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return p.exited == nil
	}
}

func (p *pod) kill() {
	if p.cmd != nil && p.cmd.Process != nil && !p.ended() {
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
}

// Evict ends the pod of a sandbox as the kubelet does under pressure: it stays as one that has failed.
func (c *Cluster) Evict(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pods[name].kill()
}

// LoseNode has the pod of a sandbox answer nobody any more. Nothing says so until [Cluster.ForgetNode].
func (c *Cluster) LoseNode(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pods[name].lost = true
	process := c.pods[name].cmd.Process
	_ = process.Signal(syscall.SIGSTOP)
	for range 1000 {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process.Pid)); err != nil || bytes.Contains(stat, []byte(") T ")) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// ForgetNode removes the pod of a lost node, in whose place another one comes.
func (c *Cluster) ForgetNode(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pods[name].kill()
	delete(c.pods, name)
}

// Warm returns how many sandboxes of warm pools are ready.
func (c *Cluster) Warm() (n int) {
	var all struct{ Items []sandbox }
	c.do("GET", "sandboxes", "", nil, &all)
	for _, s := range all.Items {
		if s.Metadata.Labels[warmLabel] != "" && len(s.Status.Conditions) > 0 && s.Status.Conditions[0].Status == "True" {
			n++
		}
	}
	return n
}

// Running returns how many pods run.
func (c *Cluster) Running() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pods {
		if p.phase == "Running" && !p.ended() {
			n++
		}
	}
	return n
}

// SandboxOf returns the sandbox of a claim.
func (c *Cluster) SandboxOf(claim string) string {
	var its sandboxClaim
	c.do("GET", "sandboxclaims", claim, nil, &its)
	return strings.TrimSpace(its.Status.Sandbox.Name)
}

package deploy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// shift is where the user IDs of a pod begin on the node, with hostUsers: false.
const shift = 1_000_000

// A pod is run by runc as a kubelet would have it run: the containers of the manifest one after the other, with its user, capabilities,
// seccomp profile, volumes and masks, in namespaces of its own. What is not as on a node: the root file system is the programs of this
// machine, and cgroups set no limits.
type pod struct {
	t       *testing.T
	spec    corev1.PodSpec
	dir     string
	root    string // what the containers have as /
	name    string
	volumes map[string]string // directories on the node
}

// newPod makes the volumes of a pod. Files of ConfigMaps and Secrets are links, which are swapped together.
func newPod(t *testing.T, set *appsv1.StatefulSet, maps, secrets map[string]map[string]string) *pod {
	t.Helper()
	p := &pod{t: t, spec: set.Spec.Template.Spec, dir: t.TempDir(), name: fmt.Sprintf("toolserver-%d-%s", os.Getpid(), filepath.Base(t.Name())), volumes: map[string]string{}}
	for dir := p.dir; dir != "/tmp" && dir != "/"; dir = filepath.Dir(dir) { // the user of the pod gets there
		must(t, os.Chmod(dir, 0o755))
	}
	volume := func(name string) string {
		dir := filepath.Join(p.dir, "volumes", name)
		must(t, os.MkdirAll(dir, 0o755))
		p.volumes[name] = dir
		return dir
	}
	writable := func(name string) { // as fsGroup has it
		dir := volume(name)
		must(t, os.Chown(dir, p.onNode(0), p.onNode(int(*p.spec.SecurityContext.FSGroup))))
		must(t, os.Chmod(dir, 0o2775|os.ModeSetgid))
	}
	for _, v := range p.spec.Volumes {
		switch {
		case v.ConfigMap != nil:
			p.fill(volume(v.Name), maps[v.ConfigMap.Name], 0o644)
		case v.Secret != nil:
			p.fill(volume(v.Name), secrets[v.Secret.SecretName], os.FileMode(*v.Secret.DefaultMode))
		default:
			writable(v.Name)
		}
	}
	for _, c := range set.Spec.VolumeClaimTemplates {
		writable(c.Name)
	}
	p.image()
	return p
}

// onNode returns what an ID of the pod is on the node.
func (p *pod) onNode(id int) int {
	if p.spec.HostUsers != nil && !*p.spec.HostUsers {
		return id + shift
	}
	return id
}

// fill writes the files of a volume as the kubelet does: a new directory, to which one link is swapped.
func (p *pod) fill(dir string, files map[string]string, mode os.FileMode) {
	p.t.Helper()
	fresh, err := os.MkdirTemp(dir, "..")
	must(p.t, err)
	must(p.t, os.Chmod(fresh, 0o755))
	for name, content := range files {
		file := filepath.Join(fresh, name)
		must(p.t, os.WriteFile(file, []byte(content), mode))
		must(p.t, os.Chmod(file, mode))
		must(p.t, os.Chown(file, p.onNode(0), p.onNode(int(*p.spec.SecurityContext.FSGroup))))
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			must(p.t, os.Symlink("..data/"+name, filepath.Join(dir, name)))
		}
	}
	must(p.t, os.Symlink(filepath.Base(fresh), filepath.Join(dir, "..data_tmp")))
	must(p.t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
}

// image makes the root of the containers, with the programs of this machine and the one that is tested.
func (p *pod) image() {
	p.root = filepath.Join(p.dir, "root")
	for _, dir := range []string{"proc", "dev", "sys", "etc/ssl", "run", "var/tmp", "home/toolserver", "usr/local/bin"} {
		must(p.t, os.MkdirAll(filepath.Join(p.root, dir), 0o755))
	}
	for _, dir := range append(system, "/tmp") {
		must(p.t, os.MkdirAll(filepath.Join(p.root, dir), 0o755))
	}
	for _, link := range []string{"/bin", "/sbin", "/lib", "/lib64"} {
		if to, err := os.Readlink(link); err == nil {
			must(p.t, os.Symlink(to, filepath.Join(p.root, link)))
		}
	}
	must(p.t, os.WriteFile(filepath.Join(p.root, "etc/passwd"), []byte("toolserver:x:65532:65532::/home/toolserver:/usr/sbin/nologin\n"), 0o644))
	must(p.t, os.WriteFile(filepath.Join(p.root, "etc/group"), []byte("toolserver:x:65532:\n"), 0o644))
	program, err := os.ReadFile(toolserver(p.t))
	must(p.t, err)
	must(p.t, os.WriteFile(filepath.Join(p.root, "usr/local/bin/toolserver"), program, 0o755))
	for _, c := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
		for _, m := range c.VolumeMounts {
			must(p.t, os.MkdirAll(filepath.Join(p.root, m.MountPath), 0o755))
		}
	}
}

// system are the directories of this machine that the containers see.
var system = func() (there []string) {
	for _, dir := range []string{"/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64", "/usr/share", "/etc/ssl"} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			there = append(there, dir)
		}
	}
	return there
}()

// container writes what runc reads for one of the containers.
func (p *pod) container(c corev1.Container) (bundle string) {
	t, s := p.t, c.SecurityContext
	bundle = filepath.Join(p.dir, c.Name)
	must(t, os.MkdirAll(bundle, 0o755))
	mount := func(to, kind, from string, options ...string) specs.Mount {
		return specs.Mount{Destination: to, Type: kind, Source: from, Options: options}
	}
	mounts := []specs.Mount{
		mount("/proc", "proc", "proc", "nosuid", "noexec", "nodev"),
		mount("/dev", "tmpfs", "tmpfs", "nosuid", "strictatime", "mode=755", "size=65536k"),
		mount("/dev/pts", "devpts", "devpts", "nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"),
		mount("/dev/mqueue", "mqueue", "mqueue", "nosuid", "noexec", "nodev"),
		mount("/dev/shm", "tmpfs", "shm", "nosuid", "noexec", "nodev", "mode=1777", "size=65536k"),
		mount("/sys", "sysfs", "sysfs", "nosuid", "noexec", "nodev", "ro"),
	}
	for _, dir := range system {
		mounts = append(mounts, mount(dir, "bind", dir, "rbind", "nosuid", "nodev", "ro"))
	}
	for _, m := range c.VolumeMounts {
		access := "rw"
		if m.ReadOnly {
			access = "ro"
		}
		mounts = append(mounts, mount(m.MountPath, "bind", p.volumes[m.Name], "rbind", access))
	}
	linux := &specs.Linux{Namespaces: []specs.LinuxNamespace{{Type: "pid"}, {Type: "ipc"}, {Type: "uts"}, {Type: "mount"}, {Type: "network"}}}
	if p.onNode(0) != 0 {
		linux.Namespaces = append(linux.Namespaces, specs.LinuxNamespace{Type: "user"})
		linux.UIDMappings = []specs.LinuxIDMapping{{HostID: shift, Size: 65536}}
		linux.GIDMappings = linux.UIDMappings
	}
	if s.ProcMount == nil || *s.ProcMount == corev1.DefaultProcMount { // the masks of container runtimes
		linux.MaskedPaths = []string{"/proc/asound", "/proc/acpi", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
			"/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware", "/sys/devices/virtual/powercap"}
		linux.ReadonlyPaths = []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
	}
	switch profile := p.spec.SecurityContext.SeccompProfile; profile.Type {
	case corev1.SeccompProfileTypeRuntimeDefault:
		linux.Seccomp = new(defaultProfile())
	case corev1.SeccompProfileTypeLocalhost:
		content, err := os.ReadFile(kubernetes + "seccomp/" + *profile.LocalhostProfile)
		must(t, err)
		linux.Seccomp = new(specs.LinuxSeccomp)
		must(t, json.Unmarshal(content, linux.Seccomp))
	}
	if !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(s.Capabilities.Add) > 0 {
		t.Fatalf("capabilities %v", s.Capabilities)
	}
	env := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/home/toolserver"} // of the image
	for _, v := range c.Env {
		env = append(env, v.Name+"="+v.Value)
	}
	config, err := json.Marshal(&specs.Spec{
		Version: "1.0.2", Root: &specs.Root{Path: p.root, Readonly: *s.ReadOnlyRootFilesystem}, Hostname: "toolserver-0", Mounts: mounts, Linux: linux,
		Process: &specs.Process{
			User: specs.User{UID: uint32(*p.spec.SecurityContext.RunAsUser), GID: uint32(*p.spec.SecurityContext.RunAsGroup), AdditionalGids: []uint32{uint32(*p.spec.SecurityContext.FSGroup)}},
			Args: slices.Concat(c.Command, c.Args), Env: env, Cwd: "/data",
			Capabilities: &specs.LinuxCapabilities{}, NoNewPrivileges: !*s.AllowPrivilegeEscalation,
		},
	})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(bundle, "config.json"), config, 0o644))
	return bundle
}

func (p *pod) runc(args ...string) *exec.Cmd {
	return exec.Command("runc", append([]string{"--root", filepath.Join(p.dir, "runc")}, args...)...)
}

// init runs an init container and returns what it wrote and whether it succeeded.
func (p *pod) init(c corev1.Container) (string, error) {
	out, err := p.runc("run", "-b", p.container(c), p.name+"-"+c.Name).CombinedOutput()
	return string(out), err
}

// serving is a container that runs.
type serving struct {
	*pod
	id     string
	log    *os.File
	client http.Client // to it, in its network
	ended  chan error
}

// start starts a container, and ends it with the test.
func (p *pod) start(c corev1.Container) *serving {
	t := p.t
	s := &serving{pod: p, id: p.name + "-" + c.Name, ended: make(chan error, 1)}
	var err error
	s.log, err = os.Create(filepath.Join(p.dir, "log"))
	must(t, err)
	pidFile := filepath.Join(p.dir, "pid")
	cmd := p.runc("run", "--pid-file", pidFile, "-b", p.container(c), s.id)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	must(t, cmd.Start())
	go func() { s.ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = p.runc("kill", s.id, "KILL").Run()
		s.log.Close()
		if t.Failed() {
			text, _ := os.ReadFile(s.log.Name())
			t.Logf("%s", text)
		}
	})
	var pid string
	s.await("the container", func() error {
		text, err := os.ReadFile(pidFile)
		pid = strings.TrimSpace(string(text))
		return err
	})
	theirs, err := os.Open("/proc/" + pid + "/ns/net")
	must(t, err)
	t.Cleanup(func() { theirs.Close() })
	s.client = http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		type dialed struct {
			net.Conn
			error
		}
		done := make(chan dialed, 1)
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			if err := unix.Setns(int(theirs.Fd()), unix.CLONE_NEWNET); err != nil {
				done <- dialed{nil, err}
				return
			}
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			done <- dialed{conn, err}
		}()
		d := <-done
		return d.Conn, d.error
	}}}
	return s
}

// await tries something until it succeeds, for half a minute.
func (s *serving) await(what string, try func() error) {
	s.t.Helper()
	deadline := time.After(30 * time.Second)
	for tick := time.Tick(50 * time.Millisecond); ; {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-tick:
		case got := <-s.ended:
			s.t.Fatalf("%s: the container ended: %v", what, got)
		case <-deadline:
			s.t.Fatalf("%s: %v", what, err)
		}
	}
}

// address returns that of a port of the container, by its name.
func (s *serving) address(name string) string {
	for _, port := range s.spec.Containers[0].Ports {
		if port.Name == name {
			return fmt.Sprintf("http://127.0.0.1:%d", port.ContainerPort)
		}
	}
	s.t.Fatalf("no port %s", name)
	return ""
}

// probe does what the kubelet does.
func (s *serving) probe(p *corev1.Probe) error {
	resp, err := s.client.Get(s.address(p.HTTPGet.Port.StrVal) + p.HTTPGet.Path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%d: %s", resp.StatusCode, body)
	}
	return nil
}

// connect has a client connect to it.
func (s *serving) connect(token string) (*mcp.ClientSession, error) {
	e := endpoint{s.address("http") + "/mcp", s.client.Transport}
	return e.connect(token, modern)
}

// TestPods runs the pod of each row of docs/kubernetes.md with its configuration, and asks of it what a cluster does.
func TestPods(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make what a container runtime makes")
	}
	if _, err := exec.LookPath("runc"); err != nil {
		t.Skip("runc is missing")
	}
	program := toolserver(t)
	for overlay, want := range map[string]struct{ in, out []string }{
		"restricted": {
			[]string{"process tree   subreaper", "files and programs: landlock", "system calls: seccomp", "not enforced   that modes, owners and times of files outside the write paths do not change"},
			[]string{"mount namespace\n"},
		},
		"layers": {
			[]string{"process tree   pid namespace", "files and programs: landlock", "system calls: seccomp", "protected files and metadata: mount namespace"},
			[]string{"fail "},
		},
	} {
		t.Run(overlay, func(t *testing.T) {
			t.Parallel()
			all := render(t, overlay)
			ann, annEntry := token(t, program, "ann")
			bob, bobEntry := token(t, program, "bob")
			eve, eveEntry := token(t, program, "eve")
			config := named[*corev1.ConfigMap](t, all, "toolserver").Data["config.yaml"]
			with := func(entries ...string) map[string]string {
				const tokens = "  tokens:"
				at := strings.Index(config, tokens)
				at += strings.Index(config[at:], "\n") + 1
				return map[string]string{"config.yaml": config[:at] + strings.Join(entries, "") + config[at+strings.Index(config[at:], "\n")+1:]}
			}
			key := filepath.Join(t.TempDir(), "audit.key")
			public, err := exec.Command(program, "audit", "key", key).Output()
			must(t, err)
			private, err := os.ReadFile(key)
			must(t, err)
			p := newPod(t, named[*appsv1.StatefulSet](t, all, "toolserver"),
				map[string]map[string]string{"toolserver": with(annEntry, bobEntry)},
				map[string]map[string]string{"toolserver-keys": {"audit.key": string(private), "k1": strings.Repeat("0123456789abcdef", 4)}})

			log, err := p.init(p.spec.InitContainers[0])
			if strings.Contains(log, "runc run failed") {
				t.Skipf("no containers here: %s", log)
			}
			if err != nil {
				t.Errorf("check: %v", err)
			}
			for _, part := range want.in {
				if !strings.Contains(log, part) {
					t.Errorf("check does not say %q: %s", part, log)
				}
			}
			for _, part := range want.out {
				if strings.Contains(log, part) {
					t.Errorf("check says %q: %s", part, log)
				}
			}

			if enforced := p.spec.SecurityContext.SeccompProfile; enforced.Type == corev1.SeccompProfileTypeLocalhost { // on a node that lacks what it takes
				lacking := *p
				lacking.spec.SecurityContext = p.spec.SecurityContext.DeepCopy()
				lacking.spec.SecurityContext.SeccompProfile.Type = corev1.SeccompProfileTypeRuntimeDefault
				if log, err := lacking.init(p.spec.Containers[0]); err == nil || !strings.Contains(log, "this machine cannot enforce the policy") {
					t.Errorf("a server on a node without namespaces: %v: %s", err, log)
				}
			}

			c := p.spec.Containers[0]
			s := p.start(c)
			s.await("the startup probe", func() error { return s.probe(c.StartupProbe) })
			must(t, s.probe(c.LivenessProbe))
			must(t, s.probe(c.ReadinessProbe))
			first, err := s.connect(ann)
			must(t, err)
			defer first.Close()
			second, err := s.connect(bob)
			must(t, err)
			defer second.Close()
			expect := func(session *mcp.ClientSession, tool string, args map[string]any, parts ...string) (text string) {
				t.Helper()
				text = call(session, tool, args)
				for _, part := range parts {
					if !strings.Contains(text, part) {
						t.Errorf("%s %v does not say %q: %s", tool, args, part, text)
					}
				}
				return text
			}
			bash := func(session *mcp.ClientSession, command string, parts ...string) string {
				t.Helper()
				return expect(session, "bash", map[string]any{"command": command}, parts...)
			}
			expect(first, "write_file", map[string]any{"path": "note", "content": "of ann"})
			place := strings.Fields(bash(first, "pwd; id -u; cat note; echo more >>note", "/data/ann-", "65532", "of ann"))[0]
			bash(second, "ls -a", ".")
			for _, attempt := range []string{
				"cat " + place + "/note", // of somebody else
				`python3 -c "print(open('/etc/toolserver-' + 'keys/aud' + 'it.key').read())"`,
				`python3 -c "print(open('/var/lib/toolserver/aud' + 'it.jsonl').read())"`,
				"ls /var/lib/toolserver/st*/*",
				"echo x >/var/lib/toolserver/x",
				"touch /usr/local/bin/toolserver", "touch /data/x",
				"unshare -Ur true",
				"echo >/dev/tcp/127.0.0.1/8080", // the server itself
			} {
				if text := bash(second, attempt+" && echo done", ""); !regexp.MustCompile(`(?i)denied|not permitted|no such file|read-only`).MatchString(text) || strings.Contains(text, "done\n") {
					t.Errorf("%s: %s", attempt, text)
				}
			}
			expect(second, "read_file", map[string]any{"path": place + "/note"}, "outside the allowed paths")

			// The ConfigMap changes.
			if session, err := s.connect(eve); err == nil {
				session.Close()
				t.Error("eve is let in")
			}
			p.fill(p.volumes["config"], with(annEntry, eveEntry), 0o644)
			s.await("the new token", func() error {
				session, err := s.connect(eve)
				if err == nil {
					session.Close()
				}
				return err
			})
			if session, err := s.connect(bob); err == nil {
				session.Close()
				t.Error("bob is still let in")
			}

			// The pod is terminated: it is not ready at once, goes on to serve what it has and what still comes, and ends in time.
			var running sync.WaitGroup
			running.Go(func() { bash(first, "touch begun; sleep 12; echo over", "over") })
			s.await("a command", func() error {
				_, err := os.Stat(p.volumes["data"] + strings.TrimPrefix(place, "/data") + "/begun")
				return err
			})
			begun := time.Now()
			must(t, p.runc("kill", s.id, "TERM").Run())
			s.await("readiness", func() error {
				if err := s.probe(c.ReadinessProbe); err == nil || !strings.Contains(err.Error(), "503") {
					return fmt.Errorf("the readiness probe got %v", err)
				}
				return nil
			})
			must(t, s.probe(c.LivenessProbe))
			bash(first, "echo while draining", "while draining")
			running.Wait()
			select {
			case <-s.ended:
			case <-time.After(time.Until(begun.Add(time.Duration(*p.spec.TerminationGracePeriodSeconds) * time.Second))):
				t.Error("it was not over in time")
			}

			verify := exec.Command(program, "audit", "verify", "--key", strings.TrimSpace(string(public)), filepath.Join(p.volumes["state"], "audit.jsonl"))
			if out, err := verify.CombinedOutput(); err != nil {
				t.Errorf("audit verify: %v: %s", err, out)
			}
		})
	}
}

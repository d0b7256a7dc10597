package resources_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/files"
	"github.com/toolserver/toolserver/tools/resources"
)

// bench is a working directory with the resources over it.
type bench struct {
	dir  string // canonical
	exec *call.Executor
}

// newBench returns the resources, and the file tools they go with. Change may
// widen or narrow the policy.
func newBench(t testing.TB, change func(*sandbox.Policy)) bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := bench{dir: filepath.Join(dir, "work")}
	if err := os.Mkdir(b.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p := sandbox.Policy{WorkingDirectory: b.dir, Tools: map[string]sandbox.ToolPolicy{}}
	if change != nil {
		change(&p)
	}
	box := tooltest.Sandbox(t, p, files.Family().Declared())
	b.exec = tooltest.Executor(t, tooltest.Tools(t, files.Family(), declare.From[files.Options]{Sandbox: box})...)
	replace(t, b.exec, box, resources.Server{})
	return b
}

func replace(t testing.TB, exec *call.Executor, box *sandbox.Sandbox, s resources.Server) {
	t.Helper()
	o, err := resources.Family(s).Offer(declare.From[resources.Options]{Sandbox: box, Config: resources.Options{Servers: true}})
	if err != nil {
		t.Fatal(err)
	}
	exec.Registry.Register(domain.FixedSource("resources", o, nil))
	if m := exec.Registry.Catalog().Missing(); m != nil {
		t.Fatal(m)
	}
}

// put writes files, given as name and content in turn.
func (b bench) put(t testing.TB, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		path := filepath.Join(b.dir, pairs[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(pairs[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// link makes symbolic links, given as name and target in turn.
func (b bench) link(t testing.TB, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if err := os.Symlink(pairs[i+1], filepath.Join(b.dir, pairs[i])); err != nil {
			t.Skip(err)
		}
	}
}

// absolute returns the URI of a file by its whole path.
func (b bench) absolute(name string) string {
	return "file:///" + strings.TrimPrefix(filepath.ToSlash(filepath.Join(b.dir, name)), "/")
}

// read reads a resource of one document, as clients do.
func read(t testing.TB, exec *call.Executor, uri string) (c domain.Content, err error) {
	t.Helper()
	answered := false
	exec.ReadResource(t.Context(), domain.Session{}, nil, uri, func(r domain.ToolResult, e error) {
		contents := r.Content
		answered = true
		if err = e; err != nil {
			return
		}
		if len(contents) != 1 || contents[0].Type != domain.ResourceContent || contents[0].URI != uri {
			t.Errorf("%s: %.300v; want one document with this URI", uri, contents)
			return
		}
		c = contents[0]
	})
	if !answered {
		t.Fatalf("%s: not answered", uri)
	}
	return c, err
}

// refused returns what reading a resource must fail with.
func refused(t testing.TB, exec *call.Executor, uri string) *domain.Error {
	t.Helper()
	c, err := read(t, exec, uri)
	e, ok := errors.AsType[*domain.Error](err)
	if !ok {
		t.Fatalf("%s: %v, %.300v; want an error", uri, err, c)
	}
	if e.Hint == "" || e.Data["uri"] != uri {
		t.Errorf("%s: hint %q, data %v", uri, e.Hint, e.Data)
	}
	return e
}

func TestConfig(t *testing.T) {
	exec := tooltest.Executor(t)
	text, err := "a: 1\n", error(nil)
	var tell func()
	replace(t, exec, tooltest.Sandbox(t, sandbox.Policy{}, files.Family().Declared()), resources.Server{
		Config:        func() (string, error) { return text, err },
		ConfigChanged: func(_ context.Context, changed func()) { tell = changed },
	})
	if c, err := read(t, exec, "config://server"); err != nil || c.Text != "a: 1\n" || c.MIMEType != "application/yaml" || c.Data != nil {
		t.Errorf("%+v, %v", c, err)
	}
	r, at, found := exec.Registry.Catalog().FindResource(domain.Principal{}, "config://server")
	if found != nil || r.Name != resources.ConfigName {
		t.Fatal(found)
	}
	calls := 0
	if err := r.Watch(t.Context(), at, func() { calls++ }); err != nil {
		t.Fatal(err)
	}
	if tell(); calls != 1 {
		t.Errorf("%d calls; want 1", calls)
	}
	err = errors.New("no configuration")
	if _, got := read(t, exec, "config://server"); domain.CodeOf(got) != domain.CodeExecutionFailed || !strings.Contains(got.Error(), "no configuration") {
		t.Error(got)
	}
}

func TestHealth(t *testing.T) {
	exec := tooltest.Executor(t)
	want := resources.Health{
		Status: "ok", Version: "1.2.3", Started: "2026-01-02T03:04:05Z", UptimeSeconds: 61, ToolsEnabled: 16, ToolsDisabled: 1,
		CallsAbandoned: 2, ProtocolVersions: []string{"2026-07-28"}, SandboxLayers: []string{"openat2"},
	}
	replace(t, exec, tooltest.Sandbox(t, sandbox.Policy{}, files.Family().Declared()), resources.Server{Health: func(domain.Principal) resources.Health { return want }})
	c, err := read(t, exec, "status://health")
	if err != nil || c.MIMEType != "application/json" {
		t.Fatalf("%+v, %v", c, err)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(c.Text), &got); err != nil {
		t.Fatal(err)
	}
	if got["status"] != "ok" || got["uptime_seconds"] != 61.0 || got["tools_enabled"] != 16.0 || got["calls_abandoned"] != 2.0 {
		t.Errorf("%v", got)
	}
	r, _, err := exec.Registry.Catalog().FindResource(domain.Principal{}, "status://health")
	if err != nil || r.Watch != nil {
		t.Errorf("%v; want no watch: it changes all the time", err)
	}
}

// TestOffered holds the resources to what clients show of them, and leaves out
// those whose dependencies are missing.
func TestOffered(t *testing.T) {
	from := declare.From[resources.Options]{Sandbox: tooltest.Sandbox(t, sandbox.Policy{}, files.Family().Declared())}
	if o, err := resources.Family(resources.Server{}).Offer(from); err != nil || len(o.Resources) != 1 || o.Resources[0].Name != resources.FileName {
		t.Errorf("of a server that tells nothing: %v, %v", o.Resources, err)
	}
	o, err := resources.Family(resources.Server{
		Config: func() (string, error) { return "", nil }, Health: func(domain.Principal) resources.Health { return resources.Health{} },
		Upstreams: func(domain.Principal) any { return nil },
	}).Offer(from)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range o.Resources {
		names = append(names, r.Name)
		if r.Title == "" || !strings.HasSuffix(r.Description, ".") {
			t.Errorf("%s: title %q, description %q", r.Name, r.Title, r.Description)
		}
		if r.Name == resources.ConfigName && r.Watch != nil {
			t.Error("nobody tells of a new configuration, and it can be watched")
		}
	}
	if !slices.Equal(names, []string{"config", "health", "file"}) {
		t.Error(names)
	}
}

// TestReadFileOnly hides files from those who may not call read_file.
func TestReadFileOnly(t *testing.T) {
	b := newBench(t, nil)
	b.put(t, "a.txt", "a")
	if err := b.exec.Registry.Disable("read_file"); err != nil {
		t.Fatal(err)
	}
	if e := refused(t, b.exec, "file:///a.txt"); e.Code != domain.CodeResourceNotFound || e.Message != `no resource "file:///a.txt"` {
		t.Error(e)
	}
	if page, _, err := b.exec.Registry.Catalog().ListResources(domain.Principal{}, true, ""); err != nil || len(page) != 0 {
		t.Errorf("%d templates, %v", len(page), err)
	}
}

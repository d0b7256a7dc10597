//go:build linux

package skills_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/files"
	"github.com/toolserver/toolserver/tools/skills"
)

// bench is a directory of skills with what offers them.
type bench struct {
	dir  string // canonical
	exec *call.Executor
	user domain.Session
	look func([]string) ([]domain.Skill, []domain.Missing)
}

func newBench(t *testing.T) *bench {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{dir: filepath.Join(top, "skills"), exec: tooltest.Executor(t)}
	work := filepath.Join(top, "work")
	for _, dir := range []string{b.dir, work} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p := sandbox.Policy{WorkingDirectory: work, Tools: map[string]sandbox.ToolPolicy{files.ReadFile: {DeniedPaths: []string{"*.key"}}}}
	p.Settings.ProtectDefault = new(true)
	box := tooltest.Sandbox(t, p, files.Family().Declared())
	o := skills.Options{Directories: []string{b.dir, b.dir}}
	offer, err := skills.Family(o).Offer(declare.From[skills.Options]{Sandbox: box, Config: o})
	if err != nil {
		t.Fatal(err)
	}
	b.look = offer.Look
	b.exec.Registry.Register(domain.FixedSource("skills", offer, nil))
	return b
}

func (b *bench) write(t *testing.T, name, content string) {
	t.Helper()
	full := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func main(name string) string { return "---\nname: " + name + "\ndescription: Does it.\n---\nText.\n" }

// listed returns the skills in the directory, and why others are left out.
func (b *bench) listed(t *testing.T) (all []string, missing map[string]string) {
	t.Helper()
	c := b.exec.Registry.Look(t.Context(), domain.LookTime)
	for cursor := ""; ; {
		page, next, err := c.ListSkills(b.user.Principal, cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page {
			if !strings.HasPrefix(s.Path, "toolserver/") {
				all = append(all, s.Path)
			}
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	missing = map[string]string{}
	for _, m := range c.Missing() {
		missing[m.Name] = m.Reason
	}
	return all, missing
}

func (b *bench) get(uri string) (s *domain.Skill, err error) {
	return b.exec.Registry.GetSkill(context.Background(), b.user.Principal, uri)
}

func (b *bench) read(uri string) (c domain.Content, err error) {
	b.exec.ReadResource(context.Background(), b.user, nil, uri, func(r domain.ToolResult, failed error) {
		if err = failed; err == nil {
			c = r.Content[0]
		}
	})
	return c, err
}

// verify reads all files of a skill as clients do.
func (b *bench) verify(t *testing.T, s *domain.Skill) {
	t.Helper()
	for _, f := range s.Files {
		c, err := b.read(f.URI)
		body := c.Data
		if body == nil {
			body = []byte(c.Text)
		}
		if err != nil || domain.Digest(body) != f.Digest || int64(len(body)) != f.Size || c.MIMEType != f.MIME {
			t.Errorf("%v: %v, %d bytes as %s", f, err, len(body), c.MIMEType)
		}
	}
}

// TestDirectories offers what is a skill, says of each other directory why it is none, and loses none because of another.
func TestDirectories(t *testing.T) {
	b := newBench(t)
	b.write(t, "acme/refunds/SKILL.md", main("refunds"))
	b.write(t, "acme/refunds/approve/SKILL.md", main("approve"))
	b.write(t, "acme/refunds/data/a b#ü.txt", "x")
	b.write(t, "acme/refunds/data/raw", "\x00\xff")
	b.write(t, "acme/refunds/data/odd []*'\"<>|^{}~%41?\\:;@&=+$,!.txt", "x")
	b.write(t, "acme/refunds/data/latin \xe9", "x")
	b.write(t, "acme/refunds/data/bom.txt", "\ufeffx\r\n")
	b.write(t, "acme/refunds/.git/config", "x")
	b.write(t, "crlf/SKILL.md", strings.ReplaceAll(main("crlf"), "\n", "\r\n"))
	b.write(t, "no/readme.md", "x")
	reasons := map[string]string{}
	add := func(name, text, reason string) {
		b.write(t, name+"/SKILL.md", text)
		reasons[name] = reason
	}
	add("other", main("another"), `its name "another" is not that of its directory, "other"`)
	add("number", "---\nname: 12\ndescription: x\n---\n", "no name that is a text")
	add("null", "---\nname: null\ndescription: x\n---\n", "no name that is a text")
	add("undescribed", "---\nname: undescribed\n---\n", "no description")
	add("blank", "---\nname: blank\ndescription: ' '\n---\n", "no description")
	add("long", "---\nname: long\ndescription: "+strings.Repeat("x", 1025)+"\n---\n", "more than 1,024 characters")
	add("reserved", "---\nname: reserved\ndescription: x\nmetadata: {io.modelcontextprotocol/x: y}\n---\n", "MCP reserves")
	add("textual", "---\nname: textual\ndescription: x\nmetadata: y\n---\n", "does not map texts to texts")
	add("proto", "---\nname: proto\ndescription: x\n__proto__: x\n---\n", "__proto__")
	add("typed", "---\nname: typed\ndescription: x\nmetadata: {version: 1.0}\n---\n", "does not map texts to texts")
	add("compatible", "---\nname: compatible\ndescription: x\ncompatibility: [a]\n---\n", "compatibility is no text")
	add("yaml", "---\nname: [\n---\n", "not valid YAML")
	add("plain", "# Title\n", "does not begin with a line ---")
	add("bom", "\ufeff"+main("bom"), "byte order mark")
	add("latin", "---\nname: latin\ndescription: \xe9\n---\n", "not UTF-8")
	add("double--dash", main("double--dash"), "not 1 to 64 lowercase letters")
	add("Upper", main("Upper"), "not 1 to 64 lowercase letters")
	add("with space/x", main("x"), "cannot be part of an address")
	add("env", main("env"), ".env is protected: .env")
	b.write(t, "env/.env", "A=1")
	add("denied", main("denied"), "x.key is denied by the policy")
	b.write(t, "denied/x.key", "k")
	add("links", main("links"), "passwd is a symlink")
	add("pipe", main("pipe"), "p is no regular file")
	add("many", main("many"), "513 files; at most 512")
	for i := range 512 {
		b.write(t, filepath.Join("many", "d", string(rune('a'+i/26/26))+string(rune('a'+i/26%26))+string(rune('a'+i%26))), "")
	}
	add("large", main("large"), "at most 16,777,216")
	b.write(t, "large/x", strings.Repeat("x", domain.MaxSkillBytes))
	if err := os.Symlink("/etc/passwd", filepath.Join(b.dir, "links", "passwd")); err != nil {
		t.Fatal(err)
	}
	b.write(t, "../elsewhere/SKILL.md", main("elsewhere"))
	if err := os.Symlink("../elsewhere", filepath.Join(b.dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	reasons["elsewhere"] = "it is a symlink"
	if err := syscall.Mkfifo(filepath.Join(b.dir, "pipe", "p"), 0o644); err != nil {
		t.Fatal(err)
	}
	all, missing := b.listed(t)
	if want := []string{"acme/refunds", "acme/refunds/approve", "crlf"}; !slices.Equal(all, want) {
		t.Errorf("offered are %q; want %q", all, want)
	}
	for name, want := range reasons {
		if !strings.Contains(missing[name], want) {
			t.Errorf("%s: %q; want %q", name, missing[name], want)
		}
		delete(missing, name)
	}
	if len(missing) > 0 {
		t.Errorf("also missing: %v", missing)
	}
	s, err := b.get("skill://acme/refunds/SKILL.md")
	if err != nil || len(s.Files) != 7 {
		t.Fatalf("%v, %v", s, err)
	}
	b.verify(t, s)
	if _, err := b.get("skill://other/SKILL.md"); domain.CodeOf(err) != domain.CodeInvalidParams || !strings.Contains(err.Error(), reasons["other"]) {
		t.Errorf("an entry of what is no skill: %v", err)
	}
	if _, err := b.read("skill://other/SKILL.md"); domain.CodeOf(err) != domain.CodeResourceNotFound {
		t.Errorf("a file of what is no skill: %v", err)
	}
}

// TestChanges never serves what the last entry does not promise, and has another entry when a file has changed, whatever its time says.
func TestChanges(t *testing.T) {
	b := newBench(t)
	b.write(t, "a/SKILL.md", main("a"))
	b.write(t, "a/x", "one")
	before, err := b.get("skill://a/SKILL.md")
	if err != nil {
		t.Fatal(err)
	}
	full := filepath.Join(b.dir, "a", "x")
	info, err := os.Stat(full)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"two", "six", "longer"} {
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		old := info.ModTime().Add(-3600e9)
		if err := os.Chtimes(full, old, old); err != nil {
			t.Fatal(err)
		}
		if c, err := b.read("skill://a/x"); domain.CodeOf(err) != domain.CodeExecutionFailed || !strings.Contains(err.Error(), "is not as the entry") {
			t.Errorf("%d: read %v, %v", i, c, err)
		}
		now, err := b.get("skill://a/SKILL.md")
		if err != nil || now.Files[1].Digest != domain.Digest([]byte(text)) || now.Files[1].Digest == before.Files[1].Digest {
			t.Fatalf("%d: %v, %v", i, now, err)
		}
		b.verify(t, now)
		before = now
	}
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	if _, err := b.read("skill://a/x"); domain.CodeOf(err) != domain.CodeResourceNotFound {
		t.Errorf("a file that is gone: %v", err)
	}
	if s, err := b.get("skill://a/SKILL.md"); err != nil || len(s.Files) != 1 {
		t.Errorf("without the file: %v, %v", s, err)
	}
	if err := os.RemoveAll(filepath.Join(b.dir, "a")); err != nil {
		t.Fatal(err)
	}
	if all, _ := b.listed(t); all != nil {
		t.Errorf("without skills: %q", all)
	}
	if err := os.RemoveAll(b.dir); err != nil {
		t.Fatal(err)
	}
	if all, missing := b.listed(t); all != nil || !strings.Contains(missing[b.dir], "does not exist") {
		t.Errorf("without the directory: %q, %v", all, missing)
	}
}

// TestUnchanged notifies of changes only, and not of skills that are found for the first time.
func TestUnchanged(t *testing.T) {
	b := newBench(t)
	b.write(t, "a/SKILL.md", main("a"))
	changes := 0
	defer b.exec.Registry.OnChange(func(c domain.Change) {
		if c.Resources {
			changes++
		}
	})()
	for range 3 {
		b.listed(t)
	}
	if changes != 0 {
		t.Errorf("%d changes at first", changes)
	}
	b.write(t, "a/y", "")
	for range 3 {
		b.listed(t)
	}
	if changes != 1 {
		t.Errorf("%d changes after one", changes)
	}
}

// TestCanceled finishes looking after whoever asked has gone, so that nobody finds half of the skills.
func TestCanceled(t *testing.T) {
	b := newBench(t)
	b.write(t, "a/SKILL.md", main("a"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		for _, s := range b.exec.Registry.Look(ctx, domain.LookTime).Missing() {
			t.Errorf("left out: %v", s)
		}
	}
	if all, missing := b.listed(t); !slices.Equal(all, []string{"a"}) || len(missing) > 0 {
		t.Errorf("%q, %v", all, missing)
	}
}

// TestHanging lists what is known while looking takes long, looks once at a time, and goes on with what was found then.
func TestHanging(t *testing.T) {
	r, err := domain.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	entered, leave := make(chan struct{}, 3), make(chan struct{})
	r.Register(domain.FixedSource("slow", domain.Offer{Look: func([]string) (found []domain.Skill, _ []domain.Missing) {
		entered <- struct{}{}
		<-leave
		return []domain.Skill{{Path: "a"}}, nil // invalid, and known of
	}}, nil))
	for range 3 {
		if m := r.Look(t.Context(), time.Millisecond).Missing(); m != nil {
			t.Errorf("found: %v", m)
		}
	}
	if len(entered) != 1 {
		t.Errorf("%d look", len(entered))
	}
	close(leave)
	if m := r.Look(t.Context(), domain.LookTime).Missing(); len(m) != 1 || m[0].Name != "a" {
		t.Errorf("in the end: %v", m)
	}
}

// TestSecrets offers no skill that has a secret of the configuration, since it could not be served as it is.
func TestSecrets(t *testing.T) {
	b := newBench(t)
	b.write(t, "a/SKILL.md", main("a"))
	b.write(t, "a/x", "the key is hunter2-hunter2")
	b.write(t, "b/SKILL.md", strings.Replace(main("b"), "Does it", "hunter2-hunter2", 1))
	b.write(t, "c/SKILL.md", main("c"))
	if all, _ := b.listed(t); len(all) != 3 {
		t.Fatalf("at first: %q", all)
	}
	settings := b.exec.Registry.Catalog().Settings
	settings.Secrets = []string{"hunter2-hunter2"}
	b.exec.Registry.Configure(settings)
	if _, err := b.read("skill://a/x"); err == nil || !strings.Contains(err.Error(), "secret") {
		t.Errorf("the file: %v", err)
	}
	all, missing := b.listed(t)
	if !slices.Equal(all, []string{"c"}) || !strings.Contains(missing["a"], "its file x has a secret") || !strings.Contains(missing["b"], "secret") {
		t.Errorf("%q, %v", all, missing)
	}
	settings.Secrets = nil
	b.exec.Registry.Configure(settings)
	if all, _ := b.listed(t); len(all) != 3 {
		t.Errorf("without the secret: %q", all)
	}
}

// TestAccess withholds skills from those who may not use them, and skills that have their files with them.
func TestAccess(t *testing.T) {
	b := newBench(t)
	b.write(t, "a/SKILL.md", main("a"))
	b.write(t, "a/b/SKILL.md", main("b"))
	b.write(t, "c/SKILL.md", main("c"))
	b.user.Principal = domain.Principal{ID: "user:ann", Name: "ann"}
	settings := b.exec.Registry.Catalog().Settings
	settings.Skills = map[string]domain.Override{"a/b": {Groups: []string{"staff"}}}
	b.exec.Registry.Configure(settings)
	for _, step := range []struct {
		group string
		want  []string
	}{{"guests", []string{"c"}}, {"staff", []string{"a", "a/b", "c"}}} {
		b.user.Principal.Groups = []string{step.group}
		if all, _ := b.listed(t); !slices.Equal(all, step.want) {
			t.Errorf("%s: %q", step.group, all)
		}
		_, failed := b.read("skill://a/b/SKILL.md")
		if _, err := b.get("skill://a/SKILL.md"); (err == nil) != (step.group == "staff") || (failed == nil) != (err == nil) {
			t.Errorf("%s: %v, %v", step.group, err, failed)
		}
	}
	settings.Skills["a/b"] = domain.Override{Enabled: new(false)}
	b.exec.Registry.Configure(settings)
	if all, _ := b.listed(t); !slices.Equal(all, []string{"c"}) {
		t.Errorf("disabled: %q", all)
	}
}

// TestItself offers a directory that is a skill itself under its own name.
func TestItself(t *testing.T) {
	b := newBench(t)
	b.write(t, "SKILL.md", main("skills"))
	b.write(t, "inner/SKILL.md", main("inner"))
	if all, missing := b.listed(t); !slices.Equal(all, []string{"skills", "skills/inner"}) || len(missing) > 0 {
		t.Errorf("%q, %v", all, missing)
	}
}

// TestShipped holds the skills of the program to the format, and to the tools that they name.
func TestShipped(t *testing.T) {
	b := newBench(t)
	b.exec = tooltest.Executor(t)
	box := tooltest.Sandbox(t, sandbox.Policy{WorkingDirectory: b.dir})
	offer, err := skills.Family(skills.Options{}).Offer(declare.From[skills.Options]{Sandbox: box})
	if err != nil {
		t.Fatal(err)
	}
	found, missing := offer.Look(nil)
	if len(found) != 3 || len(missing) > 0 {
		t.Fatalf("%v, %v", found, missing)
	}
	for i := range found {
		found[i].Tool = "" // whatever tools there are here
	}
	b.exec.Registry.Register(domain.FixedSource("skills", domain.Offer{Skills: found}, nil))
	if m := b.exec.Registry.Catalog().Missing(); m != nil {
		t.Fatal(m)
	}
	for _, s := range found {
		b.verify(t, &s)
		if !json.Valid(s.Frontmatter) {
			t.Errorf("%s", s.Frontmatter)
		}
	}
	if off, err := skills.Family(skills.Options{}).Offer(declare.From[skills.Options]{Sandbox: box, Config: skills.Options{Off: true}}); err != nil || off.Look != nil {
		t.Errorf("without the extension: %v, %v", off, err)
	}
}

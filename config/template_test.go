package config_test

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/outbound/signin"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/tools/system"
	"github.com/toolserver/toolserver/upstream"
	"github.com/toolserver/toolserver/upstream/oauth"
)

// TestTemplateUncommented removes the comment sign of each key, alone and of all together:
// what the template teaches is accepted.
func TestTemplateUncommented(t *testing.T) {
	setting := regexp.MustCompile(`^( *)#([a-z_]+: )`)
	text := string(config.Template())
	lines := strings.Split(text, "\n")
	all := make([]string, len(lines))
	count := 0
	for i, line := range lines {
		all[i] = setting.ReplaceAllString(line, "$1$2")
		if all[i] == line {
			continue
		}
		count++
		one := append(append([]string{}, lines[:i]...), all[i])
		one = append(one, lines[i+1:]...)
		if _, err := load(t, strings.Join(one, "\n")); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if _, err := load(t, strings.Join(all, "\n")); err != nil {
		t.Error(err)
	}
	if count < 70 {
		t.Errorf("only %d keys in\n%s", count, text)
	}
	if n := len(lines); n > 300 {
		t.Errorf("%d lines", n)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "c.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := config.Load(config.Overrides{File: file, Directories: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("TOOLSERVER_CONFIG", "")
	t.Chdir(dir)
	if bare, err := config.Load(config.Overrides{Directories: []string{dir}}); err != nil || string(bare.Show()) != string(l.Show()) {
		t.Errorf("the template changes the defaults: %v\n%s", err, l.Show())
	}
}

var update = flag.Bool("update", false, "write docs/settings.md anew")

// TestPage holds docs/settings.md to the template.
func TestPage(t *testing.T) {
	const file = "../docs/settings.md"
	want := "# Settings\n\n" +
		"The configuration file with its keys, as `toolserver config init` writes it. `toolserver config schema` prints every key of each tool and\n" +
		"server as a JSON Schema, and `toolserver config show` what is in force. [policy.md](policy.md#settings) explains the policy,\n" +
		"[upstreams.md](upstreams.md#configuration) the keys of `mcp_servers`.\n\n```yaml\n" + string(config.Template()) + "```\n"
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%s is not what the template says (%v); go test ./config -run TestPage -update writes it", file, err)
	}
}

// TestWords checks that the text about settings is about fields that there are, and that no
// tag says the same.
func TestWords(t *testing.T) {
	types, fields := map[string]reflect.Type{}, 0
	for _, t := range []reflect.Type{
		reflect.TypeFor[config.Config](), reflect.TypeFor[config.Server](), reflect.TypeFor[config.TLS](), reflect.TypeFor[config.Sandbox](),
		reflect.TypeFor[config.CommandLimits](), reflect.TypeFor[config.Web](), reflect.TypeFor[config.Offer](), reflect.TypeFor[config.Logging](),
		reflect.TypeFor[config.User](), reflect.TypeFor[config.Compliance](), reflect.TypeFor[domain.Limits](), reflect.TypeFor[domain.Override](),
		reflect.TypeFor[domain.AnnotationOverride](), reflect.TypeFor[domain.Discovery](), reflect.TypeFor[domain.Level](), reflect.TypeFor[system.Settings](),
		reflect.TypeFor[upstream.Settings](), reflect.TypeFor[upstream.Filter](), reflect.TypeFor[oauth.Settings](), reflect.TypeFor[oauth.IdentityProvider](),
		reflect.TypeFor[signin.Keeping](),
		reflect.TypeFor[sandbox.ToolPolicy](), reflect.TypeFor[sandbox.Settings](), reflect.TypeFor[sandbox.Network](),
	} {
		types[t.String()] = t
	}
	var section reflect.Type
	for line := range strings.Lines(config.Config{}.Words()) {
		line = strings.TrimSuffix(line, "\n")
		name, _, isField := strings.Cut(line, ":")
		switch {
		case strings.HasPrefix(line, "["):
			if section = types[strings.Trim(line, "[]")]; section == nil {
				t.Fatalf("%s is about no type of the configuration", line)
			}
		case isField && !strings.HasPrefix(line, " "):
			f, ok := section.FieldByNameFunc(func(n string) bool {
				f, _ := section.FieldByName(n)
				return f.Tag.Get("yaml") == name
			})
			if _, twice := f.Tag.Lookup("doc"); !ok || twice {
				t.Errorf("%v has no %s, or says itself what it is", section, name)
			}
			fields++
		}
	}
	if fields < 50 {
		t.Errorf("%d fields are described", fields)
	}
}

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
	known := map[string]map[string]reflect.StructTag{"tool": {}}
	tags := func(of reflect.Type, name string) {
		for f := range of.Fields() {
			key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			known[name][key] = f.Tag
		}
	}
	var visit func(of reflect.Type)
	visit = func(of reflect.Type) {
		switch kind := of.Kind(); {
		case kind == reflect.Pointer || kind == reflect.Slice || kind == reflect.Map:
			visit(of.Elem())
		case kind != reflect.Struct || known[of.String()] != nil:
		case of.Name() == "":
			tags(of, "tool")
			fallthrough
		default:
			known[of.String()] = map[string]reflect.StructTag{}
			tags(of, of.String())
			for f := range of.Fields() {
				visit(f.Type)
			}
		}
	}
	visit(reflect.TypeFor[config.Config]())
	sections := config.ToolSections{}
	for _, name := range append(sections.Keys(), "other__tool") {
		visit(reflect.TypeOf(sections.New(name)))
	}
	section, fields := "", 0
	for line := range strings.Lines(config.Config{}.Words()) {
		name, _, isField := strings.Cut(strings.TrimSpace(line), ":")
		switch {
		case strings.HasPrefix(line, "["):
			if section = strings.Trim(name, "[]"); known[section] == nil {
				t.Fatalf("%s is about no type of the configuration", name)
			}
		case isField && !strings.HasPrefix(line, " "):
			tag, ok := known[section][name]
			for _, key := range []string{"doc", "also", "near", "hint", "example"} {
				if _, twice := tag.Lookup(key); !ok || twice {
					t.Errorf("%v has no %s, or says itself what it is", section, name)
				}
			}
			fields++
		}
	}
	if fields < 150 {
		t.Errorf("%d fields are described", fields)
	}
}

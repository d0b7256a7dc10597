package yamlconf_test

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolserver/toolserver/config/yamlconf"
)

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"", everything, string(yamlconf.Template(defaults())), string(yamlconf.Show(defaults(), defaults(), new(yamlconf.Source))),
		"a: &a [*a]", "server: &a {<<: *a}", "labels: {a: \"${X:-${Y}}\"}", "? [a]\n: b", "!!map {}", "--- \n--- \n", "\ufeff\tx",
		"tools: {bash: {timeout: 1e308, allowed_paths: ['~', '~/', '~x']}}", "limits: {max_result: 0o17, retries: -0b11}", "%YAML 1.1\n---\na: 1",
		"env:\n  - |2-\n   x", "mcp_servers: {x: *y}", "labels: {\"${file:c.yaml}\": \"${file:/dev/zero}\"}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, source, err := decode(text)
		all := mistakes(err)
		if err != nil && (len(all) == 0 || len(all) > 20) {
			t.Fatalf("got %#v", err)
		}
		for _, e := range all {
			if line := e.Error(); strings.ContainsAny(line, "\n\r") || !utf8.ValidString(line) || len(line) > 2000 || e.Line < 1 || e.Column < 1 {
				t.Errorf("not a fit line: %q", line)
			}
		}
		if err != nil {
			return
		}
		again, _, err := decode(string(yamlconf.Show(c, defaults(), new(yamlconf.Source))))
		if err != nil {
			t.Fatalf("shown text does not decode: %v\n%s", err, yamlconf.Show(c, defaults(), new(yamlconf.Source)))
		}
		if c.WorkDir == defaults().WorkDir { // relative, which means another folder in a file
			again.WorkDir = c.WorkDir
		}
		if len(source.Secrets()) == 0 && len(c.Env)+len(c.Servers)+len(c.Server.Tokens) == 0 && !reflect.DeepEqual(c, again) {
			t.Errorf("%+v became %+v", c, again)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	text := []byte(strings.ReplaceAll(everything, `"${x}"`, `"$${x}"`))
	b.ReportAllocs()
	for b.Loop() {
		c := defaults()
		if err := yamlconf.Decode("/etc/ts/c.yaml", text, &c, new(yamlconf.Source)); err != nil {
			b.Fatal(err)
		}
	}
}

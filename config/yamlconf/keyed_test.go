package yamlconf_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/config/yamlconf"
)

// sections have types that are made when the program runs.
type sections map[string]any

type commonKeys struct {
	Enabled bool `yaml:"enabled" doc:"Whether."`
}

type otherKeys struct {
	Common  commonKeys     `yaml:",inline"`
	Unknown map[string]any `yaml:",inline"`
}

func (sections) Keys() []string { return []string{"plain", "deep"} }

func (sections) Others() string { return "^o" }

func (sections) New(key string) any {
	common := reflect.StructField{Name: "Common", Type: reflect.TypeFor[commonKeys](), Tag: `yaml:",inline" template:"-"`}
	switch key {
	case "plain":
		return reflect.New(reflect.StructOf([]reflect.StructField{common})).Interface()
	case "deep":
		return reflect.New(reflect.StructOf([]reflect.StructField{common,
			{Name: "Depth", Type: reflect.TypeFor[int](), Tag: `yaml:"depth" min:"1" doc:"How deep."`},
		})).Interface()
	}
	return new(otherKeys)
}

type keyed struct {
	Parts sections `yaml:"parts" doc:"The parts."`
}

func TestKeyed(t *testing.T) {
	var c keyed
	decode := func(text string, into *keyed) error {
		return yamlconf.Decode("c.yaml", []byte(text), into, new(yamlconf.Source))
	}
	if err := decode("parts:\n  deep: {depth: 3}\n  other: {enabled: true, more: [1]}\n", &c); err != nil {
		t.Fatal(err)
	}
	if other := c.Parts["other"].(*otherKeys); !other.Common.Enabled || len(other.Unknown) != 1 {
		t.Errorf("got %+v", other)
	}
	const shown = "parts:\n  deep:\n    depth: 3\n  other:\n    enabled: true\n"
	if got := string(yamlconf.Show(c, keyed{}, new(yamlconf.Source))); got != shown {
		t.Errorf("shown as\n%s", got)
	}
	for text, want := range map[string]string{
		"parts:\n  deep: {dept: 3}\n":   `c.yaml:2:10: unknown key "dept" in parts.deep; did you mean "depth"?`,
		"parts:\n  plain: {depth: 3}\n": `c.yaml:2:11: unknown key "depth" in parts.plain; known keys: enabled`,
		"parts:\n  deep: {depth: 0}\n":  `c.yaml:2:17: parts.deep.depth must be at least 1, not 0`,
		"parts: []\n":                   `c.yaml:1:8: parts must be a mapping of keys to values, not a list`,
	} {
		if err := decode(text, new(keyed)); err == nil || err.Error() != want {
			t.Errorf("%s%v\nwant %s", text, err, want)
		}
	}
	template := string(yamlconf.Template(keyed{}))
	for want, times := range map[string]int{"  deep:": 1, "    #depth: 1": 1, "plain": 0, "    #enabled: false": 1, "NAME": 0} {
		if strings.Count(template, want) != times {
			t.Errorf("the template has %q not %d times:\n%s", want, times, template)
		}
	}
	if err := decode(template, new(keyed)); err != nil {
		t.Error(err)
	}
	schema := compile(t, keyed{})
	for text, good := range map[string]bool{
		"parts: {deep: {depth: 3, enabled: true}, plain: {}, other: {enabled: true}}": true,
		"parts: {deep: {dept: 3}}": false, "parts: {plain: {depth: 3}}": false, "parts: {other: {more: 1}}": false,
	} {
		if err := schema.Validate(document(t, text)); (err == nil) != good {
			t.Errorf("%s: the schema says %v", text, err)
		}
	}
}

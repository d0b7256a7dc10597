package yamlconf

import (
	"reflect"
	"strings"
	"testing"
)

// sections stands for a struct that is made when the program runs.
type sections struct{ made any }

type commonKeys struct {
	Enabled bool `yaml:"enabled" doc:"Whether."`
}

func (s *sections) ConfigValue() any {
	if s.made == nil {
		own := reflect.StructOf([]reflect.StructField{
			{Name: "Common", Type: reflect.TypeFor[commonKeys](), Tag: `yaml:",inline" template:"-"`},
			{Name: "Depth", Type: reflect.TypeFor[int](), Tag: `yaml:"depth" min:"1" doc:"How deep."`},
		})
		s.made = reflect.New(reflect.StructOf([]reflect.StructField{
			{Name: "Plain", Type: reflect.PointerTo(reflect.StructOf([]reflect.StructField{own.Field(0)})), Tag: `yaml:"plain,omitempty"`},
			{Name: "Deep", Type: reflect.PointerTo(own), Tag: `yaml:"deep,omitempty"`},
			{Name: "Others", Type: reflect.TypeFor[map[string]commonKeys](), Tag: `yaml:",inline"`},
		})).Interface()
	}
	return s.made
}

type standIn struct {
	Parts sections `yaml:"parts" doc:"The parts."`
}

func TestConfigValue(t *testing.T) {
	var c standIn
	const file = "parts:\n  deep: {depth: 3}\n  other: {enabled: true}\n"
	if err := Decode("c.yaml", []byte(file), &c, Options{}); err != nil {
		t.Fatal(err)
	}
	const shown = "parts:\n  deep:\n    enabled: false\n    depth: 3\n  other:\n    enabled: true\n"
	if got := string(Show(c, nil, false)); got != shown {
		t.Errorf("shown as\n%s", got)
	}
	for text, want := range map[string]string{
		"parts:\n  deep: {dept: 3}\n":   `c.yaml:2:10: unknown key "dept" in parts.deep; did you mean "depth"?`,
		"parts:\n  plain: {depth: 3}\n": `c.yaml:2:11: unknown key "depth" in parts.plain; known keys: enabled`,
		"parts:\n  deep: {depth: 0}\n":  `c.yaml:2:17: parts.deep.depth must be at least 1, not 0`,
		"parts: []\n":                   `c.yaml:1:8: parts must be a mapping of keys to values, not a list`,
	} {
		if err := Decode("c.yaml", []byte(text), new(standIn), Options{}); err == nil || err.Error() != want {
			t.Errorf("%s%v\nwant %s", text, err, want)
		}
	}
	template := string(Template(standIn{}))
	for want, times := range map[string]int{"# deep:": 1, "depth: 0": 1, "plain": 0, "enabled": 1, "# NAME:": 1} {
		if strings.Count(template, want) != times {
			t.Errorf("the template has %q not %d times:\n%s", want, times, template)
		}
	}
	if err := Decode("c.yaml", []byte(template), new(standIn), Options{}); err != nil {
		t.Error(err)
	}
	if schema := string(Schema(standIn{})); !strings.Contains(schema, `"depth"`) || !strings.Contains(schema, `"plain"`) {
		t.Errorf("the schema is\n%s", schema)
	}
}

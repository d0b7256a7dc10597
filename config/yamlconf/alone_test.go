package yamlconf_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/config/yamlconf"
)

// gate is a word, or a mapping that has no place for the word.
type gate struct {
	State string   `yaml:"state" short:"alone" enum:"open|shut"`
	Only  []string `yaml:"only" doc:"Who may pass."`
}

type gated struct {
	Gate gate `yaml:"gate" doc:"What is open."`
}

// TestAlone reads and writes a struct for which a value stands instead of its fields.
func TestAlone(t *testing.T) {
	schema := compile(t, gated{gate{State: "shut"}})
	for text, want := range map[string]any{
		"{}": gate{State: "shut"}, "gate:": gate{State: "shut"}, "gate: open": gate{State: "open"},
		"gate: {only: [a, b]}": gate{Only: []string{"a", "b"}}, "gate: {only: []}": gate{Only: []string{}},
		"gate: ajar":          `1:7: gate must be one of open, shut, not "ajar"`,
		"gate: [a]":           "1:7: gate must be a mapping of keys to values, not a list; write it as in gate: {only: [...]}",
		"gate: {}":            "1:7: gate: has no only",
		"gate: {state: open}": `1:8: unknown key "state" in gate; known keys: only`,
		"gate: {only: a}":     "1:14: gate.only must be a list such as [a, b], not \"a\"",
	} {
		c, source := gated{gate{State: "shut"}}, new(yamlconf.Source)
		err := yamlconf.Decode("/c.yaml", []byte(text), &c, source)
		if (schema.Validate(document(t, text)) == nil) != (err == nil) {
			t.Errorf("%s: the schema disagrees: %v", text, err)
		}
		mistake, bad := want.(string)
		if bad != (err != nil) || bad && strings.TrimPrefix(err.Error(), "/c.yaml:") != mistake || !bad && !reflect.DeepEqual(c.Gate, want) {
			t.Errorf("%s: got %+v, %v", text, c, err)
		}
		if bad {
			continue
		}
		again := gated{gate{State: "shut"}}
		if err := yamlconf.Decode("/c.yaml", yamlconf.Show(&c, gated{gate{State: "shut"}}, source), &again, source); err != nil || !reflect.DeepEqual(again, c) {
			t.Errorf("%s: shown as %s, read again as %+v, %v", text, yamlconf.Show(&c, gated{gate{State: "shut"}}, source), again, err)
		}
	}
	if text := string(yamlconf.Template(gated{gate{State: "shut"}})); text != "# What is open.\n#gate: shut\n" {
		t.Errorf("the template is %q", text)
	}
}

package config

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"

	"toolserver/sandbox"
	"toolserver/tools"
	"toolserver/tools/declare"
)

// ToolSections is the section tools of the file. Which keys it has follows from what
// the tools declare, so its type is made when the program runs: a struct with a field
// for each tool, a pointer to a struct of the settings any tool has (Common), those of
// the policy that the tool has, and its own (Own).
type ToolSections struct{ sections any }

// ConfigValue returns what the section is decoded into, as package yamlconf asks.
func (t *ToolSections) ConfigValue() any {
	if t.sections == nil {
		t.sections = reflect.New(sectionsType()).Interface()
	}
	return t.sections
}

// sectionsType returns the type of the section.
func sectionsType() reflect.Type {
	var fields []reflect.StructField
	for _, g := range tools.Declared() {
		for _, t := range g.Tools {
			fields = append(fields, reflect.StructField{
				Name: "Tool" + strconv.Itoa(len(fields)), Type: reflect.PointerTo(sectionType(t)), Tag: reflect.StructTag(`yaml:"` + t.Tool + `,omitempty"`),
			})
		}
	}
	return reflect.StructOf(append(fields, reflect.StructField{
		Name: "Others", Type: reflect.TypeFor[map[string]*otherTool](), Tag: `yaml:",inline"`,
	}))
}

// sectionType returns the type of what the file says of a tool.
func sectionType(t declare.Tool) reflect.Type {
	fields := append([]reflect.StructField{
		{Name: "Common", Type: reflect.TypeFor[Tool](), Tag: `yaml:",inline" template:"-"`},
	}, t.Owner.Settings()...)
	for i := range fields {
		fields[i].Index, fields[i].Offset = nil, 0
	}
	if t.Settings != nil {
		fields = append(fields, reflect.StructField{Name: "Own", Type: reflect.TypeOf(t.Settings), Tag: `yaml:",inline"`})
	}
	return reflect.StructOf(fields)
}

// otherTool is what the file says of a tool that is not built in: one of a server
// that may be out of reach, or none at all.
type otherTool struct {
	Common  Tool                  `yaml:",inline"`
	Unknown map[string]unknownKey `yaml:",inline"`
}

// unknownKey is a setting that no tool has. It is reported once it is known whether
// there is such a tool.
type unknownKey struct{}

// UnmarshalConfig accepts anything.
func (*unknownKey) UnmarshalConfig(*yaml.Node, func(any) error) error { return nil }

// ConfigSchema accepts nothing.
func (*unknownKey) ConfigSchema() map[string]any { return map[string]any{"not": map[string]any{}} }

// each calls visit with each section in the file. Without any, as in most starts,
// the type is not made, which takes 200 KB.
func (t ToolSections) each(visit func(name string, section reflect.Value)) {
	if t.sections == nil {
		return
	}
	all := reflect.ValueOf(t.sections).Elem()
	at := 0
	for _, g := range tools.Declared() {
		for _, tool := range g.Tools {
			if section := all.Field(at); !section.IsNil() {
				visit(tool.Tool, section.Elem())
			}
			at++
		}
	}
	others := all.FieldByName("Others").Interface().(map[string]*otherTool)
	for _, name := range slices.Sorted(maps.Keys(others)) {
		if others[name] != nil {
			visit(name, reflect.ValueOf(others[name]).Elem())
		}
	}
}

// common returns the settings that any tool has, by tool.
func (t ToolSections) common() map[string]Tool {
	all := map[string]Tool{}
	t.each(func(name string, section reflect.Value) { all[name] = section.FieldByName("Common").Interface().(Tool) })
	return all
}

// policyOf returns what a section says to the sandbox.
func policyOf(section reflect.Value) (p sandbox.ToolPolicy) {
	to := reflect.ValueOf(&p).Elem()
	for i := range to.NumField() {
		if from := section.FieldByName(to.Type().Field(i).Name); from.IsValid() {
			to.Field(i).Set(from)
		}
	}
	return p
}

// ToolSettings returns the settings that tools declare as their own.
func (c *Config) ToolSettings() declare.Settings {
	all := declare.Settings{}
	c.ToolSections.each(func(name string, section reflect.Value) {
		if own := section.FieldByName("Own"); own.IsValid() {
			all[name] = own.Addr().Interface()
		}
	})
	return all
}

// unknownKeys reports the settings of a tool that is not built in which no tool has.
func (l *Loaded) unknownKeys(tool string) error {
	var all []error
	l.ToolSections.each(func(name string, section reflect.Value) {
		if other, ok := section.Addr().Interface().(*otherTool); ok && name == tool {
			for _, key := range slices.Sorted(maps.Keys(other.Unknown)) {
				all = append(all, l.mistake("tools."+name+"."+key, "the tool %s has no such setting", name))
			}
		}
	})
	return errors.Join(all...)
}

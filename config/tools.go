package config

import (
	"errors"
	"maps"
	"reflect"
	"slices"

	"toolserver/sandbox"
	"toolserver/tools"
	"toolserver/tools/declare"
)

// ToolSections is the section tools of the file, by tool. Which keys a tool has
// follows from what it declares, so the type of its section is made when the
// program runs.
type ToolSections map[string]any

// Keys returns the tools that are built in, as [structschema.Keyed] asks.
func (ToolSections) Keys() (names []string) {
	for _, g := range tools.Declared() {
		for _, t := range g.Tools {
			names = append(names, t.Tool)
		}
	}
	return names
}

// New returns what the section of a tool is decoded into: a pointer to a struct
// of the settings any tool has (Common), those of the policy that the tool has,
// and its own (Own).
func (ToolSections) New(name string) any {
	for _, g := range tools.Declared() {
		for _, t := range g.Tools {
			if t.Tool == name {
				return reflect.New(sectionType(t)).Interface()
			}
		}
	}
	return new(otherTool)
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
// that may be unavailable, or none at all. Settings that no tool has are reported
// once it is known whether there is such a tool.
type otherTool struct {
	Common  Tool           `yaml:",inline"`
	Unknown map[string]any `yaml:",inline"`
}

// each calls visit with each section in the file.
func (t ToolSections) each(visit func(name string, section reflect.Value)) {
	for _, name := range slices.Sorted(maps.Keys(t)) {
		visit(name, reflect.ValueOf(t[name]).Elem())
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

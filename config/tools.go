package config

import (
	"maps"
	"reflect"
	"slices"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/tools"
)

// ToolSections is the section tools of the file, by tool. Which keys a tool has
// follows from what it declares, so the type of its section is made when the
// program runs.
type ToolSections map[string]any

// Keys returns the tools that are built in, as [structschema.Keyed] asks, and the
// families that have settings of their own.
func (ToolSections) Keys() (names []string) {
	for _, t := range tools.Declared() {
		names = append(names, t.Tool)
	}
	return slices.AppendSeq(names, maps.Keys(tools.Sections()))
}

// Others is a pattern of the names of tools of other servers.
func (ToolSections) Others() string { return "__" }

// New returns what the section of a tool is decoded into: a pointer to a struct
// of the settings any tool has (Common), those of the policy that the tool has,
// and its own (Own).
func (ToolSections) New(name string) any {
	if settings, ok := tools.Sections()[name]; ok {
		return reflect.New(reflect.StructOf([]reflect.StructField{own(settings)})).Interface()
	}
	for _, t := range tools.Declared() {
		if t.Tool == name {
			return reflect.New(sectionType(t)).Interface()
		}
	}
	return new(otherTool)
}

// own is the part of a section that a tool or family declares.
func own(settings any) reflect.StructField {
	return reflect.StructField{Name: "Own", Type: reflect.TypeOf(settings), Tag: `yaml:",inline"`}
}

// sectionType returns the type of what the file says of a tool.
func sectionType(t declare.Tool) reflect.Type {
	fields := append([]reflect.StructField{
		{Name: "Common", Type: reflect.TypeFor[domain.Override](), Tag: `yaml:",inline" template:"-"`},
	}, t.Owner.Settings()...)
	for i := range fields {
		fields[i].Index, fields[i].Offset = nil, 0
	}
	if t.Settings != nil {
		fields = append(fields, own(t.Settings))
	}
	return reflect.StructOf(fields)
}

// otherTool is what the file says of a tool that is not built in: one of a server
// that may be unavailable, or none at all. Settings that no tool has are reported
// once it is known whether there is such a tool.
type otherTool struct {
	Common  domain.Override `yaml:",inline"`
	Unknown map[string]any  `yaml:",inline"`
}

// part returns a part of the section of a tool, Common, Own or a field of the
// policy, if it has one.
func part(section any, name string) reflect.Value {
	return reflect.ValueOf(section).Elem().FieldByName(name)
}

// common returns the settings that any tool has, by tool.
func (t ToolSections) common() map[string]domain.Override {
	all := map[string]domain.Override{}
	for name, section := range t {
		if common := part(section, "Common"); common.IsValid() { // it is a tool
			all[name] = common.Interface().(domain.Override)
		}
	}
	return all
}

// policyOf returns what a section says to the sandbox.
func policyOf(section any) (p sandbox.ToolPolicy) {
	for f, to := range reflect.ValueOf(&p).Elem().Fields() {
		if from := part(section, f.Name); from.IsValid() {
			to.Set(from)
		}
	}
	return p
}

// ToolSettings returns the settings that tools declare as their own.
func (c *Config) ToolSettings() declare.Settings {
	all := declare.Settings{}
	for name, section := range c.ToolSections {
		if own := part(section, "Own"); own.IsValid() {
			all[name] = own.Addr().Interface()
		}
	}
	return all
}

// Package system provides tools that describe the machine the server runs on.
// They read what the operating system publishes about itself and start no
// programs.
package system

import (
	"context"
	"maps"
	"slices"

	"toolserver/domain"
	"toolserver/sandbox"
	"toolserver/tools/declare"
)

// Options configure the tools.
type Options struct {
	// WorkingDirectory is where relative paths of other tools start. It is
	// reported as cwd, because the directory of the process says nothing.
	WorkingDirectory string
	// Settings are those of single tools. A field that one masks is masked in all.
	Settings declare.Settings

	masked []string // besides
}

// Settings are the settings of each of the tools.
type Settings struct {
	// Mask names fields that are left out of every result and every output
	// schema, wherever they occur: hostname, user, mac, ipv4 and so on.
	Mask []string `yaml:"mask" format:"system_field" example:"[hostname, mac]" doc:"Fields to leave out, of system_info, disk_info and network_info alike: hostname, user, mac, ipv4 ..."`
}

const category = "system"

// Declared returns what the tools of the category declare.
func Declared() declare.Group {
	group := declare.Group{Category: category, Heading: "System"}
	for _, name := range []string{infoName, disksName, networkName} {
		group.Tools = append(group.Tools, declare.Tool{Owner: sandbox.Owner{Tool: name}, Settings: Settings{}})
	}
	return group
}

const (
	infoName    = "system_info"
	disksName   = "disk_info"
	networkName = "network_info"
)

// Tools returns the tools of the category system: system_info, disk_info and
// network_info. The error is a name in a mask that no field has.
func Tools(o Options) ([]domain.Tool, error) {
	tools := []domain.Tool{
		define(infoName, "System information", "tell about the machine and its operating system",
			"Describe the machine: operating system, processor, memory, uptime, host name, working directory and user.",
			domain.OutputOf[systemInfo](), func(ctx context.Context) (systemInfo, error) { return readInfo(ctx, o.WorkingDirectory) }),
		define(disksName, "Disk information", "list drives and their free space",
			"List the mounted drives with size, free space and file system.",
			domain.OutputOf[diskInfo](), newDriveReader().read),
		define(networkName, "Network information", "list network interfaces",
			"List the active network interfaces with their IP addresses, hardware address, MTU and speed.",
			domain.OutputOf[networkInfo](), readNetwork),
	}
	masked := mask{}
	for _, field := range o.masked {
		masked[field] = true
	}
	for _, t := range tools {
		for _, field := range declare.Of[Settings](o.Settings, t.Name).Mask {
			masked[field] = true
		}
	}
	return masked.apply(tools)
}

// CheckField reports that no tool has a field that a mask names.
func CheckField(name string) error {
	_, err := Tools(Options{masked: []string{name}})
	return err
}

// Fields returns the fields that a mask can name.
func Fields() []string {
	known := mask{}
	tools, err := Tools(Options{})
	for _, t := range tools {
		if err == nil {
			_, err = mask{}.schema(t.Output, known)
		}
	}
	if err != nil {
		panic(err) // the schemas are ours
	}
	return slices.Sorted(maps.Keys(known))
}

type noArguments struct{}

// define returns a tool without arguments whose results are an Out.
func define[Out any](name, title, ability, description string, output *domain.ToolOutputSchema, read func(context.Context) (Out, error)) domain.Tool {
	return domain.Define(domain.Tool{
		Name: name, Title: title, Description: description, Category: category, Output: output, Ability: ability,
		Annotations: domain.Annotations{ReadOnly: true, Idempotent: true},
	}, func(ctx context.Context, _ noArguments) (domain.ToolResult, error) {
		out, err := read(ctx)
		if ctx.Err() != nil {
			return domain.ToolResult{}, ctx.Err()
		}
		if err != nil {
			return domain.Failure("io_error", name+": "+err.Error(), "The operating system does not report it; go on without it."), nil
		}
		return domain.JSON(out)
	})
}

// Package system holds tools that tell about the machine the server runs on.
// They read what the operating system publishes about itself and start no
// programs.
package system

import (
	"context"

	"toolserver/domain"
)

// Options say what the tools tell.
type Options struct {
	// WorkingDirectory is where relative paths of other tools start. It is
	// told as cwd, because the directory of the process says nothing.
	WorkingDirectory string
	// Mask names fields that are left out of every result and every output
	// schema, wherever they occur: hostname, user, mac, ipv4 and so on.
	Mask []string
}

// Tools returns the tools of the category system: system_info, disk_info and
// network_info. The error is a name in o.Mask that no field has.
func Tools(o Options) ([]domain.Tool, error) {
	tools := []domain.Tool{
		define("system_info", "System information",
			"Tells about the machine: operating system, processor, memory, uptime, host name, working directory and user.",
			domain.OutputOf[systemInfo](), infoReader{o.WorkingDirectory}.read),
		define("disk_info", "Disk information",
			"Lists the mounted drives with their size, free space and file system. Pseudo file systems are left out, and each device is listed once.",
			domain.OutputOf[diskInfo](), newDriveReader().read),
		define("network_info", "Network information",
			"Lists the network interfaces that are up, with their addresses, hardware address, MTU and speed.",
			domain.OutputOf[networkInfo](), readNetwork),
	}
	m, err := newMask(o.Mask, tools)
	if err != nil {
		return nil, err
	}
	return m.apply(tools)
}

type noArguments struct{}

// define returns a tool without arguments whose results are an Out.
func define[Out any](name, title, description string, output *domain.ToolOutputSchema, read func(context.Context) (Out, error)) domain.Tool {
	return domain.Define(domain.Tool{
		Name: name, Title: title, Description: description, Category: "system", Output: output,
		Annotations: domain.Annotations{ReadOnly: true, Idempotent: true},
	}, func(ctx context.Context, _ noArguments) (domain.ToolResult, error) {
		out, err := read(ctx)
		if ctx.Err() != nil {
			return domain.ToolResult{}, ctx.Err()
		}
		if err != nil {
			return domain.Failure("io_error", name+": "+err.Error(), "The operating system does not tell; go on without it."), nil
		}
		return domain.JSON(out)
	})
}

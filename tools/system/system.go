// Package system provides tools that describe the machine the server runs on.
// They read what the operating system publishes about itself and start no
// programs.
package system

import (
	"context"
	"strings"

	"github.com/shirou/gopsutil/v4/disk"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
)

// Settings are the settings of each of the tools.
type Settings struct {
	// Mask names fields that are left out of every result and every output
	// schema, wherever they occur: hostname, user, mac, ipv4 and so on.
	Mask []string `yaml:"mask" format:"system_field"`
}

const (
	infoName    = "system_info"
	disksName   = "disk_info"
	networkName = "network_info"
)

// Family returns the tools of the category system. A field that the settings of one mask is masked in all.
func Family() declare.Family[struct{}, machine] {
	entry := func(name string, make func(machine) domain.Tool) declare.Entry[machine] {
		return declare.Entry[machine]{
			Owner: sandbox.Owner{Tool: name}, Settings: Settings{}, Make: func(m machine, _ sandbox.Capabilities) domain.Tool { return make(m) },
		}
	}
	return declare.Family[struct{}, machine]{
		Name: "system", Category: declare.Category{Name: "system", Heading: "System"}, ByPolicy: true, Share: newMachine,
		Tools: []declare.Entry[machine]{
			entry(infoName, infoTool),
			entry(disksName, func(m machine) domain.Tool {
				return disksTool(m, &driveReader{list: listMounts, labels: driveLabels, usage: disk.Usage})
			}),
			entry(networkName, networkTool),
		},
	}
}

// machine is what the tools share.
type machine struct {
	mask
	// workingDirectory is where relative paths of other tools start. It is
	// reported as cwd, because the directory of the process says nothing.
	workingDirectory string
}

// newMachine returns what the tools share. The error is a name in a mask that no field has.
func newMachine(from declare.From[struct{}]) (machine, error) {
	m := machine{mask{}, from.Sandbox.WorkingDirectory()}
	for _, tool := range []string{infoName, disksName, networkName} {
		for _, field := range declare.Of[Settings](from.Settings, tool).Mask {
			if err := CheckField(field); err != nil {
				return m, err
			}
			m.mask[field] = true
		}
	}
	return m, nil
}

// define returns a tool whose failure is that the operating system does not answer.
func define[In any](m machine, t domain.Tool, run func(context.Context, In) (domain.ToolResult, error)) domain.Tool {
	t.Annotations, t.Output = domain.Annotations{ReadOnly: true, Idempotent: true}, m.schema(t.Output)
	return domain.Define(t, func(ctx context.Context, in In) (domain.ToolResult, error) {
		res, err := run(ctx, in)
		if ctx.Err() != nil {
			return domain.ToolResult{}, ctx.Err()
		}
		if err != nil {
			return domain.Failure("io_error", t.Name+": "+err.Error(), "The operating system does not report it; go on without it."), nil
		}
		return res, nil
	})
}

type listInput struct {
	Offset int `json:"offset,omitempty" min:"0" max:"99999" doc:"Entries to skip."`
}

// listing is the result of a tool that lists. A line leaves out fields that are empty.
type listing interface{ lines() []string }

// defineList returns a tool that lists what read returns: entries from an offset on, and how many
// there are altogether. Of makes a result of those that are shown.
func defineList[E any, L listing](m machine, t domain.Tool, none string, read func(ctx context.Context, offset int) ([]E, int, error),
	of func(shown []E, total, next int) L) domain.Tool {
	return define(m, t, func(ctx context.Context, in listInput) (domain.ToolResult, error) {
		entries, total, err := read(ctx, in.Offset)
		if err != nil {
			return domain.ToolResult{}, err
		}
		return call.List[E]{
			Entries: entries, Offset: in.Offset, Total: total, None: none,
			Text:    func(shown []E) string { return strings.Join(masked(m.mask, of(shown, total, 0)).lines(), "\n") },
			Results: func(shown []E, next int) any { return m.hide(of(shown, total, next)) },
		}.Result(ctx)
	})
}

// Package system provides tools that describe the machine the server runs on.
// They read what the operating system publishes about itself and start no
// programs.
package system

import (
	"context"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
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
	Mask []string `yaml:"mask" format:"system_field"`
}

const category = "system"

// Declared returns what the tools of the category declare.
func Declared() declare.Group {
	group := declare.Group{Category: category, Heading: "System"}
	for _, name := range names() {
		group.Tools = append(group.Tools, declare.Tool{Owner: sandbox.Owner{Tool: name}, Settings: Settings{}})
	}
	return group
}

const (
	infoName    = "system_info"
	disksName   = "disk_info"
	networkName = "network_info"
)

func names() []string { return []string{infoName, disksName, networkName} }

// Tools returns the tools of the category system: system_info, disk_info and
// network_info. The error is a name in a mask that no field has.
func Tools(o Options) ([]domain.Tool, error) {
	m := mask{}
	for _, field := range o.masked {
		m[field] = true
	}
	for _, name := range names() {
		for _, field := range declare.Of[Settings](o.Settings, name).Mask {
			m[field] = true
		}
	}
	tools := []domain.Tool{infoTool(m, o.WorkingDirectory), disksTool(m, newDriveReader()), networkTool(m)}
	if len(m) == 0 {
		return tools, nil
	}
	_, err := m.schemas(tools)
	return tools, err
}

// CheckField reports that no tool has a field that a mask names.
func CheckField(name string) error {
	_, err := Tools(Options{masked: []string{name}})
	return err
}

// Fields returns the fields that a mask can name.
func Fields() []string {
	tools, _ := Tools(Options{}) // masks nothing
	fields, err := mask{}.schemas(tools)
	if err != nil {
		panic(err) // the schemas are ours
	}
	return fields
}

// define returns a tool whose failure is that the operating system does not answer.
func define[In any](t domain.Tool, run func(context.Context, In) (domain.ToolResult, error)) domain.Tool {
	t.Category, t.Annotations = category, domain.Annotations{ReadOnly: true, Idempotent: true}
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
func defineList[E any, L listing](t domain.Tool, m mask, none string, read func(ctx context.Context, offset int) ([]E, int, error),
	of func(shown []E, total, next int) L) domain.Tool {
	return define(t, func(ctx context.Context, in listInput) (domain.ToolResult, error) {
		entries, total, err := read(ctx, in.Offset)
		if err != nil {
			return domain.ToolResult{}, err
		}
		return domain.List[E]{
			Entries: entries, Offset: in.Offset, Total: total, None: none,
			Text:    func(shown []E) string { return strings.Join(masked(m, of(shown, total, 0)).lines(), "\n") },
			Results: func(shown []E, next int) any { return m.hide(of(shown, total, next)) },
		}.Result(ctx)
	})
}

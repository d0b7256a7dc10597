package domain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// A Tool is one thing a caller can ask the server to do. It is a plain value:
// built-in tools come from [Define], upstream MCP tools are filled in from what
// their server says, and nothing downstream can tell them apart. A Tool is not
// changed once it is registered.
type Tool struct {
	Name        string // snake_case, or server__tool for an upstream tool
	Title       string // for people
	Description string // for the model and for -help
	Category    string // file, system, web, ...

	Input       *schema.Input
	Output      *schema.Output // of structured results; nil if the tool has none
	Annotations Annotations

	Groups          []string      // principals in any of these may call it; empty means everyone
	RatePerMinute   int           // calls of it by one principal; 0 for no limit but that of all
	Cost            *int64        // see Units
	Scopes          []string      // credentials that are not good for everything need all of these
	ComplianceLevel string        // level the tool's data has; empty means unset
	Timeout         time.Duration // zero means the executor's default
	KeepsTime       bool          // enforces its own time limit; Timeout is longer than that, and configuration does not change it
	Disabled        bool          // known, but not listed and not callable unless configuration enables it
	MaxResultChars  int           // of a tool that promises longer results than usual; 0, or where an operator wants shorter ones, the executor's limit
	Confirm         bool          // the user has to agree to each call
	Final           bool          // what a call does cannot be taken back: it sends something to people, or deletes; clients are told to ask each time
	Preview         Previewer     // what the user reads then; nil for the arguments
	Offered         string        // the name the tool's source gave it, if clients see another
	Origin          Origin        // of a tool of another server
	Alias           string        // another name that calls may use, as long as it stands for one tool only; empty for none
	Listing         Listing       // when lists leave it out
	Structured      string        // which half of its results clients get; "" for [Settings.StructuredContent]
	Follows         string        // a tool without which it is of no use: configuration that says who may use that holds for it too, unless it has its own

	Target  []string  // arguments that say what a call touches, for the record: paths, URLs, commands, recipients, IDs; never content
	Runs    bool      // it runs commands, whose exit code callers may want for their own
	View    string    // name of the view, a page at [ViewBase], that shows its results to clients that have views; "" for none
	Ability string    // what it is good for, without its name, as a clause: "search the content of files"
	Explain Explainer // what the policy makes of a call; nil if nothing but groups and levels decides

	// Run runs the tool with checked arguments. A tool of another server has RunRaw
	// instead, which gets the arguments as they came, except what surely stands for
	// something else: the server decides what is valid.
	Run    Handler
	RunRaw RawHandler
	// Listed has further members of the tool in lists, as a JSON object, such as
	// icons and _meta. Its annotations, if it has any, replace Annotations. If it has a name, it is
	// the entry of another server, in which the tool's own members take the places of that server's.
	Listed json.RawMessage

	annotated bool // configuration says what its annotations are
}

// Origin says where a tool of another server comes from.
type Origin struct {
	Server string // its name in the configuration
	Tool   string // the name that it gives the tool
	Says   string // what the server tells models
}

// ShowsAnnotations reports whether lists have Annotations: those of another server's
// tool are in Listed, if it has any, unless configuration overrides them.
func (t *Tool) ShowsAnnotations() bool { return t.RunRaw == nil || t.annotated }

// Listing says when lists leave a tool out, to be found by search instead. It can be called in any case.
type Listing int

// When a tool is listed, see [Discovery].
const (
	ListedByDefault Listing = iota // unless everything is to be searched for
	ListedIfFew                    // likewise, and unless there are too many of its kind: a tool of another server
	ListedAlways                   // results name it as what to call next
	ListedToSearch                 // always, too: it is what searches
)

// Annotations are the hints MCP gives clients about a tool. All four are always
// sent, because clients assume the worst of a missing one.
type Annotations struct {
	ReadOnly    bool `json:"readOnlyHint"`    // changes nothing
	Destructive bool `json:"destructiveHint"` // may undo or overwrite what is there
	Idempotent  bool `json:"idempotentHint"`  // the same call again changes nothing more
	OpenWorld   bool `json:"openWorldHint"`   // reaches beyond this machine
}

// A Handler runs a tool. An error for the model is a result ([Failure]); an error
// that is not an [*Error] is a fault of the tool. A handler returns soon after ctx
// ends, with a partial result if it has one.
type Handler func(ctx context.Context, args Arguments) (ToolResult, error)

// A RawHandler is a [Handler] that gets the bytes of the arguments object as the
// caller wrote it, or nil if there was none.
type RawHandler func(ctx context.Context, args json.RawMessage) (ToolResult, error)

// Arguments are a call's arguments: an object that satisfies the tool's input
// schema, with defaults filled in.
type Arguments map[string]any

// JSON returns the arguments as a JSON object.
func (a Arguments) JSON() (json.RawMessage, error) {
	if a == nil {
		return json.RawMessage("{}"), nil
	}
	return json.Marshal(map[string]any(a))
}

// Define completes t: its input schema comes from the struct In (see
// [schema.Of]), and its handler calls run with the arguments in such a struct.
func Define[In any](t Tool, run func(context.Context, In) (ToolResult, error)) Tool {
	t.Input = schema.Of[In]()
	described := sync.OnceValue(schema.StructOf[In])
	t.Run = func(ctx context.Context, args Arguments) (ToolResult, error) {
		var in In
		if err := schema.Assign(reflect.ValueOf(&in).Elem(), described(), map[string]any(args)); err != nil {
			return ToolResult{}, &Error{Code: CodeInvalidParams, Message: t.Name + ": " + err.Error(), Err: err}
		}
		return run(ctx, in)
	}
	return t
}

// validName reports whether model providers accept name as a tool's:
// ^[a-zA-Z0-9_-]{1,64}$.
func validName(name string) bool {
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return 1 <= len(name) && len(name) <= 64
}

func (t *Tool) kind() (Kind, string) { return KindTool, t.Name }

// Units returns how many units a call takes of what a principal may use in a day.
func (t *Tool) Units() int64 {
	if t.Cost == nil {
		return 1
	}
	return *t.Cost
}

func (t *Tool) ids() (string, string) { return t.Name, t.Name }

func (t *Tool) with(o Override) item {
	t = new(*t)
	if o.Enabled != nil {
		t.Disabled = !*o.Enabled
	}
	if o.Groups != nil {
		t.Groups = o.Groups
	}
	if o.Scopes != nil {
		t.Scopes = o.Scopes
	}
	t.RatePerMinute, t.Cost = o.RatePerMinute, o.Cost
	if o.ComplianceLevel != "" {
		t.ComplianceLevel = o.ComplianceLevel
	}
	if o.Timeout > 0 && !t.KeepsTime {
		t.Timeout = o.Timeout
	}
	if o.Confirm != nil {
		t.Confirm, t.Final = *o.Confirm, t.Final && *o.Confirm
	}
	if o.Rename != "" {
		t.Name, t.Offered = o.Rename, t.Name
	}
	if o.Description != "" {
		t.Description = o.Description
	}
	if o.Annotations != (AnnotationOverride{}) {
		t.Annotations = o.Annotations.over(t.Annotations)
		t.Listed = rawjson.Without(t.Listed, "annotations")
		t.annotated = true
	}
	return t
}

// check reports what keeps t from being registered.
func (t *Tool) check() error {
	switch {
	case !validName(t.Name):
		return fmt.Errorf("tool name %q does not match ^[a-zA-Z0-9_-]{1,64}$", brief.Name(t.Name))
	case t.Input == nil:
		return fmt.Errorf("tool %s has no input schema", t.Name)
	case (t.Run == nil) == (t.RunRaw == nil):
		return fmt.Errorf("tool %s has no handler, or two", t.Name)
	case strings.TrimSpace(t.Description) == "":
		return errors.New("tool " + t.Name + " has no description")
	}
	return nil
}

// StrictOutput reports whether clients hold results to a schema of another server. Its
// results are passed on as they are, also those that break it.
func (t *Tool) StrictOutput() bool { return t.Output != nil && !t.Output.Derived }

// HasEffects reports whether a call may change something, or send something away. Other servers are not believed
// what they say of that.
func (t *Tool) HasEffects() bool {
	return t.RunRaw != nil || !t.Annotations.ReadOnly || t.Annotations.OpenWorld
}

// looksLike reports whether t and old, which may be nil, are the same to
// callers.
func (t *Tool) looksLike(old *Tool) bool {
	return old != nil && t.Name == old.Name && t.Title == old.Title && t.Description == old.Description && t.Category == old.Category &&
		t.Annotations == old.Annotations && t.Structured == old.Structured && t.Listing == old.Listing && t.Disabled == old.Disabled &&
		t.Confirm == old.Confirm && t.Final == old.Final && t.View == old.View &&
		t.ComplianceLevel == old.ComplianceLevel &&
		slices.Equal(t.Groups, old.Groups) && slices.Equal(t.Scopes, old.Scopes) &&
		bytes.Equal(t.Listed, old.Listed) && bytes.Equal(t.Input.Raw(), old.Input.Raw()) &&
		(t.Output == nil) == (old.Output == nil) && (t.Output == nil || bytes.Equal(t.Output.Raw(), old.Output.Raw()))
}

// Explanation says what the policy makes of a call, without making it.
type Explanation struct {
	Allowed bool           `json:"allowed"`
	Stopped string         `json:"stopped,omitempty"` // what is known that the sandbox will stop of a call that is allowed
	Rule    string         `json:"rule"`              // the entry that decides; empty if there is none for it
	Reason  string         `json:"reason"`            // one sentence
	Path    string         `json:"path,omitempty"`    // what a path leads to
	Argv    []string       `json:"argv,omitempty"`    // the commands that were found, as they would run
	Reads   []string       `json:"reads,omitempty"`   // paths a command names for reading
	Writes  []string       `json:"writes,omitempty"`  // and for writing
	Layers  *SandboxLayers `json:"layers,omitempty"`  // what holds a command to the policy while it runs
}

// SandboxLayers says what holds tools to the policy on this machine.
type SandboxLayers struct {
	Enforcement string   `json:"enforcement"`
	InForce     []string `json:"in_force"`               // each in a few words
	Missing     []string `json:"missing,omitempty"`      // what of the policy is not enforced, why, and what would help
	SideEffects []string `json:"side_effects,omitempty"` // ordinary work that fails because of how it is enforced
	Presets     []string `json:"presets,omitempty"`      // of tool chains that are in force
	Caches      string   `json:"caches,omitempty"`       // the directory where commands keep theirs
	Notice      string   `json:"notice,omitempty"`       // what each result says of what is missing
}

// An Explainer says what the policy makes of a call with these arguments, which
// satisfy the tool's input schema. The error says why nothing can be said.
type Explainer func(ctx context.Context, args Arguments) (Explanation, error)

// A Previewer says what a call would do, for the person who has to agree to it, in
// lines. The refusal is what the call is answered with if that cannot be said.
type Previewer func(ctx context.Context, args Arguments) (text string, refusal *ToolResult, err error)

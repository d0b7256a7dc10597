// Package meta holds tools about the server itself and the results it keeps.
package meta

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/sandbox/pathguard"
	"github.com/toolserver/toolserver/text/jq"
	"github.com/toolserver/toolserver/tools/anthropic"
	"github.com/toolserver/toolserver/tools/files"
)

// Server is what the tools are about.
type Server struct {
	Results  *call.ResultStore
	Selector *jq.Selector
	// Catalog returns the tools a principal can call.
	Catalog func(domain.Principal) []*domain.Tool
	// Headings returns the names of categories, for people.
	Headings func() map[string]string
}

// Options are what the configuration says of the tools.
type Options struct {
	// File is the file to write; empty for DefaultFile in the working directory,
	// which is not written over what somebody else has written.
	File  string
	Model anthropic.Options
}

// Family returns the tools of the category meta. With a key for a model, capabilities_refresh asks one as claude_conversation does.
func Family(s Server) declare.Family[Options, capabilities] {
	return declare.Family[Options, capabilities]{
		Name: "meta", Category: declare.Category{Name: "meta", Heading: "This server"}, ByPolicy: true,
		Tools: []declare.Entry[capabilities]{
			{
				Owner: sandbox.Owner{Tool: ReadLargeName},
				Make:  func(capabilities, sandbox.Capabilities) domain.Tool { return readTool(s.Results, s.Selector) },
			},
			{
				Owner: sandbox.Owner{Tool: RefreshName, Writes: files.WriteFile, Fetches: anthropic.ConversationName},
				Make: func(c capabilities, held sandbox.Capabilities) domain.Tool {
					c.files = held.Writer()
					return refreshTool(c)
				},
			},
		},
		Share: func(from declare.From[Options]) (capabilities, error) {
			ask, err := asker(from)
			return capabilities{catalog: s.Catalog, file: from.Config.File, headings: s.Headings(), ask: ask}, err
		},
	}
}

// capabilities is what capabilities_refresh is built from.
type capabilities struct {
	catalog  func(domain.Principal) []*domain.Tool
	files    *sandbox.Writer // where the summary may be written
	file     string          // of [Options]
	headings map[string]string
	ask      askFunc // nil if there is no model
}

// An askFunc asks a model something and returns its answer.
type askFunc func(ctx context.Context, system, message string) (string, error)

// asker returns what has a model answer, or nil if there is no key for one.
func asker(from declare.From[Options]) (askFunc, error) {
	o := from.Config.Model
	if strings.TrimSpace(o.APIKey) == "" {
		return nil, nil
	}
	messages, err := anthropic.NewMessages(from.Client(RefreshName), o)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, system, message string) (string, error) {
		answer, err := messages.Ask(ctx, anthropic.Request{
			System: system, Messages: []anthropic.Message{{Role: anthropic.RoleUser, Content: message}},
		}, nil)
		if strings.Contains(answer.Text, strings.TrimSpace(o.APIKey)) { // it is written to a file, too
			return "", errors.New("the model's answer has the API key in it")
		}
		return answer.Text, err
	}, nil
}

// DefaultFile is where the summary is written if configuration does not say.
const DefaultFile = "capabilities.md"

const (
	// RefreshName is the name of the tool.
	RefreshName     = "capabilities_refresh"
	maxCapabilities = 1 << 20 // bytes of the file
)

// refreshTool returns capabilities_refresh.
func refreshTool(c capabilities) domain.Tool {
	r := &refresher{capabilities: c, path: cmp.Or(c.file, DefaultFile)}
	return domain.Define(domain.Tool{
		Name:  RefreshName,
		Title: "Refresh the summary of capabilities",
		Description: "Write a short summary of this server's tools, one line per topic, to the capabilities file and return it. " +
			"Front matter in the file is kept.",
		// The default file is written over only if it is a summary.
		Annotations: domain.Annotations{Destructive: c.file != "", Idempotent: true, OpenWorld: c.ask != nil},
		Output:      schema.OutputOf[refreshResult](),
		Ability:     "refresh this summary",
	}, r.run)
}

type refresher struct {
	capabilities
	path string
	mu   sync.Mutex // held while the file is read and written
}

type refreshInput struct {
	IncludeMCP bool `json:"include_mcp" default:"true" doc:"Include the tools of other MCP servers."`
}

type refreshResult struct {
	Path              string `json:"path"`
	InternalToolCount int    `json:"internal_tool_count"`
	MCPToolCount      int    `json:"mcp_tool_count"`
	CreatedFile       bool   `json:"created_file"`
	Wording           string `json:"wording" doc:"model, or static if there is none or it failed."`
	Message           string `json:"message"`
	Capabilities      string `json:"capabilities"`
}

func (r *refresher) run(ctx context.Context, in refreshInput) (domain.ToolResult, error) {
	inv := take(r.catalog(call.SessionOf(ctx).Principal), in.IncludeMCP)
	r.mu.Lock()
	defer r.mu.Unlock()
	old, exists, err := r.read()
	if err != nil {
		return failure(err)
	}
	matter, body := splitFrontMatter(old)
	if r.file == "" && matter == "" && strings.TrimSpace(body) != "" && !strings.HasPrefix(body, heading) {
		return domain.Failure("already_exists", r.path+" is there already and is no summary of capabilities; nothing was written",
			"Move it away, or have the operator set capabilities_file to another path."), nil
	}
	summary, wording, notice := r.summarize(ctx, inv, body, in.IncludeMCP)
	if ctx.Err() != nil {
		return domain.ToolResult{}, ctx.Err()
	}
	if matter == "" {
		matter = defaultFrontMatter
	}
	if text := matter + summary; text != old {
		if _, err := r.files.Replace(r.path, []byte(text), pathguard.ReplaceOptions{CreateDirs: true}); err != nil {
			return failure(err)
		}
	}
	internal, external := len(toolsOf(inv.internal)), len(toolsOf(inv.external))
	result := refreshResult{
		Path: r.path, InternalToolCount: internal, MCPToolCount: external, CreatedFile: !exists, Wording: wording,
		Message:      fmt.Sprintf("Summarized %s in %s%s.", count(internal+external), r.path, notice),
		Capabilities: summary,
	}
	return domain.Answer(result.Message+"\n\n"+summary, result), nil
}

var errTooLong = fmt.Errorf("the capabilities file has more than %d bytes", maxCapabilities)

// read returns the file as it is.
func (r *refresher) read() (text string, exists bool, err error) {
	f, err := r.files.Open(r.path)
	if refused, ok := errors.AsType[*pathguard.Error](err); ok && refused.Kind == pathguard.KindNotFound {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxCapabilities+1))
	if err != nil {
		return "", true, err
	}
	if len(b) > maxCapabilities {
		return "", true, errTooLong
	}
	return string(b), true, nil
}

// failure returns the tool execution error of a file that cannot be read or written.
func failure(err error) (domain.ToolResult, error) {
	if errors.Is(err, errTooLong) {
		return domain.Failure("too_large", err.Error(), "Have the operator set capabilities_file to another path."), nil
	}
	if refused, ok := errors.AsType[*pathguard.Error](err); ok {
		errorType := "io_error"
		if refused.Kind == pathguard.KindDenied {
			errorType = "denied"
		}
		return domain.Failure(errorType, refused.Error(), "Have the operator set capabilities_file to a path that write_file may write."), nil
	}
	return domain.ToolResult{}, err
}

func count(tools int) string { return fmt.Sprintf("%d tool(s)", tools) }

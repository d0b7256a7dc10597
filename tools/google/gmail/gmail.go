// Package gmail provides the tools of the category gmail: they search, read and send the mail of the account whose owner has
// signed in, and in the full tier also draft, label and save.
//
// What is in a mail was written by strangers. It is given as data: each field on a line of its own, the text between marks that
// it cannot forge, and files only to the sandbox. What is sent cannot be taken back: it is checked before any request, sent
// once, and never again by itself.
package gmail

import (
	"context"
	_ "embed"

	gmailapi "google.golang.org/api/gmail/v1"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
	texts "github.com/toolserver/toolserver/text/html"
	"github.com/toolserver/toolserver/tools/files"
	"github.com/toolserver/toolserver/tools/files/content"
	"github.com/toolserver/toolserver/tools/google/api"
	"github.com/toolserver/toolserver/tools/google/signin"
)

// arguments say what the arguments of tools mean; package structschema reads them.
//
//go:embed arguments.txt
var arguments string

const (
	grants = ".gmail-tokens" // the directory of the state that all of them use
)

// The tools.
const (
	SearchName      = "gmail_search" // whose hosts and state the others use
	readName        = "gmail_read"
	sendName        = "gmail_send"
	draftName       = "gmail_draft"
	threadName      = "gmail_read_thread"
	saveName        = "gmail_save_attachment"
	labelsName      = "gmail_labels"
	modifyName      = "gmail_modify_labels"
	changeLabelName = "gmail_change_label"
	filtersName     = "gmail_filters"
)

// Family returns the tools of the category, which send their requests with c and have their files and recipients from a sandbox
// when they are made. To know what they declare takes no client.
func Family(c *api.Client) api.Family {
	return (&toolset{c, func() *gmailapi.Service { return c.Gmail() }, c.SignedIn}).family()
}

func (t *toolset) family() api.Family {
	of := func(full bool, owner sandbox.Owner, make func(sandbox.Capabilities) domain.Tool, scopes ...string) api.Tool {
		owner.Fetches, owner.Through, owner.Keeps = SearchName, owner.Tool != SearchName, grants
		return api.Tool{Owner: owner, Full: full, Scopes: scopes, Make: make}
	}
	reading := []string{gmailapi.GmailReadonlyScope, gmailapi.GmailModifyScope, gmailapi.MailGoogleComScope}
	drafting := []string{gmailapi.GmailComposeScope, gmailapi.GmailModifyScope, gmailapi.MailGoogleComScope}
	sending := append(drafting[:3:3], gmailapi.GmailSendScope) // gmail_send makes drafts as well
	labels := append([]string{gmailapi.GmailLabelsScope}, reading...)
	reads, changes := domain.Annotations{ReadOnly: true, Idempotent: true}, domain.Annotations{Destructive: true, Idempotent: true}
	return api.Family{Service: signin.Gmail, Category: declare.Category{Name: "gmail", Heading: "Gmail"}, Tools: []api.Tool{
		of(false, sandbox.Owner{Tool: SearchName}, runs(t, "Error searching Gmail", domain.Tool{Name: SearchName, Target: []string{"query", "labelIds"},
			Annotations: reads, Output: schema.OutputOf[searchResult](), MaxResultChars: maxSearchChars}, t.search), reading...),
		of(false, sandbox.Owner{Tool: readName, Filters: content.Programs()}, t.readTool, reading...),
		of(false, sandbox.Owner{Tool: sendName, Reads: files.ReadFile, Mails: sendName}, t.sendTool, sending...),
		of(true, sandbox.Owner{Tool: draftName, Reads: files.ReadFile, Mails: sendName}, t.draftTool, drafting...),
		of(true, sandbox.Owner{Tool: threadName}, runs(t, "Error reading thread", domain.Tool{Name: threadName, Target: []string{"threadId"}, Annotations: reads},
			t.thread), reading...),
		of(true, sandbox.Owner{Tool: saveName, Writes: files.WriteFile}, t.saveTool, reading...),
		of(true, sandbox.Owner{Tool: labelsName}, runs(t, "Error listing labels", domain.Tool{Name: labelsName, Annotations: reads,
			Output: schema.OutputOf[labelsResult]()}, t.listLabels), labels...),
		of(true, sandbox.Owner{Tool: modifyName}, runs(t, modifyFailing, domain.Tool{Name: modifyName, Target: []string{"messageIds", "add", "remove"},
			Annotations: changes, Output: schema.OutputOf[modifyResult](), MaxResultChars: maxSearchChars}, t.modify), reading[1:]...), // of 100 messages
		of(true, sandbox.Owner{Tool: changeLabelName}, runs(t, changeLabelFailing, domain.Tool{Name: changeLabelName, Target: []string{"action", "label", "to"},
			Annotations: domain.Annotations{Destructive: true}, Final: true, Output: schema.OutputOf[label]()}, t.changeLabel),
			labels[0], gmailapi.GmailModifyScope, gmailapi.MailGoogleComScope),
		of(true, sandbox.Owner{Tool: filtersName}, runs(t, "Error listing filters", domain.Tool{Name: filtersName, Annotations: reads}, t.filters), reading...),
	}}
}

// toolset is what the tools share.
type toolset struct {
	client   *api.Client
	service  func() *gmailapi.Service
	signedIn func(context.Context, api.Need) (context.Context, error) // [api.Client.SignedIn]
}

// need returns what a tool requires of a grant.
func need(tool, failing string) api.Need { return (*toolset)(nil).family().Need(tool, failing) }

// runs returns what makes a tool that is handed no files.
func runs[In any](t *toolset, failing string, d domain.Tool,
	run func(context.Context, In) (domain.ToolResult, error)) func(sandbox.Capabilities) domain.Tool {
	return func(sandbox.Capabilities) domain.Tool { return define(t, failing, d, run) }
}

//go:embed words.txt
var words string

// define completes the declaration of a tool.
func define[In any](t *toolset, failing string, d domain.Tool, run func(context.Context, In) (domain.ToolResult, error)) domain.Tool {
	d.Annotations.OpenWorld = true
	return api.Define(t.client, need(d.Name, failing), api.Described(words, d), run)
}

// line returns text of strangers on one line, without what cannot be seen.
func line(s string) string { return texts.PlainLine(s) }

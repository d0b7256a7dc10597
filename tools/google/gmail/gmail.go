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
	"slices"

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

// Options are what the tools of the category are made from besides a client.
type Options struct {
	Full    bool             // whether there are the tools of the full tier
	Sandbox *sandbox.Sandbox // the files of attachments, and whom mail may go to
}

const (
	category = "gmail"
	grants   = ".gmail-tokens" // the directory of the state that all of them use
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

// An entry is one of the tools.
type entry struct {
	declare.Entry[*toolset]
	full   bool     // it is of the full tier
	scopes []string // any of them will do; the first is the least
}

// all returns the tools of both tiers.
func all() []entry {
	of := func(full bool, owner sandbox.Owner, make func(*toolset, sandbox.Capabilities) domain.Tool, scopes ...string) entry {
		owner.Fetches, owner.Through, owner.Keeps = SearchName, owner.Tool != SearchName, grants
		return entry{declare.Entry[*toolset]{Owner: owner, Make: make}, full, scopes}
	}
	reading := []string{gmailapi.GmailReadonlyScope, gmailapi.GmailModifyScope, gmailapi.MailGoogleComScope}
	drafting := []string{gmailapi.GmailComposeScope, gmailapi.GmailModifyScope, gmailapi.MailGoogleComScope}
	sending := append(drafting[:3:3], gmailapi.GmailSendScope) // gmail_send makes drafts as well
	labels := append([]string{gmailapi.GmailLabelsScope}, reading...)
	reads, changes := domain.Annotations{ReadOnly: true, Idempotent: true}, domain.Annotations{Destructive: true, Idempotent: true}
	return []entry{
		of(false, sandbox.Owner{Tool: SearchName}, runs("Error searching Gmail", domain.Tool{Name: SearchName, Target: []string{"query", "labelIds"},
			Annotations: reads, Output: schema.OutputOf[searchResult](), MaxResultChars: maxSearchChars}, (*toolset).search), reading...),
		of(false, sandbox.Owner{Tool: readName, Filters: content.Programs()}, (*toolset).readTool, reading...),
		of(false, sandbox.Owner{Tool: sendName, Reads: files.ReadFile, Mails: sendName}, (*toolset).sendTool, sending...),
		of(true, sandbox.Owner{Tool: draftName, Reads: files.ReadFile, Mails: sendName}, (*toolset).draftTool, drafting...),
		of(true, sandbox.Owner{Tool: threadName}, runs("Error reading thread", domain.Tool{Name: threadName, Target: []string{"threadId"}, Annotations: reads},
			(*toolset).thread), reading...),
		of(true, sandbox.Owner{Tool: saveName, Writes: files.WriteFile}, (*toolset).saveTool, reading...),
		of(true, sandbox.Owner{Tool: labelsName}, runs("Error listing labels", domain.Tool{Name: labelsName, Annotations: reads,
			Output: schema.OutputOf[labelsResult]()}, (*toolset).listLabels), labels...),
		of(true, sandbox.Owner{Tool: modifyName}, runs(modifyFailing, domain.Tool{Name: modifyName, Target: []string{"messageIds", "add", "remove"},
			Annotations: changes, Output: schema.OutputOf[modifyResult](), MaxResultChars: maxSearchChars}, (*toolset).modify), reading[1:]...), // of 100 messages
		of(true, sandbox.Owner{Tool: changeLabelName}, runs(changeLabelFailing, domain.Tool{Name: changeLabelName, Target: []string{"action", "label", "to"},
			Annotations: domain.Annotations{Destructive: true}, Output: schema.OutputOf[label]()}, (*toolset).changeLabel),
			labels[0], gmailapi.GmailModifyScope, gmailapi.MailGoogleComScope),
		of(true, sandbox.Owner{Tool: filtersName}, runs("Error listing filters", domain.Tool{Name: filtersName, Annotations: reads}, (*toolset).filters), reading...),
	}
}

// Declared returns what the tools of the category declare, those of both tiers.
func Declared() declare.Group {
	g := declare.Group{Category: category, Heading: "Gmail"}
	for _, e := range all() {
		g.Tools = append(g.Tools, declare.Tool{Owner: e.Owner, Settings: e.Settings})
	}
	return g
}

// Tier returns the names of the tools that are offered: all, or those that everybody has.
func Tier(full bool) (names []string) {
	for _, e := range all() {
		if full || !e.full {
			names = append(names, e.Owner.Tool)
		}
	}
	return names
}

// Scopes returns the fewest scopes with which the enabled tools work, sorted. A reply also reads the mail that it answers,
// which gmail_search and gmail_read are asked for.
func Scopes(enabled []string) []string {
	asked := map[string]bool{}
	var used []entry
	for _, e := range all() {
		if slices.Contains(enabled, e.Owner.Tool) {
			used = append(used, e)
			asked[e.scopes[0]] = true
		}
	}
	var scopes []string
	for scope := range asked {
		needed := slices.ContainsFunc(used, func(e entry) bool {
			return e.scopes[0] == scope && !slices.ContainsFunc(e.scopes[1:], func(broader string) bool { return asked[broader] })
		})
		if needed {
			scopes = append(scopes, scope)
		}
	}
	slices.Sort(scopes)
	return scopes
}

// Tools returns the tools of the category, which send their requests with c.
func Tools(c *api.Client, o Options) []domain.Tool {
	var tier []declare.Entry[*toolset]
	for _, e := range all() {
		if o.Full || !e.full {
			tier = append(tier, e.Entry)
		}
	}
	return declare.Make(o.Sandbox, &toolset{c, c.Gmail, c.SignedIn}, tier)
}

// toolset is what the tools share.
type toolset struct {
	client   *api.Client
	service  func() *gmailapi.Service
	signedIn func(context.Context, api.Need) (context.Context, error) // [api.Client.SignedIn]
}

// need returns what a tool requires of a grant.
func need(tool, failing string) api.Need {
	tools := all()
	i := slices.IndexFunc(tools, func(e entry) bool { return e.Owner.Tool == tool })
	return api.Need{Service: signin.Gmail, Scopes: tools[i].scopes, Failing: failing}
}

// runs returns what makes a tool that is handed no files.
func runs[In any](failing string, d domain.Tool,
	run func(*toolset, context.Context, In) (domain.ToolResult, error)) func(*toolset, sandbox.Capabilities) domain.Tool {
	return func(t *toolset, _ sandbox.Capabilities) domain.Tool {
		return define(t, failing, d, func(ctx context.Context, in In) (domain.ToolResult, error) { return run(t, ctx, in) })
	}
}

//go:embed words.txt
var words string

// define completes the declaration of a tool.
func define[In any](t *toolset, failing string, d domain.Tool, run func(context.Context, In) (domain.ToolResult, error)) domain.Tool {
	d.Category = category
	d.Annotations.OpenWorld = true
	return api.Define(t.client, need(d.Name, failing), api.Described(words, d), run)
}

// line returns text of strangers on one line, without what cannot be seen.
func line(s string) string { return texts.PlainLine(s) }

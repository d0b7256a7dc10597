package gmail

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	gmailapi "google.golang.org/api/gmail/v1"

	"toolserver/domain"
	"toolserver/sandbox"
	"toolserver/tools/google/api"
)

type labelsInput struct {
	Offset int `json:"offset" default:"0" min:"0" max:"1000000" doc:"Labels to skip, to read on."`
}

// labelsResult is the structured content of gmail_labels.
type labelsResult struct {
	Labels     []label `json:"labels" doc:"Labels, Gmail's own first."`
	Total      int     `json:"total" doc:"How many there are altogether."`
	NextOffset int     `json:"next_offset,omitempty" doc:"Absent at the end."`
}

type label struct {
	ID   string `json:"id" doc:"ID of the label."`
	Name string `json:"name" doc:"Name of the label."`
	Type string `json:"type" doc:"Whether it is Gmail's own (system) or the user's (user)."`
}

func (t *toolset) labelsTool(sandbox.Capabilities) domain.Tool {
	return define(t, "Error listing labels", domain.Tool{
		Name:  labelsName,
		Title: "List Gmail labels",
		Description: "List the labels of the user's mail, with their IDs, which gmail_search takes as labelIds. Does not change them; " +
			"gmail_modify_labels puts them on messages.",
		Annotations: domain.Annotations{ReadOnly: true, Idempotent: true},
		Output:      domain.OutputOf[labelsResult](),
		Ability:     "list the labels of the user's mail",
	}, t.listLabels)
}

func (t *toolset) listLabels(ctx context.Context, in labelsInput) (domain.ToolResult, error) {
	all, err := t.labels(ctx)
	if err != nil {
		return domain.ToolResult{}, err
	}
	list := domain.ListFrom(all, in.Offset)
	list.None = "no labels"
	list.Text = func(labels []label) string {
		var lines []string
		for _, l := range labels {
			lines = append(lines, fmt.Sprintf("%s (ID: %s, %s)", l.Name, l.ID, l.Type))
		}
		return strings.Join(lines, "\n")
	}
	list.Results = func(labels []label, next int) any { return labelsResult{labels, len(all), next} }
	return list.Result(ctx)
}

// labels returns the labels of the account, Gmail's own first.
func (t *toolset) labels(ctx context.Context) ([]label, error) {
	list, err := api.Read(ctx, t.client, t.service().Users.Labels.List("me").Fields("labels(id,name,type)").Context(ctx).Do)
	if err != nil {
		return nil, err
	}
	all := make([]label, 0, len(list.Labels))
	for _, l := range list.Labels {
		all = append(all, label{l.Id, line(l.Name), l.Type})
	}
	slices.SortFunc(all, func(a, b label) int { return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name)) })
	return all, nil
}

type modifyInput struct {
	MessageIDs []string `json:"messageIds" min:"1" max:"100" pattern:"^[0-9A-Za-z_-]{1,200}$" also:"ids messageId id" doc:"IDs of the messages, as gmail_search returns them."`
	Add        []string `json:"add,omitempty" max:"50" also:"addLabels addLabelIds" doc:"Labels to add, by name or ID, such as STARRED; TRASH moves to Trash."`
	Remove     []string `json:"remove,omitempty" max:"50" also:"removeLabels removeLabelIds" doc:"Labels to remove, by name or ID; removing INBOX archives, removing UNREAD marks as read."`
}

// modifyResult is the structured content of gmail_modify_labels.
type modifyResult struct {
	Modified []modified `json:"modified" doc:"Messages that have the labels now."`
	Failed   []unopened `json:"failed,omitempty" doc:"Messages that were not changed, or of which it is not known."`
}

type modified struct {
	ID     string   `json:"id" doc:"ID of the message."`
	Labels []string `json:"labels" doc:"IDs of the labels that it has now."`
}

func (t *toolset) modifyTool(sandbox.Capabilities) domain.Tool {
	return define(t, modifyFailing, domain.Tool{
		Name: modifyName, Target: []string{"messageIds", "add", "remove"},
		Title: "Modify Gmail labels",
		Description: "Add labels to messages and remove others: archive (remove INBOX), mark as read (remove UNREAD), star (add STARRED), move to Trash " +
			"(add TRASH), which Gmail empties after 30 days. Does not create labels and deletes nothing for good. At most 100 messages.",
		Annotations: domain.Annotations{Destructive: true, Idempotent: true},
		Output:      domain.OutputOf[modifyResult](),
		Ability:     "archive, label and trash the user's mail",
	}, t.modify)
}

const modifyFailing = "Error modifying labels"

func (t *toolset) modify(ctx context.Context, in modifyInput) (domain.ToolResult, error) {
	if len(in.Add)+len(in.Remove) == 0 {
		return domain.ToolResult{}, domain.InvalidArgument(modifyName, "add", "is empty, and so is remove: name a label in one of them")
	}
	known, err := t.labels(ctx)
	if err != nil {
		return domain.ToolResult{}, err
	}
	add, err := idsOf(known, in.Add)
	if err != nil {
		return domain.ToolResult{}, err
	}
	remove, err := idsOf(known, in.Remove)
	if err != nil {
		return domain.ToolResult{}, err
	}
	// Gmail's request for many messages at once does not say which of them there are.
	now := make([]*gmailapi.Message, len(in.MessageIDs))
	failed, err := api.Each(ctx, len(now), func(ctx context.Context, i int) (err error) {
		now[i], err = api.Write(ctx, t.client, t.service().Users.Messages.Modify("me", in.MessageIDs[i],
			&gmailapi.ModifyMessageRequest{AddLabelIds: add, RemoveLabelIds: remove}).Fields("id", "labelIds").Context(ctx).Do)
		return err
	})
	if err != nil {
		return domain.ToolResult{}, err
	}
	all, done := make([]changed, len(now)), 0
	for i, id := range in.MessageIDs {
		if failed[i] != nil {
			all[i].missed = new(missed(id, failed[i]))
		} else {
			all[i].modified = modified{id, slices.Concat([]string{}, now[i].LabelIds)}
			done++
		}
	}
	return listChanged(all, fmt.Sprintf("Labels modified on %d of %d messages.", done, len(all))).Result(ctx)
}

// changed is a message whose labels were to be modified, or why they were not.
type changed struct {
	modified
	missed *unopened
}

// listChanged returns the messages after a heading. Calling again would modify them again.
func listChanged(all []changed, heading string) domain.List[changed] {
	list := domain.ListFrom(all, 0)
	list.Text = func(shown []changed) string {
		text := heading
		for _, c := range shown {
			if c.missed != nil {
				text += fmt.Sprintf("\nID: %s\n  Not modified: %s", c.missed.ID, c.missed.Reason)
			} else {
				text += fmt.Sprintf("\nID: %s\n  Labels: %s", c.ID, strings.Join(c.Labels, ", "))
			}
		}
		return text
	}
	list.Results = func(shown []changed, _ int) any {
		r := modifyResult{Modified: []modified{}}
		for _, c := range shown {
			if c.missed != nil {
				r.Failed = append(r.Failed, *c.missed)
			} else {
				r.Modified = append(r.Modified, c.modified)
			}
		}
		return r
	}
	list.Next = func(int) string { return SearchName + " shows what labels they have" }
	return list
}

// idsOf returns the IDs of labels that are given by ID or by name.
func idsOf(known []label, wanted []string) (ids []string, err error) {
	for _, w := range wanted {
		i := slices.IndexFunc(known, func(l label) bool { return l.ID == w })
		if i < 0 {
			i = slices.IndexFunc(known, func(l label) bool { return strings.EqualFold(l.Name, strings.TrimSpace(w)) })
		}
		if i < 0 {
			return nil, failure("not_found", fmt.Sprintf("%s: there is no label %q", modifyFailing, w), "Call "+labelsName+" for the labels there are.")
		}
		ids = append(ids, known[i].ID)
	}
	return ids, nil
}

package gmail

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	gmailapi "google.golang.org/api/gmail/v1"
	"google.golang.org/api/googleapi"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/tools/google/api"
)

type labelsInput struct {
	Offset int `json:"offset" default:"0" min:"0" max:"1000000" doc:"How many to skip, to read on."`
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

func (t *toolset) listLabels(ctx context.Context, in labelsInput) (domain.ToolResult, error) {
	all, err := t.labels(ctx)
	if err != nil {
		return domain.ToolResult{}, err
	}
	list := call.ListFrom(all, in.Offset)
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
	MessageIDs []string `json:"messageIds" min:"1" max:"100" pattern:"^[0-9A-Za-z_-]{1,200}$" list:"true"`
	Add        []string `json:"add,omitempty" max:"50" list:"true"`
	Remove     []string `json:"remove,omitempty" max:"50" list:"true"`
}

func (modifyInput) Words() string { return arguments }

// modifyResult is the structured content of gmail_modify_labels.
type modifyResult struct {
	Modified []modified `json:"modified" doc:"Messages that have the labels now."`
	Failed   []unopened `json:"failed,omitempty" doc:"Messages that were not changed, or of which it is not known."`
}

type modified struct {
	ID     string   `json:"id" doc:"ID of the message."`
	Labels []string `json:"labels" doc:"IDs of the labels that it has now."`
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
	add, err := idsOf(modifyFailing, known, in.Add)
	if err != nil {
		return domain.ToolResult{}, err
	}
	remove, err := idsOf(modifyFailing, known, in.Remove)
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
	r, lines := modifyResult{Modified: []modified{}}, ""
	for i, id := range in.MessageIDs {
		if failed[i] != nil {
			miss := missed(id, failed[i])
			r.Failed = append(r.Failed, miss)
			lines += fmt.Sprintf("\nID: %s\n  Not modified: %s", id, miss.Reason)
		} else {
			r.Modified = append(r.Modified, modified{id, slices.Concat([]string{}, now[i].LabelIds)})
			lines += fmt.Sprintf("\nID: %s\n  Labels: %s", id, strings.Join(now[i].LabelIds, ", "))
		}
	}
	return domain.Answer(fmt.Sprintf("Labels modified on %d of %d messages.%s", len(r.Modified), len(now), lines), r), nil
}

// idsOf returns the IDs of labels that are given by ID or by name.
func idsOf(failing string, known []label, wanted []string) (ids []string, err error) {
	for _, w := range wanted {
		i := slices.IndexFunc(known, func(l label) bool { return l.ID == w })
		if i < 0 {
			i = slices.IndexFunc(known, func(l label) bool { return strings.EqualFold(l.Name, strings.TrimSpace(w)) })
		}
		if i < 0 {
			return nil, api.Refusal("not_found", fmt.Sprintf("%s: there is no label %q", failing, w), "Call "+labelsName+" for the labels there are.")
		}
		ids = append(ids, known[i].ID)
	}
	return ids, nil
}

type changeLabelInput struct {
	Action string `json:"action" enum:"create|rename|delete" doc:"What to do; messages keep their other labels when one is deleted."`
	Label  string `json:"label" min:"1" max:"225" also:"name" doc:"Name of the new label, such as Travel/2026, or name or ID of the one to change."`
	To     string `json:"to,omitempty" max:"225" also:"newName" doc:"New name."`
}

const changeLabelFailing = "Error changing label"

func (t *toolset) changeLabel(ctx context.Context, in changeLabelInput) (domain.ToolResult, error) {
	if (in.To == "") == (in.Action == "rename") {
		return domain.ToolResult{}, domain.InvalidArgument(changeLabelName, "to", "is the new name of a label to rename, and only of that")
	}
	labels := t.service().Users.Labels
	do := labels.Create("me", &gmailapi.Label{Name: in.Label}).Context(ctx).Do
	if in.Action != "create" {
		known, err := t.labels(ctx)
		if err != nil {
			return domain.ToolResult{}, err
		}
		ids, err := idsOf(changeLabelFailing, known, []string{in.Label})
		if err != nil {
			return domain.ToolResult{}, err
		}
		do = labels.Patch("me", ids[0], &gmailapi.Label{Name: in.To}).Context(ctx).Do
		if in.Action == "delete" {
			do = func(o ...googleapi.CallOption) (*gmailapi.Label, error) {
				return &gmailapi.Label{Id: ids[0], Name: in.Label}, labels.Delete("me", ids[0]).Context(ctx).Do(o...)
			}
		}
	}
	now, err := api.Write(ctx, t.client, do)
	if err != nil {
		return domain.ToolResult{}, err
	}
	return domain.Answer(fmt.Sprintf("Label %sd: %s (ID: %s)", in.Action, line(now.Name), now.Id), label{now.Id, line(now.Name), "user"}), nil
}

func (t *toolset) filters(ctx context.Context, _ struct{}) (domain.ToolResult, error) {
	answer, err := api.Read(ctx, t.client, t.service().Users.Settings.Filters.List("me").Context(ctx).Do)
	if err != nil {
		return domain.ToolResult{}, err
	}
	res := domain.ToolResult{Empty: "[no filters]"}
	for _, f := range answer.Filter {
		criteria, _ := json.Marshal(f.Criteria) // of texts and numbers
		action, _ := json.Marshal(f.Action)
		res.Content = append(res.Content, domain.Content{Type: domain.TextContent, Text: fmt.Sprintf("ID: %s\n  If: %s\n  Then: %s\n", f.Id, criteria, action)})
	}
	return res, nil
}

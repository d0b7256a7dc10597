package tools

import (
	"context"
	"strings"

	"toolserver/tools/anthropic"
	"toolserver/tools/meta"
)

// asker returns what has a model answer, or nil if there is no key for one.
func asker(d Deps) (meta.AskFunc, error) {
	if strings.TrimSpace(d.Anthropic.APIKey) == "" {
		return nil, nil
	}
	messages, err := anthropic.NewMessages(d.client(meta.RefreshName), d.Anthropic)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, system, message string) (string, error) {
		answer, err := messages.Ask(ctx, anthropic.Request{
			System: system, Messages: []anthropic.Message{{Role: anthropic.RoleUser, Content: message}},
		}, nil)
		return answer.Text, err
	}, nil
}

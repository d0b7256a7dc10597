package tools

import (
	"context"
	"errors"
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
		if strings.Contains(answer.Text, strings.TrimSpace(d.Anthropic.APIKey)) { // it is written to a file, too
			return "", errors.New("the model's answer has the API key in it")
		}
		return answer.Text, err
	}, nil
}

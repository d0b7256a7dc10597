package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolserver/toolserver/domain"
)

func prompts() []domain.Prompt {
	return []domain.Prompt{
		{
			Name: "test_simple_prompt", Title: "Simple prompt", Description: "A prompt without arguments.",
			Get: func(context.Context, map[string]string) (domain.PromptResult, error) {
				return domain.UserPrompt("This is a simple prompt for testing."), nil
			},
		},
		{
			Name: "test_prompt_with_arguments", Title: "Prompt with arguments", Description: "A prompt that repeats its arguments.",
			Arguments: []domain.PromptArgument{
				{Name: "arg1", Description: "First test argument", Required: true},
				{Name: "arg2", Description: "Second test argument", Required: true},
			},
			Get: func(_ context.Context, args map[string]string) (domain.PromptResult, error) {
				return domain.UserPrompt(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", args["arg1"], args["arg2"])), nil
			},
			Complete: completeWords,
		},
		{
			Name: "test_prompt_with_embedded_resource", Title: "Prompt with a resource", Description: "A prompt that embeds a resource.",
			Arguments: []domain.PromptArgument{{Name: "resourceUri", Description: "URI of the resource to embed", Required: true}},
			Get: func(_ context.Context, args map[string]string) (domain.PromptResult, error) {
				return conversation(domain.Content{
					Type: domain.ResourceContent, URI: args["resourceUri"], MIMEType: "text/plain", Text: "Embedded resource content for testing.",
				}, text("Please process the embedded resource above.")), nil
			},
		},
		{
			Name: "test_prompt_with_image", Title: "Prompt with an image", Description: "A prompt that shows an image.",
			Get: func(context.Context, map[string]string) (domain.PromptResult, error) {
				return conversation(picture(), text("Please analyze the image above.")), nil
			},
		},
		{
			Name: "test_input_required_result_prompt", Title: "Prompt that asks", Description: "A prompt that asks the user for its context.",
			Get: func(ctx context.Context, _ map[string]string) (domain.PromptResult, error) {
				answer, err := askField(ctx, "user_context", "What context should the prompt use?", "context")
				return domain.UserPrompt("Use this context: " + answer), err
			},
		},
	}
}

// conversation is a prompt of several messages of the user.
func conversation(messages ...domain.Content) domain.PromptResult {
	var p domain.PromptResult
	for _, m := range messages {
		p.Messages = append(p.Messages, domain.PromptMessage{Role: "user", Content: m})
	}
	return p
}

// completeWords returns the words that begin with what was typed.
func completeWords(_ context.Context, _, typed string, _ map[string]string) (domain.Completions, error) {
	var values []string
	for _, word := range []string{"paris", "park", "party", "test", "testing"} {
		if strings.HasPrefix(word, typed) {
			values = append(values, word)
		}
	}
	return domain.Completions{Values: values}, nil
}

package domain

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/toolserver/toolserver/domain/schema"
)

// A Prompt is a text a person can have the client start a conversation with.
type Prompt struct {
	Name        string
	Title       string // for people
	Description string
	Arguments   []PromptArgument
	Unchecked   bool // Get checks the arguments, which it gets as they came
	Audience

	Get      func(ctx context.Context, args map[string]string) (PromptResult, error)
	Complete Completer
	// Listed has further members of the prompt in lists; see [Tool].
	Listed json.RawMessage
}

// PromptArgument is what a person fills in. MCP knows only texts.
type PromptArgument struct {
	Name        string
	Description string
	Required    bool
	Values      []string // the only ones allowed; nil for any
}

// PromptResult is a prompt, filled in.
type PromptResult struct {
	Description string
	Messages    []PromptMessage
	Meta, Extra json.RawMessage // of another server's; see [ToolResult]
}

// PromptMessage is a part of a conversation.
type PromptMessage struct {
	Role    string // user or assistant
	Content Content
}

// UserPrompt returns a prompt of one message.
func UserPrompt(text string) PromptResult {
	return PromptResult{Messages: []PromptMessage{{Role: "user", Content: Content{Type: TextContent, Text: text}}}}
}

func (p *Prompt) kind() (Kind, string) { return KindPrompt, p.Name }

func (p *Prompt) ids() (string, string) { return p.Name, p.Name }

func (p *Prompt) with(o Override) item {
	p = new(*p)
	p.Audience.override(o)
	if o.Rename != "" {
		p.Name = o.Rename
	}
	if o.Description != "" {
		p.Description = o.Description
	}
	return p
}

// looksLike reports whether p and old are the same to callers.
func (p *Prompt) looksLike(old *Prompt) bool {
	return p.Name == old.Name && p.Title == old.Title && p.Description == old.Description && p.Audience.equal(old.Audience) &&
		bytes.Equal(p.Listed, old.Listed) && slices.EqualFunc(p.Arguments, old.Arguments, func(a, b PromptArgument) bool {
		return a.Name == b.Name && a.Description == b.Description && a.Required == b.Required && slices.Equal(a.Values, b.Values)
	})
}

func (p *Prompt) check() error {
	if !validName(p.Name) || p.Get == nil {
		return fmt.Errorf("prompt %q has no valid name or no handler", p.Name)
	}
	return nil
}

// FilledIn returns the arguments without those that a form has left empty,
// unless they are required: it is for the prompt to say what those must be.
func (p *Prompt) FilledIn(given map[string]string) map[string]string {
	given = maps.Clone(given)
	for _, a := range p.Arguments {
		if !a.Required && given[a.Name] == "" {
			delete(given, a.Name)
		}
	}
	return given
}

// CheckArguments validates the arguments given.
func (p *Prompt) CheckArguments(given map[string]string) error {
	form, object := schema.Param{Closed: true}, map[string]any{}
	for _, a := range p.Arguments {
		f := schema.Param{Name: a.Name}
		for _, v := range a.Values {
			f.Enum = append(f.Enum, v)
		}
		if a.Required {
			form.RequiredNames = append(form.RequiredNames, a.Name)
		}
		form.Fields = append(form.Fields, f)
	}
	for name, value := range given {
		object[name] = value
	}
	if found := form.Check(object); len(found) > 0 {
		return InvalidArguments("prompt "+p.Name, &schema.InvalidArguments{Fields: found})
	}
	return nil
}

package main

import (
	"context"
	"sync"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
)

const (
	dynamicTool   = "test_dynamic_tool"
	dynamicPrompt = "test_dynamic_prompt"
)

// lists changes what the server lists while it runs.
type lists struct {
	exec *call.Executor // set before there are calls

	mu     sync.Mutex // one change at a time
	prompt bool       // the dynamic prompt is there
}

func (l *lists) ready(exec *call.Executor) { l.exec = exec }

func (l *lists) tools() []domain.Tool {
	return []domain.Tool{
		returns(dynamicTool, "Is there or not, as test_trigger_tool_change left it.", text("I am there.")),
		changes("test_trigger_tool_change", "Adds "+dynamicTool+" to the list of tools or takes it away.",
			func(context.Context) (domain.ToolResult, error) {
				return domain.Text("tool list changed"), l.changeTools()
			}),
		changes("test_trigger_prompt_change", "Adds "+dynamicPrompt+" to the list of prompts or takes it away.",
			func(context.Context) (domain.ToolResult, error) {
				l.changePrompts()
				return domain.Text("prompt list changed"), nil
			}),
	}
}

func (l *lists) changeTools() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t, ok := l.exec.Registry.Get(dynamicTool); ok && t.Disabled {
		return l.exec.Registry.Enable(dynamicTool)
	}
	return l.exec.Registry.Disable(dynamicTool)
}

// changePrompts adds a source with a prompt, or removes it.
func (l *lists) changePrompts() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.prompt = !l.prompt; !l.prompt {
		l.exec.Registry.Unregister(dynamicPrompt)
		return
	}
	l.exec.Registry.Register(domain.FixedSource(dynamicPrompt, domain.Offer{Prompts: []domain.Prompt{{
		Name: dynamicPrompt, Title: "Dynamic prompt", Description: "Is there or not, as test_trigger_prompt_change left it.",
		Get: func(context.Context, map[string]string) (domain.PromptResult, error) {
			return domain.UserPrompt("I am there."), nil
		},
	}}}, nil))
}

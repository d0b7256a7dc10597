package server

import (
	"context"
	"encoding/json"
	"strconv"

	"toolserver/domain"
	"toolserver/rawjson"
)

// getPrompt serves prompts/get, and ends the exchange.
func (x *exchange) getPrompt(ctx context.Context) {
	name, wrong := x.text("name", x.params.name)
	var args map[string]string
	if wrong == nil && x.params.arguments != nil && json.Unmarshal(x.params.arguments, &args) != nil {
		wrong = invalidParams(`"arguments" of ` + methodPrompt + ` must be an object of strings`)
	}
	if wrong != nil {
		x.fail(wrong)
		x.end()
		return
	}
	x.server.exec.GetPrompt(ctx, x.domain(), x, name, args, func(p domain.PromptResult, err error) {
		defer x.recover()
		x.close()
		defer x.end()
		if err != nil {
			x.failWith(err)
			return
		}
		x.answer(func(b []byte) []byte {
			b = append(b, '{')
			if p.Description != "" {
				b = append(rawjson.AppendString(append(b, `"description":`...), p.Description), ',')
			}
			b = appendList(b, "messages", p.Messages, func(b []byte, m domain.PromptMessage) []byte {
				b = rawjson.AppendString(append(b, `{"role":`...), m.Role)
				return append(appendBlock(append(b, `,"content":`...), &m.Content), '}')
			})
			return x.appendMeta(b, nil)
		})
	})
}

// maxCompletions is how many values one answer may have.
const maxCompletions = 100

// complete serves completion/complete, and ends the exchange.
func (x *exchange) complete(ctx context.Context) {
	var p struct {
		Ref struct {
			Type string `json:"type"`
			Name string `json:"name"`
			URI  string `json:"uri"`
		} `json:"ref"`
		Argument struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"argument"`
		Context struct {
			Arguments map[string]string `json:"arguments"`
		} `json:"context"`
	}
	q := domain.CompleteQuery{Session: x.domain()}
	err := json.Unmarshal(x.msg.params, &p)
	switch p.Ref.Type {
	case "ref/prompt":
		q.Prompt = p.Ref.Name
	case "ref/resource":
		q.Template = p.Ref.URI
	}
	if err != nil || q.Prompt == "" && q.Template == "" || p.Argument.Name == "" {
		x.fail(invalidParams(methodComplete + ` needs "ref", a ref/prompt with a "name" or a ref/resource with a "uri", and "argument" with "name" and "value"`))
		x.end()
		return
	}
	q.Argument, q.Typed, q.Given = p.Argument.Name, p.Argument.Value, p.Context.Arguments
	x.server.exec.Complete(ctx, q, func(values []string, err error) {
		defer x.recover()
		defer x.end()
		if err != nil {
			x.failWith(err)
			return
		}
		shown := values[:min(len(values), maxCompletions)]
		x.answer(func(b []byte) []byte {
			b = appendList(append(b, `{"completion":{`...), "values", shown, rawjson.AppendString)
			b = append(b, `,"total":`+strconv.Itoa(len(values))+`,"hasMore":`+strconv.FormatBool(len(shown) < len(values))+"}"...)
			return x.appendMeta(b, nil)
		})
	})
}

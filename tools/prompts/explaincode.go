package prompts

import (
	"cmp"

	"toolserver/domain"
)

// Levels of detail of explain_code.
const (
	brief    = "brief"
	medium   = "medium"
	detailed = "detailed"
)

func explainCode() domain.Prompt {
	return complete(domain.Prompt{
		Name: "explain_code", Title: "Explain code",
		Description: "Explains what code does and how, as briefly or in as much detail as you like.",
		Arguments: []domain.PromptArgument{
			codeArgument("Code to explain."), languageArgument(),
			{Name: "detail_level", Description: "How much to explain: brief, medium (the default) or detailed.", Values: []string{brief, medium, detailed}},
		},
	}, func(args map[string]string, adjective, code string) []string {
		return []string{
			"You are a patient engineer who explains " + adjective + "code to a colleague. " +
				"The colleague can program but has not seen this code and may not know the language well. Explain the code below.",
			code, asMaterial, explaining, explanationForm(cmp.Or(args["detail_level"], medium)),
		}
	})
}

const explaining = `How to explain:

- Begin with what the code is for, then say how it does that. Say why a step is there, not only what it does.
- Explain what the code does, not what its names and comments promise. Where the two differ, or where you see a defect, say so in one sentence; this is no review.
- Quote the names in the code exactly. Explain a technical term, an idiom of the language or a library function when it first comes up, unless every programmer knows it.
- Where something depends on code that is not shown, say what you assume.`

// explanationForm says in which form to explain.
func explanationForm(level string) string {
	switch level {
	case brief:
		return `Answer in three to five sentences of plain prose, without headings or lists: what the code is for, what goes in and comes out, how it works in principle, and the one thing to know before using or changing it.`
	case detailed:
		return `Answer in Markdown, thoroughly, in this form:

## Purpose
What the code is for, and where such code is typically used.

## Interface
What goes in, what comes out, which errors there can be, and what it changes elsewhere (files, network, shared state).

## Walkthrough
Part by part, in the order in which it runs. Quote the few lines that each paragraph is about, then explain them: what happens, why, and which values the important variables have then.

## Example
One small, concrete input, followed through the code step by step until the result.

## Ideas behind it
The algorithms, data structures, patterns and language features used, why they suit the task, and the cost in time and memory where that is of interest.

## Edge cases and pitfalls
How it behaves with empty, extreme or wrong input, under concurrent use if that is possible, and what is easy to break when changing it.`
	}
	return `Answer in Markdown, on about one page, in this form:

## In short
Two or three sentences: what the code is for, what goes in and what comes out.

## How it works
A numbered list of the main steps, in the order in which they happen, each with the names in the code that it is about.

## Worth knowing
Up to five points: idioms, assumptions, edge cases, effects elsewhere. Only what somebody who uses or changes the code has to know.`
}

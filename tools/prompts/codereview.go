package prompts

import "toolserver/domain"

func codeReview() domain.Prompt {
	return complete(domain.Prompt{
		Name: "code_review", Title: "Code review",
		Description: "Reviews code for defects, security, performance and clarity, and says how to put right what it finds.",
		Arguments:   []domain.PromptArgument{codeArgument("Code to review: a function, a file or a diff."), languageArgument()},
	}, func(_ map[string]string, adjective, code string) []string {
		return []string{
			"You are an experienced " + adjective + "engineer who reviews code before it goes into production. " +
				"Find what is wrong with the code below and say how to put it right.",
			code, asMaterial, reviewing,
		}
	})
}

const reviewing = `Look for, in this order:

1. **Correctness**: wrong results; inputs that are empty, missing, negative, very large or not ASCII; boundaries off by one; errors that are ignored; resources that are not released; state left half changed after a failure.
2. **Security**: input that reaches a query, a command, a path, a template or a deserializer unchecked; missing authorization; secrets in code or logs; weak randomness or cryptography.
3. **Concurrency**, where the code can run concurrently: races, deadlocks, missing cancellation, work that nobody waits for.
4. **Performance**, where it can matter: work that grows faster than the input has to, input and output or queries inside loops, memory without a bound.
5. **Clarity**: misleading names, functions that do several things, duplication, dead code, comments that disagree with the code, departures from what is idiomatic in the language.
6. **Tests**: behavior that ought to be tested, above all the cases you found under 1.

Rules:

- Report only what you can point to in the code, and say which input or which sequence of events makes it go wrong.
- If something depends on code that is not shown, say what would have to be checked instead of guessing.
- Leave out matters of taste and whatever a formatter settles. Do not make up findings to fill a section.
- If it is a diff, review what it changes; the rest is context.

Answer in Markdown, in this form:

## Verdict
One or two sentences: ready, ready after small changes, or needs work, and the main reason.

## Findings
The most severe first. For each:

### [critical | major | minor] What is wrong, in a few words
- **Where**: the function, and the line quoted
- **Problem**: what happens, when, and with which consequence
- **Fix**: the smallest change that puts it right, as code

If there are none, say so.

## Open questions
What you would ask the author. Leave the section out if there is nothing.`

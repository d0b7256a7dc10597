package prompts

import "toolserver/domain"

func debugHelp() domain.Prompt {
	return complete(domain.Prompt{
		Name: "debug_help", Title: "Debugging help",
		Description: "Finds the cause of an error in code and says how to fix it and how to check the fix.",
		Arguments: []domain.PromptArgument{
			codeArgument("Code that goes wrong, with as much around it as may matter."),
			{Name: "error", Description: "What goes wrong: the error message, the stack trace, or what happens and what should happen.", Required: true},
			languageArgument(),
		},
	}, func(args map[string]string, adjective, code string) []string {
		return []string{
			"You are an experienced " + adjective + "engineer who helps to find a defect. " +
				"Find out why the code below goes wrong, and say how to fix it.",
			"The code:", code, "What goes wrong:", fenced("", args["error"]), asMaterial, debugging,
		}
	})
}

const debugging = `How to go about it:

1. Read the error literally: what it says, which line or call raised it, and which values must have been there for that to happen.
2. Follow those values back through the code to where they first become wrong. The cause is often not where the error shows.
3. Weigh the explanations that are possible. Keep those that explain all of what is described, and say what speaks for and against each.
4. Do not guess at code, versions or input that you cannot see. If the cause depends on them, say so, and how to find out.

Answer in Markdown, in this form:

## Cause
What goes wrong and why, in a few sentences, with the line it comes from quoted. Say how sure you are: certain, likely or possible. If more than one cause is possible, list them, the likeliest first, each with a quick check that tells it from the others.

## Fix
The smallest change that removes the cause and not only the symptom, as code that can be used as it is, and why it works. Mention other places in the code with the same defect.

## Check
How to see that it is fixed: a command, an input or a short test that fails before the change and passes after it.

## Prevention
One or two sentences on how to keep this kind of defect out. Leave the section out if there is nothing specific to say.

If what is given is not enough to find the cause, do not invent one: say what you can rule out, and ask for at most three specific things, each with the command or the line of logging that yields it.`

package sandbox

import (
	"strings"

	"toolserver/sandbox/command"
)

// cmdexe narrows a verdict on text to what the shell of Windows does as it was
// judged: that parses differently from bash, so only one command of words passes
// that mean the same to both.
func cmdexe(v command.Verdict, text string) command.Verdict {
	if v.Allowed && (len(v.Argv) != 1 || strings.ContainsAny(text, "&|<>^%!()\"'`$\\,;=~*?[]{}#\r\n\x00")) {
		v.Allowed, v.Plain, v.Rule = false, nil, "windows-words"
		v.Reason = "with a list of commands, a program with plain words is all that can be judged on this system, and this is more than that"
		v.Hint = "give a program and its arguments without quotes, backslashes, wildcards, pipes, variables and redirections"
	}
	return v
}

package prompts

import "strings"

// fenced returns text in a fenced code block of Markdown. The fence is longer
// than any run of backticks in the text, so that the text cannot end the block.
func fenced(tag, text string) string {
	fence := strings.Repeat("`", max(3, longestRun(text)+1))
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return fence + tag + "\n" + text + fence
}

// longestRun returns the length of the longest run of backticks in text.
func longestRun(text string) (longest int) {
	run := 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

package shell

import (
	"fmt"
	"strings"

	"toolserver/domain"
	"toolserver/sandbox/runner"
)

// outputLimits says how much of a command's output an answer holds, and where
// the rest is kept.
type outputLimits struct {
	maxChars int
	results  *domain.ResultStore
}

// room is what an answer needs besides output: status lines and markers.
const room = 800

// inline is how many bytes of streams an answer holds, each an equal part.
func (o outputLimits) inline(streams int) int {
	chars := o.maxChars
	if chars <= 0 {
		chars = domain.DefaultMaxResultChars
	}
	return max(chars-room, chars/2) / streams
}

// text returns a stream as the caller gets it: whole, or its beginning and end
// with a marker between and, at the end, the call that reads all of it. The whole
// goes to the store, which closes it with release.
func (o outputLimits) text(p domain.Principal, out *runner.Output, release func() error) string {
	head, cut, tail := out.Parts()
	if cut.Bytes == 0 {
		return head
	}
	kept := o.results.KeepFile(p, stored{out, release}, out.Size())
	what := "all of it"
	if out.Size() < out.Total() {
		what = fmt.Sprintf("the first %d of %d bytes", out.Size(), out.Total())
	}
	return fmt.Sprintf("%s\n[... %d bytes, %d lines left out ...]\n%s\n[Output truncated; to read %s, in %d pages: %s]",
		strings.TrimSuffix(head, "\n"), cut.Bytes, cut.Lines, strings.TrimSuffix(tail, "\n"), what, kept.Pages, kept.Call(1))
}

// stored is output in the store.
type stored struct {
	*runner.Output
	release func() error
}

// Close frees the file the output is in.
func (s stored) Close() error { return s.release() }

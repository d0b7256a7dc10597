package runner

import "fmt"

// Text returns what was kept, with a mark where the middle was cut.
func (o *Output) Text() string {
	head, cut, tail := o.Parts(o.limits.Inline)
	if cut.Bytes == 0 {
		return head
	}
	return fmt.Sprintf("%s[... %d bytes, %d lines left out ...]%s", head, cut.Bytes, cut.Lines, tail)
}

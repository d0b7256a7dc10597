package mail

import (
	"context"
	"fmt"
	"strings"
)

// Text returns what the source of a message says: the headers that people read, its text and a
// line for each attachment.
func Text(ctx context.Context, src []byte) (string, error) {
	root := Parse(src, nil)
	body, err := Read(ctx, root, nil, false)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, name := range []string{"From", "To", "Cc", "Date", "Subject"} {
		if v := Header(root, name); v != "" {
			b.WriteString(name + ": " + v + "\n")
		}
	}
	b.WriteString("\n" + body.Text + "\n")
	for _, a := range body.Attachments {
		fmt.Fprintf(&b, "\n[attachment: %s, %s, %d bytes]", a.Name, a.Type, a.Size)
	}
	for _, w := range body.Warnings {
		b.WriteString("\n[" + w + "]")
	}
	return strings.Trim(b.String(), "\n"), nil
}

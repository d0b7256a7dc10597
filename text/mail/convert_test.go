package mail_test

import (
	"encoding/base64"

	"google.golang.org/api/gmail/v1"

	"github.com/toolserver/toolserver/text/mail"
)

// gmailPart makes of the source of a message what Gmail's API returns for format=full. Files, and parts with X-Test-Apart, are
// delivered apart.
func gmailPart(src []byte) (*gmail.MessagePart, map[string][]byte) {
	files := map[string][]byte{}
	root := mail.Parse(src, files)
	var deliver func(p *gmail.MessagePart)
	deliver = func(p *gmail.MessagePart) {
		for _, child := range p.Parts {
			deliver(child)
		}
		if mail.Header(p, "X-Test-Apart") != "" && p.Body.Data != "" {
			id := "apart-" + p.PartId
			files[id], _ = base64.URLEncoding.DecodeString(p.Body.Data)
			p.Body.AttachmentId, p.Body.Data = id, ""
		}
	}
	deliver(root)
	return root, files
}

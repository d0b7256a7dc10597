package mail

import (
	"strings"

	"google.golang.org/api/gmail/v1"
)

// Headers returns all headers of that name as [Header] does.
func Headers(p *gmail.MessagePart, name string) (all []string) {
	for _, h := range p.Headers {
		if h != nil && strings.EqualFold(h.Name, name) {
			all = append(all, DecodeField(h.Name, h.Value))
		}
	}
	return all
}

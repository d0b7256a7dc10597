package discovery

import (
	"fmt"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/redact"
	"github.com/toolserver/toolserver/upstream"
)

// Bounds of what models are told of servers when they begin, in bytes.
const (
	maxInstructions    = 1_000 // of one server
	maxAllInstructions = 8_000
)

// Instructions returns what a session is told of the servers that it may use: how tools
// are found that lists leave out, and what the servers say themselves.
func Instructions(servers []*upstream.Server, catalog *domain.Catalog, session domain.Session) (all string) {
	if hidden := catalog.Hidden(session); hidden > 0 {
		all = fmt.Sprintf(" %d more tools are not listed: find them with %s, and call them with %s.", hidden, SearchName, ExecName)
	}
	for _, s := range servers {
		r := s.Report()
		text := redact.Text(strings.TrimSpace(r.Says), catalog.Settings.Secrets)
		if text == "" || !r.Allowed(catalog.Settings.Access, session.Principal) {
			continue
		}
		if room := min(maxInstructions, maxAllInstructions-len(all)); len(text) > room {
			text = strings.ToValidUTF8(text[:max(room, 0)], "") + "... (" + InfoName + " has the rest)"
		}
		all += "\n\n## MCP server " + s.Server() + "\n" + text
	}
	return all
}

// Package wellknown makes the documents that tell what a server is, and how to sign in to it, before anybody connects.
package wellknown

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/wire/jsonrpc"
)

// The documents that present a server before anybody connects to it (SEP-2127): a card below the endpoint, and a catalog that
// leads from a domain to the card. Older clients look for the card in a well-known place, newer ones for the catalog as a
// manifest of ARD 0.91.
const (
	cardType    = "application/mcp-server-card+json"
	cardSchema  = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
	cardPath    = "/server-card" // below the endpoint
	oldCardPath = "/.well-known/mcp/server-card.json"
	catalogPath = "/.well-known/ai-catalog.json"
	ardPath     = "/.well-known/ard.json"
)

// Bounds of cardSchema. A namespace and a name may have 200 characters together.
const (
	maxCardText      = 97 // with the dots of what is cut
	maxCardName      = 60
	maxCardNamespace = 139
)

// A serverCard says where a server is and what it is, as server/discover does; tools and the like are for those who connect.
type serverCard struct {
	Schema string `json:"$schema"`
	mcp.Implementation
	Remotes []cardRemote `json:"remotes"`
}

type cardRemote struct {
	Type     string   `json:"type"`
	URL      string   `json:"url"`
	Versions []string `json:"supportedProtocolVersions"`
}

// An aiCatalog is that of a domain with one server.
type aiCatalog struct {
	Version string         `json:"specVersion"`
	Entries []catalogEntry `json:"entries"`
}

type catalogEntry struct {
	Identifier string `json:"identifier"`
	Name       string `json:"displayName"`
	Type       string `json:"type"`
	URL        string `json:"url"`
}

// Cards returns the documents by path, for a server whose endpoint has a path. They have the addresses that the configuration
// says the server has, never those of a request, and without any there are none. They are the same for everybody.
func Cards(info mcp.Implementation, public, path string) map[string]http.HandlerFunc {
	below := strings.TrimSuffix(path, "/") + cardPath
	u := Endpoint(public, path)
	if u == nil {
		none := func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "there is no server card; configure server.public_url", http.StatusNotFound)
		}
		return map[string]http.HandlerFunc{below: none, oldCardPath: none, catalogPath: none, ardPath: none}
	}
	endpoint := u.String()
	title, name := cmp.Or(info.Title, info.Name), cardLabel(info.Name, maxCardName)
	card := serverCard{cardSchema, info, []cardRemote{{"streamable-http", endpoint, mcp.ValidProtocolVersions}}}
	card.Name = namespace(u.Hostname()) + "/" + name
	card.Title, card.Description = brief.Clip(title, maxCardText), brief.Clip(cmp.Or(info.Description, title), maxCardText)
	catalog := aiCatalog{"1.0", []catalogEntry{{
		Identifier: "urn:air:" + cardLabel(u.Hostname(), maxCardNamespace) + ":mcp:" + name,
		Name:       title, Type: cardType, URL: Resource(public, path) + cardPath,
	}}}
	about := document(cardType, card)
	return map[string]http.HandlerFunc{
		below: about, oldCardPath: about, catalogPath: document("application/ai-catalog+json", catalog), ardPath: document("application/json", catalog),
	}
}

// namespace returns the host of a server as the reverse-DNS namespace of its name.
func namespace(host string) string {
	labels := strings.Split(strings.Trim(host, "."), ".")
	if net.ParseIP(host) == nil {
		slices.Reverse(labels)
	}
	return cardLabel(strings.Join(labels, "."), maxCardNamespace)
}

// cardLabel returns text in characters that names of cards may have, and at most n of them.
func cardLabel(text string, n int) string {
	text = strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, text)
	return text[:min(len(text), n)]
}

// document serves content as JSON to everybody, pages of any origin too. It is made once: a request costs as much as a probe.
// Pages may send the headers that it needs, and those of headers.
func document(mediaType string, content any, headers ...string) http.HandlerFunc {
	body := jsonrpc.AppendValue(nil, content)
	tag := fmt.Sprintf(`"%x"`, sha256.Sum256(body))
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Allow-Methods", "GET")
		h.Set("Access-Control-Allow-Headers", strings.Join(append([]string{"Content-Type", "If-None-Match"}, headers...), ", "))
		h.Set("Access-Control-Expose-Headers", "ETag")
		switch r.Method {
		case http.MethodOptions:
			w.WriteHeader(http.StatusNoContent)
		case http.MethodGet, http.MethodHead:
			h.Set("Content-Type", mediaType)
			h.Set("X-Content-Type-Options", "nosniff")
			h.Set("Cache-Control", "public, max-age=3600")
			h.Set("ETag", tag)
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
		default:
			h.Set("Allow", "GET, HEAD, OPTIONS")
			http.Error(w, "method not allowed; allowed: GET, HEAD, OPTIONS", http.StatusMethodNotAllowed)
		}
	}
}

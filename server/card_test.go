package server

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/toolserver/toolserver/wire/rawjson"
)

// cardRequest sends a request to a server that lets nobody in.
func cardRequest(t *testing.T, s *Server, opts HTTPOptions, method, target string, header http.Header) *http.Response {
	t.Helper()
	opts.Authenticator = new(Tokens) // lets nobody in
	r := httptest.NewRequest(method, target, nil)
	for name, values := range header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	s.Handler(t.Context(), opts).ServeHTTP(w, r)
	return w.Result()
}

func bodyOf(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// oldCardPath is where older clients look for the card.
const oldCardPath = "/.well-known/mcp/server-card.json"

// cardRules are what SEP-2127 demands of a card.
const cardRules = `{"type": "object", "required": ["$schema", "name", "version", "description"], "properties": {
	"$schema": {"const": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"},
	"name": {"type": "string", "minLength": 3, "maxLength": 200, "pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$"},
	"version": {"type": "string", "maxLength": 255},
	"description": {"type": "string", "minLength": 1, "maxLength": 100},
	"title": {"type": "string", "minLength": 1, "maxLength": 100},
	"websiteUrl": {"type": "string", "format": "uri"},
	"icons": {"type": "array", "items": {"type": "object", "required": ["src"], "properties": {
		"src": {"type": "string", "format": "uri"}, "mimeType": {"type": "string"}, "sizes": {"type": "array", "items": {"type": "string"}}}}},
	"remotes": {"type": "array", "items": {"type": "object", "required": ["type", "url"], "properties": {
		"type": {"enum": ["streamable-http", "sse"]},
		"url": {"type": "string", "pattern": "^(https?://[^\\s]+|\\{[a-zA-Z_][a-zA-Z0-9_]*\\}[^\\s]*)$"},
		"supportedProtocolVersions": {"type": "array", "items": {"type": "string"}}}}}}}`

// TestServerCard holds cards to the rules, whatever a server is called and wherever it is, and to server/discover.
func TestServerCard(t *testing.T) {
	schema, err := jsonschema.CompileString("card.json", cardRules)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("é", 300)
	for _, test := range []struct {
		public, path, card string // path of the card
		info               mcp.Implementation
		name, url, urn     string
	}{
		{"https://tools.example.com", "/mcp", "/mcp/server-card", mcp.Implementation{Name: "toolserver", Version: "1.2.3", Title: "Toolserver", Description: "Tools", WebsiteURL: "https://example.com",
			Icons: []mcp.Icon{{Src: "data:image/png;base64,AA==", MIMEType: "image/png", Sizes: []string{"1x1"}}}}, "com.example.tools/toolserver", "https://tools.example.com/mcp", "urn:air:tools.example.com:mcp:toolserver"},
		{"https://tools.example.com/", "/", "/server-card", mcp.Implementation{Name: "a b/c", Version: "dev"}, "com.example.tools/a-b-c", "https://tools.example.com/", "urn:air:tools.example.com:mcp:a-b-c"},
		{"https://tools.example.com", "/a/b/", "/a/b/server-card", mcp.Implementation{Name: "x"}, "com.example.tools/x", "https://tools.example.com/a/b/", "urn:air:tools.example.com:mcp:x"},
		{"https://example.com:8443/tools", "/mcp", "/mcp/server-card", mcp.Implementation{Name: "x"}, "com.example/x", "https://example.com:8443/tools/mcp", "urn:air:example.com:mcp:x"},
		{"https://example.com/tools/", "/tools/mcp", "/tools/mcp/server-card", mcp.Implementation{Name: "x"}, "com.example/x", "https://example.com/tools/mcp", "urn:air:example.com:mcp:x"},
		{"https://example.com/mcp", "/mcp", "/mcp/server-card", mcp.Implementation{Name: "x"}, "com.example/x", "https://example.com/mcp", "urn:air:example.com:mcp:x"},
		{"https://example.com/mc", "/mcp", "/mcp/server-card", mcp.Implementation{Name: "x"}, "com.example/x", "https://example.com/mc/mcp", "urn:air:example.com:mcp:x"},
		{"http://localhost:8080", "/mcp", "/mcp/server-card", mcp.Implementation{Name: long, Title: long, Description: long, Version: "1"}, "localhost/" + strings.Repeat("-", 60), "http://localhost:8080/mcp", "urn:air:localhost:mcp:" + strings.Repeat("-", 60)},
		{"http://127.0.0.1:8080", "/mcp", "/mcp/server-card", mcp.Implementation{Name: "x"}, "127.0.0.1/x", "http://127.0.0.1:8080/mcp", "urn:air:127.0.0.1:mcp:x"},
		{"http://[::1]:8080", "/mcp", "/mcp/server-card", mcp.Implementation{Name: "x"}, "--1/x", "http://[::1]:8080/mcp", "urn:air:--1:mcp:x"},
		{"https://" + strings.Repeat("a.", 120) + "com.", "/mcp", "/mcp/server-card", mcp.Implementation{Name: long}, "", "https://" + strings.Repeat("a.", 120) + "com./mcp", ""},
		{"https://münchen.example", "/m c{p}", "/m%20c%7Bp%7D/server-card", mcp.Implementation{Name: "x"}, "example.m-nchen/x", "https://m%C3%BCnchen.example/m%20c%7Bp%7D", "urn:air:m-nchen.example:mcp:x"},
	} {
		s, _ := fixture(t)
		s.opts.Info = test.info
		opts := HTTPOptions{Path: test.path, PublicURL: test.public}
		// The Host of the request is somebody else's: it makes no difference.
		got := cardRequest(t, s, opts, "GET", "http://evil.example"+test.card, http.Header{"Accept": {"application/mcp-server-card+json"}, "X-Forwarded-Host": {"evil.example"}})
		card := bodyOf(t, got)
		var value any
		if err := json.Unmarshal([]byte(card), &value); err != nil || got.StatusCode != 200 || got.Header.Get("Content-Type") != "application/mcp-server-card+json" {
			t.Fatalf("%s: %d %s %v", test.public, got.StatusCode, card, err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v\n%s", test.public, err, card)
		}
		var parsed struct {
			Name    string
			Remotes []struct{ URL string }
		}
		if err := json.Unmarshal([]byte(card), &parsed); err != nil || test.name != "" && parsed.Name != test.name || parsed.Remotes[0].URL != test.url {
			t.Errorf("%s: %v, got %s", test.public, err, card)
		}
		if strings.Contains(card, "evil") || strings.Contains(card, `"tools"`) || strings.Contains(card, "capabilities") {
			t.Errorf("%s: the card says %s", test.public, card)
		}
		if old := bodyOf(t, cardRequest(t, s, opts, "GET", "/.well-known/mcp/server-card.json", nil)); old != card {
			t.Errorf("%s: the well-known card is %s", test.public, old)
		}
		catalog := bodyOf(t, cardRequest(t, s, opts, "GET", "/.well-known/ai-catalog.json", nil))
		var listing struct {
			Version string `json:"specVersion"`
			Entries []struct {
				Identifier, Type, URL string
				Name                  string `json:"displayName"`
			}
		}
		if err := json.Unmarshal([]byte(catalog), &listing); err != nil || listing.Version != "1.0" || len(listing.Entries) != 1 ||
			listing.Entries[0].Type != "application/mcp-server-card+json" || listing.Entries[0].URL != strings.TrimSuffix(test.url, "/")+"/server-card" ||
			listing.Entries[0].Name == "" || test.urn != "" && listing.Entries[0].Identifier != test.urn {
			t.Errorf("%s: %v, the catalog is %s", test.public, err, catalog)
		}
		if ard := bodyOf(t, cardRequest(t, s, opts, "GET", "/.well-known/ard.json", nil)); ard != catalog {
			t.Errorf("%s: the manifest is %s", test.public, ard)
		}
	}
}

// TestServerCardAgrees compares a card with what a client is told that connects.
func TestServerCardAgrees(t *testing.T) {
	s, _ := fixture(t)
	s = New(s.exec, Options{Info: mcp.Implementation{Name: "toolserver", Version: "1.2.3", Title: "Toolserver", Description: "Tools", WebsiteURL: "https://example.com",
		Icons: []mcp.Icon{{Src: "data:image/png;base64,AA==", MIMEType: "image/png", Sizes: []string{"1x1"}}}}, Log: s.opts.Log, MaxMessageBytes: 1 << 20, MaxInFlight: 10})
	card := []byte(bodyOf(t, cardRequest(t, s, HTTPOptions{Path: "/mcp", PublicURL: "https://tools.example.com"}, "GET", "/mcp/server-card", nil)))
	result := rawjson.Member([]byte(play(t, s, request(`1`, "server/discover", `{}`, true))[0]), "result")
	info := rawjson.Member(rawjson.Member(result, "_meta"), mcp.MetaKeyServerInfo)
	for _, member := range []string{"version", "title", "description", "websiteUrl", "icons"} {
		if said, shown := string(rawjson.Member(info, member)), string(rawjson.Member(card, member)); said == "" || said != shown {
			t.Errorf("%s: the card has %s, server/discover %s", member, shown, said)
		}
	}
	name, _ := rawjson.String(rawjson.Member(info, "name"))
	if own, _ := rawjson.String(rawjson.Member(card, "name")); !strings.HasSuffix(own, "/"+name) {
		t.Errorf("the card is of %s, the server %s", own, name)
	}
	var remote []struct {
		Versions []string `json:"supportedProtocolVersions"`
	}
	var versions []string
	if json.Unmarshal(rawjson.Member(card, "remotes"), &remote) != nil || json.Unmarshal(rawjson.Member(result, "supportedVersions"), &versions) != nil || !slices.Equal(remote[0].Versions, versions) {
		t.Errorf("the card has %v, server/discover %v", remote, versions)
	}
}

// TestServerCardRequests sends all kinds of requests for the documents, to which no token is needed, and asks again.
func TestServerCardRequests(t *testing.T) {
	s, _ := fixture(t)
	public := HTTPOptions{Path: "/mcp", PublicURL: "https://tools.example.com"}
	for path, mediaType := range map[string]string{
		"/mcp/server-card": "application/mcp-server-card+json", oldCardPath: "application/mcp-server-card+json",
		"/.well-known/ai-catalog.json": "application/ai-catalog+json", "/.well-known/ard.json": "application/json",
	} {
		first := cardRequest(t, s, public, "GET", path, http.Header{"Origin": {"https://page.example"}})
		tag, body := first.Header.Get("ETag"), bodyOf(t, first)
		if first.Header.Get("Content-Type") != mediaType || first.Header.Get("Cache-Control") != "public, max-age=3600" || len(tag) < 10 {
			t.Errorf("%s: got %v", path, first.Header)
		}
		for _, test := range []struct {
			method, match string
			status        int
			body          bool
		}{
			{"GET", "", 200, true}, {"GET", `"other"`, 200, true}, {"GET", tag, 304, false}, {"GET", `"x", W/` + tag, 304, false}, {"GET", "*", 304, false},
			{"HEAD", "", 200, false}, {"HEAD", tag, 304, false}, {"OPTIONS", "", 204, false}, {"POST", "", 405, false}, {"DELETE", "", 405, false}, {"PUT", "", 405, false},
		} {
			header := http.Header{"Origin": {"https://page.example"}}
			if test.match != "" {
				header.Set("If-None-Match", test.match)
			}
			r := cardRequest(t, s, public, test.method, path, header)
			got := bodyOf(t, r)
			if r.StatusCode != test.status || (got == body) != test.body || test.status < 400 && !test.body && got != "" {
				t.Errorf("%s %s %s: %d %q", test.method, path, test.match, r.StatusCode, got)
			}
			for name, want := range map[string]string{
				"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Methods": "GET", "Access-Control-Allow-Headers": "Content-Type, If-None-Match", "Access-Control-Expose-Headers": "ETag",
			} {
				if r.Header.Get(name) != want {
					t.Errorf("%s %s: %s is %q", test.method, path, name, r.Header.Get(name))
				}
			}
			if test.status == 405 && r.Header.Get("Allow") != "GET, HEAD, OPTIONS" {
				t.Errorf("%s %s: Allow is %q", test.method, path, r.Header.Get("Allow"))
			}
		}
		// Without an address of its own the server has nothing to say that a request could not make up.
		if none := cardRequest(t, s, HTTPOptions{Path: "/mcp"}, "GET", path, nil); none.StatusCode != 404 || !strings.Contains(bodyOf(t, none), "server.public_url") {
			t.Errorf("%s without an address: %d", path, none.StatusCode)
		}
		for _, other := range []string{"/x" + path, path + "/", strings.ToUpper(path)} {
			if r := cardRequest(t, s, public, "GET", other, nil); r.StatusCode != 404 {
				t.Errorf("%s: %d", other, r.StatusCode)
			}
		}
	}
	// The endpoint is served where it is configured, whatever else is there.
	if r := cardRequest(t, s, HTTPOptions{Path: oldCardPath, PublicURL: "https://tools.example.com"}, "GET", "http://localhost"+oldCardPath, nil); r.StatusCode != 401 {
		t.Errorf("an endpoint in the place of the card: %d", r.StatusCode)
	}
}

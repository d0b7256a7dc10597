package anthropic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// RequestID is the id of every request.
const RequestID = "req_fake0123456789"

// Error returns the API's way to refuse a request.
func Error(status int, kind, message string) Reply {
	return Reply{Status: status, Body: errorBody(kind, message)}
}

func errorBody(kind, message string) string {
	b, err := json.Marshal(map[string]any{
		"type": "error", "error": map[string]string{"type": kind, "message": message}, "request_id": RequestID,
	})
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(b)
}

func invalid(format string, args ...any) *Reply {
	reply := Error(http.StatusBadRequest, "invalid_request_error", fmt.Sprintf(format, args...))
	return &reply
}

// Versions of the API there are.
var versions = []string{"2023-06-01", "2026-10-21"}

// expected are the headers a client of the API sends, or its HTTP library for it.
// The API ignores others; the fake refuses them, so that nothing that a client
// finds in its environment goes unnoticed.
var expected = map[string]bool{
	"X-Api-Key": true, "Anthropic-Version": true, "Anthropic-Beta": true, "Content-Type": true, "Accept": true,
	"Accept-Encoding": true, "User-Agent": true, "Content-Length": true,
}

// checkHeader returns the refusal of a request whose headers are wrong, or nil.
func checkHeader(req Request) *Reply {
	for name := range req.Header {
		if !expected[name] {
			return invalid("%s: this header is not expected", name)
		}
	}
	key, name := APIKey, "x-api-key"
	if strings.HasPrefix(req.Path, "/v1/organizations/") {
		key = AdminKey
	}
	if got := req.Header.Values(name); len(got) != 1 || got[0] != key {
		reply := Error(http.StatusUnauthorized, "authentication_error", "invalid x-api-key")
		return &reply
	}
	version := req.Header.Get("Anthropic-Version")
	if version == "" {
		return invalid("anthropic-version: header is required")
	}
	for _, known := range versions {
		if version == known {
			return checkMethod(req)
		}
	}
	return invalid("anthropic-version: %q is not a valid version", version)
}

func checkMethod(req Request) *Reply {
	want := http.MethodGet
	if req.Path == MessagesPath {
		want = http.MethodPost
		if !strings.HasPrefix(req.Header.Get("Content-Type"), "application/json") {
			return invalid("content-type: must be application/json")
		}
	}
	if req.Method != want {
		reply := Error(http.StatusMethodNotAllowed, "invalid_request_error", "Method Not Allowed")
		return &reply
	}
	return nil
}

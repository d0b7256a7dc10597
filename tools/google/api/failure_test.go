package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/api/googleapi"

	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/tools/google/signin"
)

// envelope is an error as Google writes it.
func envelope(code int, message, reason, status, details string) string {
	return fmt.Sprintf(`{"error":{"code":%d,"message":%q,"errors":[{"message":%q,"domain":"global","reason":%q}],"status":%q%s}}`, code, message, message, reason, status, details)
}

func info(reason string) string {
	return fmt.Sprintf(`,"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":%q,"domain":"googleapis.com"}]`, reason)
}

// TestFailures maps errors as Google documents them, each to one sentence and a remedy.
func TestFailures(t *testing.T) {
	for _, tt := range []struct {
		name, body          string
		status              int
		kind, message, hint string
		retry, unknown      bool
	}{
		{"scope", envelope(403, "Request had insufficient authentication scopes.", "insufficientPermissions", "PERMISSION_DENIED", info("ACCESS_TOKEN_SCOPE_INSUFFICIENT")), 403,
			"sign_in_required", "HTTP 403 from Gmail: the sign-in does not cover this: a permission was not granted", "toolserver auth google --again", false, false},
		{"not enabled, old", envelope(403, "Gmail API has not been used in project 123456 before or it is disabled.", "accessNotConfigured", "PERMISSION_DENIED", ""), 403,
			"not_enabled", "this API is not enabled in the Google Cloud project of the client ID", "https://console.cloud.google.com/apis/library/gmail.googleapis.com?project=123456;", false, false},
		{"not enabled, new", envelope(403, "Disabled.", "forbidden", "PERMISSION_DENIED", info("SERVICE_DISABLED")), 403,
			"not_enabled", "this API is not enabled", "library/gmail.googleapis.com; it takes", false, false},
		{"user rate", envelope(403, "User Rate Limit Exceeded", "userRateLimitExceeded", "", ""), 403, "rate_limited", "too many requests for this account", "Wait a minute", true, false},
		{"rate, 429", envelope(429, "Too many concurrent requests for user.", "rateLimitExceeded", "RESOURCE_EXHAUSTED", ""), 429, "rate_limited", "too many requests for this account", "Wait", true, false},
		{"429 without a body", "", 429, "rate_limited", "HTTP 429 from Gmail", "Wait", true, false},
		{"daily", envelope(403, "Daily Limit Exceeded", "dailyLimitExceeded", "", ""), 403, "quota_exceeded", "the quota of the Google Cloud project is used up", "tomorrow", false, false},
		{"usage", envelope(403, "Calendar usage limits exceeded.", "quotaExceeded", "", ""), 403, "quota_exceeded", "the account has reached a limit of Google, such as that of invitations", "hours", false, false},
		{"not found", envelope(404, "Requested entity was not found.", "notFound", "NOT_FOUND", ""), 404, "not_found", "it does not exist, or this account cannot see it", "Check the id", false, false},
		{"deleted", envelope(410, "Resource has been deleted", "deleted", "", ""), 410, "not_found", "it was deleted", "again", false, false},
		{"expired", envelope(401, "Invalid Credentials", "authError", "UNAUTHENTICATED", ""), 401, "sign_in_required", "the sign-in is no longer accepted", "sign in anew: toolserver auth google --again", false, false},
		{"invalid", envelope(400, "Invalid To header", "invalidArgument", "INVALID_ARGUMENT", ""), 400, "invalid_query", "HTTP 400 from Gmail: Invalid To header", "Correct", false, false},
		{"forbidden", envelope(403, "Forbidden", "forbidden", "", ""), 403, "denied", "HTTP 403 from Gmail: Forbidden", "share", false, false},
		{"duplicate", envelope(409, "The requested identifier already exists.", "duplicate", "", ""), 409, "already_exists", "The requested identifier already exists", "another id", false, false},
		{"domain policy", envelope(403, "Denied.", "domainPolicy", "", ""), 403, "denied", "the administrator of the Google Workspace domain does not allow it", "administrator", false, false},
		{"changed", envelope(412, "Precondition Failed", "conditionNotMet", "", ""), 412, "conflict", "it has been changed by somebody else", "Read it again", false, false},
		{"no mailbox", envelope(400, "Mail service not enabled", "failedPrecondition", "FAILED_PRECONDITION", ""), 400, "denied", "this account has no such service", "sign in with an account that has it", false, false},
		{"precondition", envelope(400, "Precondition check failed.", "failedPrecondition", "FAILED_PRECONDITION", ""), 400, "invalid_query", "Precondition check failed", "Correct", false, false},
		{"a page between", "", 302, "http_status", "a page of the network may stand between", "sign in to the network", false, false},
		{"method", "", 405, "http_status", "HTTP 405 from Gmail", "Trying again does not help", false, false},
		{"backend", envelope(503, "Backend Error", "backendError", "UNAVAILABLE", ""), 503, "overloaded", "HTTP 503 from Gmail", "later", true, true},
		{"500 page", "<html>secret</html>", 500, "http_status", "HTTP 500 from Gmail", "later", true, true},
		{"long", envelope(400, strings.Repeat("ä", 1000), "badRequest", "", ""), 400, "invalid_query", "HTTP 400 from Gmail: ää", "", false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := &http.Response{StatusCode: tt.status, Header: http.Header{"Retry-After": {"7"}}, Body: io.NopCloser(strings.NewReader(tt.body))}
			err := failure(signin.Gmail, fmt.Errorf("wrapped: %w", googleapi.CheckResponse(res)))
			f, ok := errors.AsType[*httpcall.Failure](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if f.Type != tt.kind || !strings.Contains(f.Message, tt.message) || !strings.Contains(f.Hint, tt.hint) || f.Retry != tt.retry || f.After != 7*time.Second {
				t.Errorf("got %+v", f)
			}
			if Unknown(err) != tt.unknown || strings.Contains(f.Message, "secret") || strings.Contains(f.Message, "\n") || len(f.Message) > 400 {
				t.Errorf("unknown %v: %+v", Unknown(err), f)
			}
		})
	}
}

// TestUnknown tells requests that Google may have carried out from those it cannot have.
func TestUnknown(t *testing.T) {
	dial := &url.Error{Op: "Post", URL: "https://x/?key=secret", Err: &net.OpError{Op: "dial", Err: errors.New("refused")}}
	for name, tt := range map[string]struct {
		err  error
		want bool
	}{
		"success":         {nil, false},
		"never connected": {dial, false},
		"not signed in":   {&url.Error{Err: signin.ErrNoGrant}, false},
		"revoked":         {&url.Error{Err: &signin.RevokedError{}}, false},
		"connection lost": {&url.Error{Err: io.ErrUnexpectedEOF}, true},
		"timed out":       {&url.Error{Err: context.DeadlineExceeded}, true},
		"no JSON":         {failure(signin.Gmail, json.Unmarshal([]byte("<html>"), new(int))), true},
		"other JSON":      {failure(signin.Gmail, json.Unmarshal([]byte(`"secret"`), new(int))), true},
	} {
		if got := Unknown(tt.err); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
		if f, ok := errors.AsType[*httpcall.Failure](tt.err); ok && (f.Type != "bad_answer" || strings.Contains(f.Message, "secret")) {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

package google

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"net/http"
)

// Answer is an error of Google, or whatever else is said instead of what the fake would say.
type Answer struct {
	Status    int // 0 for what the fake would say
	Reason    string
	Message   string
	Domain    string // "global" if it is empty
	Canonical string // the status in words; Gmail always has one
	Location  string // the parameter or header that is wrong
	Details   []any
	Header    http.Header
	Body      string          // instead of an envelope
	Hold      <-chan struct{} // wait until it is closed
	After     bool            // carry the request out first
	Drop      bool            // close the connection instead of answering
}

var canonical = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ALREADY_EXISTS",
	412: "FAILED_PRECONDITION", 413: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 501: "UNIMPLEMENTED", 503: "UNAVAILABLE",
}

// send writes the answer as a service does: Gmail names the status in both the old style and the new one, Calendar in the old
// one, unless the answer comes from what lies before both.
func (a *Answer) send(w http.ResponseWriter, service string) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	maps.Copy(w.Header(), a.Header)
	w.WriteHeader(cmp.Or(a.Status, http.StatusOK))
	if a.Body != "" || a.Reason == "" {
		_, _ = io.WriteString(w, a.Body)
		return
	}
	item := map[string]string{"domain": cmp.Or(a.Domain, "global"), "reason": a.Reason, "message": a.Message}
	if a.Location != "" {
		item["location"], item["locationType"] = a.Location, "parameter"
		if a.Location == "Authorization" {
			item["locationType"] = "header"
		}
	}
	e := map[string]any{"code": a.Status, "message": a.Message, "errors": []any{item}}
	status := a.Canonical
	if (service == "gmail" || service == "people") && status == "" {
		status = canonical[a.Status]
	}
	if status != "" {
		e["status"] = status
	}
	if a.Details != nil {
		e["details"] = a.Details
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"error": e})
}

func invalid(reason, message string) *Answer {
	return &Answer{Status: http.StatusBadRequest, Reason: reason, Message: message}
}

// info returns the ErrorInfo of an answer.
func info(reason string, metadata map[string]string) map[string]any {
	return map[string]any{
		"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "googleapis.com", "metadata": metadata,
	}
}

// hosts are the names of the services. Names are those that the APIs call themselves.
var (
	hosts = map[string]string{"gmail": "gmail.googleapis.com", "calendar": "calendar-json.googleapis.com", "people": "people.googleapis.com"}
	names = map[string]string{"gmail": "Gmail API", "calendar": "Google Calendar API", "people": "People API"}
)

// Unauthenticated is the answer to a token that is unknown, expired or revoked.
func Unauthenticated() Answer {
	return Answer{
		Status: http.StatusUnauthorized, Reason: "authError", Canonical: "UNAUTHENTICATED", Location: "Authorization",
		Message: "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication " +
			"credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.",
		Header: http.Header{"Www-Authenticate": {`Bearer realm="https://accounts.google.com/", error="invalid_token"`}},
	}
}

// ScopeInsufficient is the answer to a token whose scopes do not allow a method of a service: "gmail", "calendar" or "people".
func ScopeInsufficient(service string) Answer {
	return Answer{
		Status: http.StatusForbidden, Reason: "insufficientPermissions", Canonical: "PERMISSION_DENIED",
		Message: "Request had insufficient authentication scopes.",
		Header:  http.Header{"Www-Authenticate": {`Bearer realm="https://accounts.google.com/", error="insufficient_scope"`}},
		Details: []any{info("ACCESS_TOKEN_SCOPE_INSUFFICIENT", map[string]string{"service": hosts[service]})},
	}
}

// APINotEnabled is the answer to a client whose project has not enabled a service: "gmail", "calendar" or "people".
func APINotEnabled(service string) Answer {
	url := "https://console.developers.google.com/apis/api/" + hosts[service] + "/overview?project=123456789012"
	text := names[service] + " has not been used in project 123456789012 before or it is disabled. Enable it by visiting " + url +
		" then retry. If you enabled this API recently, wait a few minutes for the action to propagate to our systems and retry."
	return Answer{
		Status: http.StatusForbidden, Reason: "accessNotConfigured", Domain: "usageLimits", Canonical: "PERMISSION_DENIED", Message: text,
		Details: []any{
			info("SERVICE_DISABLED", map[string]string{
				"service": hosts[service], "serviceTitle": names[service], "consumer": "projects/123456789012", "activationUrl": url,
			}),
			map[string]any{"@type": "type.googleapis.com/google.rpc.LocalizedMessage", "locale": "en-US", "message": text},
			map[string]any{"@type": "type.googleapis.com/google.rpc.Help", "links": []any{
				map[string]string{"description": "Google developers console API activation", "url": url},
			}},
		},
	}
}

// UserRateLimit is the answer to a user who sends too much, with status 403 or 429.
func UserRateLimit(status int) Answer {
	return Answer{
		Status: status, Reason: "userRateLimitExceeded", Domain: "usageLimits",
		Message: "User-rate limit exceeded. Retry after a short while.",
	}
}

// ConcurrencyLimit is the answer to a user who has too many requests in flight.
func ConcurrencyLimit() Answer {
	return Answer{
		Status: http.StatusTooManyRequests, Reason: "rateLimitExceeded", Domain: "usageLimits",
		Message: "Too many concurrent requests for user.", Header: http.Header{"Retry-After": {"1"}},
	}
}

// DailyLimit is the answer when a project has used its quota of the day.
func DailyLimit() Answer {
	return Answer{
		Status: http.StatusForbidden, Reason: "dailyLimitExceeded", Domain: "usageLimits",
		Message: "Daily Limit Exceeded. The quota will be reset at midnight Pacific Time (PT).",
	}
}

// NotFound is the answer of a service, "gmail" or "calendar", about what is not there, or not for this user.
func NotFound(service string) Answer {
	message := "Not Found"
	if service == "gmail" {
		message = "Requested entity was not found."
	}
	return Answer{Status: http.StatusNotFound, Reason: "notFound", Message: message}
}

// BackendError is the answer of a service that is unavailable for a moment.
func BackendError() Answer {
	return Answer{Status: http.StatusServiceUnavailable, Reason: "backendError", Message: "The service is currently unavailable."}
}

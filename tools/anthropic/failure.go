package anthropic

import (
	"errors"
	"net/http"
	"strings"

	"toolserver/domain"
	"toolserver/tools/httpcall"
)

// statusOverloaded is Anthropic's own: the service has too much to do.
const statusOverloaded = 529

// failure returns what a tool answers when the API cannot be used. Doing says
// what was tried when no answer came: "Error querying Anthropic Admin API".
// Partial, which may be empty, is what came of it until then.
func failure(err error, doing, partial string) domain.ToolResult {
	var kind, message, hint string
	if api, ok := errors.AsType[*APIError](err); ok {
		kind, message = api.kind(), api.Error()
		hint = api.hint(kind)
	} else {
		problem := explain(err)
		kind, message, hint = problem.Type, doing+": "+problem.Message, problem.Hint
	}
	if partial != "" {
		message += "; the answer until then:\n" + partial
	}
	if hint == "" {
		hint = "Try again later."
	}
	return domain.Failure(kind, message, hint)
}

// explain says why there is no answer of the API that could be used.
func explain(err error) httpcall.Problem {
	if bad, ok := errors.AsType[*BadAnswerError](err); ok {
		return httpcall.Problem{
			Type: "bad_answer", Message: bad.Error(), Hint: "Try again; if it stays so, the operator should look at anthropic.base_url.",
		}
	}
	if errors.Is(err, ErrCutOff) {
		return httpcall.Problem{Type: "unreachable", Message: err.Error(), Hint: "Call again."}
	}
	return httpcall.Explain(err)
}

// A BadAnswerError is an answer that is not what the API is documented to send.
type BadAnswerError struct{ Problem string }

func (e *BadAnswerError) Error() string { return e.Problem }

// kind returns the error's type in the vocabulary of docs/errors.md. The API's
// own type counts first: within a stream there is no status. A permission that a
// key lacks is bad credentials, not denied, which is policy's of this server.
func (e *APIError) kind() string {
	switch e.Type {
	case "authentication_error", "permission_error":
		return "bad_credentials"
	case "billing_error":
		return "quota_exceeded"
	case "not_found_error":
		return "not_found"
	case "request_too_large":
		return "too_large"
	case "rate_limit_error":
		return "rate_limited"
	case "timeout_error":
		return "timed_out"
	case "overloaded_error":
		return "overloaded"
	case "invalid_request_error":
		if strings.Contains(e.Message, "credit balance") { // how the API says it in fact
			return "quota_exceeded"
		}
		return "invalid_query"
	}
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "bad_credentials"
	case http.StatusPaymentRequired:
		return "quota_exceeded"
	case http.StatusNotFound, http.StatusGone:
		return "not_found"
	case http.StatusRequestEntityTooLarge:
		return "too_large"
	case http.StatusTooManyRequests:
		return "rate_limited"
	case http.StatusServiceUnavailable, statusOverloaded:
		return "overloaded"
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return "timed_out"
	}
	return "http_status"
}

// hint says what to do about an error of a kind.
func (e *APIError) hint(kind string) string {
	if e.RetryAfter > 0 {
		return "Call again in " + e.wait() + "."
	}
	switch kind {
	case "bad_credentials":
		return "The operator has to set a key that is valid and may do this: anthropic.api_key, or anthropic.admin_api_key for reports."
	case "quota_exceeded":
		return "The operator has to see to the organization's billing."
	case "invalid_query":
		return "Correct what the message names and call again."
	case "not_found":
		return "Use the name or id of something that exists."
	case "too_large":
		return "Send less at a time."
	case "rate_limited":
		return "Call again in a minute."
	case "overloaded", "timed_out":
		return "Call again in a few minutes."
	}
	switch {
	case e.Status/100 == 3 || e.Status != 0 && e.Type == "":
		return "The operator should see whether anthropic.base_url is that of the API."
	case e.Status >= 500 || e.Status == 0:
		return "Call again in a few minutes."
	}
	return "Correct what the message names and call again."
}

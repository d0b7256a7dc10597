package websearch

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"

	"toolserver/tools/httpcall"
)

// braveFault is an error as Brave describes it. Answers have it as "error", the documentation as a list, "errors".
type braveFault struct {
	Code string `json:"code"`
	Meta struct {
		Errors []struct {
			Loc []any `json:"loc"` // such as "query", "q"
		} `json:"errors"`
	} `json:"meta"`
}

// parameterName is what the name of a parameter or header looks like; nothing else of an answer is repeated in messages.
var parameterName = regexp.MustCompile(`^[a-z][a-z_-]{0,40}$`)

// braveError says what an answer means that is not of class 2xx.
func braveError(e *httpcall.StatusError) *Error {
	is := func(errorType, meaning, hint string) *Error {
		return &Error{Type: errorType, Message: e.Error() + ": " + meaning, Hint: hint}
	}
	badKey := func() *Error {
		return is("bad_credentials", "it does not accept the key", "The key in web.search.brave.api_key or BRAVE_API_KEY must be replaced.")
	}
	plan := func(meaning string) *Error {
		return is("plan_required", meaning, "The plan of the key must be changed, at https://api-dashboard.search.brave.com.")
	}
	fault := readBraveFault(e.Body)
	switch fault.Code {
	case "SUBSCRIPTION_TOKEN_INVALID":
		return badKey()
	case "SUBSCRIPTION_NOT_FOUND":
		return plan("the key has no subscription")
	case "OPTION_NOT_IN_PLAN", "RESOURCE_NOT_ALLOWED":
		return plan("the key's plan does not include this search")
	case "QUOTA_LIMITED":
		return braveQuota(e)
	case "RATE_LIMITED":
		return limited(e, is("rate_limited", "it was asked more often than the key's plan allows", "Wait a little and search again."))
	case "VALIDATION":
		return fault.validation(is, badKey)
	}
	if _, usedUp := quotaReset(e.Header); usedUp && e.Status == http.StatusTooManyRequests && !isHTML(e.Header, e.Body) {
		return braveQuota(e)
	}
	if trouble := statusError(e); trouble.Type != "bad_credentials" {
		return trouble
	}
	return badKey()
}

func readBraveFault(body []byte) braveFault {
	var answer struct {
		Error  braveFault   `json:"error"`
		Errors []braveFault `json:"errors"`
	}
	_ = json.Unmarshal(body, &answer) // what can be read of it is used; a page has no code
	if answer.Error.Code == "" && len(answer.Errors) > 0 {
		return answer.Errors[0]
	}
	return answer.Error
}

func braveQuota(e *httpcall.StatusError) *Error {
	left, ok := quotaReset(e.Header)
	if !ok {
		left = unknownQuota
	}
	quota := quotaError(e.Error()+": ", left)
	quota.after = left
	return quota
}

// validation says which parameter is refused.
func (f braveFault) validation(is func(errorType, meaning, hint string) *Error, badKey func() *Error) *Error {
	var names []string
	for _, refused := range f.Meta.Errors {
		if len(refused.Loc) == 0 {
			continue
		}
		name, _ := refused.Loc[len(refused.Loc)-1].(string)
		if name == "x-subscription-token" {
			return badKey()
		}
		if parameterName.MatchString(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 || slices.Contains(names, "q") {
		return is("invalid_query", "it does not accept the query", "Search for something else.")
	}
	return is("invalid_query", "it does not accept "+names[0], "Leave "+names[0]+" out, or give it another value.")
}

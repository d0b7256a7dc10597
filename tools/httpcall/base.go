package httpcall

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// ParseBase reads the base URL of a service: http or https, a host, perhaps a
// path, and nothing else.
func ParseBase(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("it is not a URL")
	}
	switch {
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("user, query and fragment do not belong in a base URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%q must start with https:// or http://", text)
	case u.Hostname() == "":
		return nil, fmt.Errorf("%q has no host", text)
	}
	u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/"), strings.TrimSuffix(u.RawPath, "/")
	return u, nil
}

// Endpoint returns the URL of a path below a base URL, with a query.
func Endpoint(base *url.URL, path string, query url.Values) string {
	u := base.JoinPath(path)
	u.RawQuery = query.Encode()
	return u.String()
}

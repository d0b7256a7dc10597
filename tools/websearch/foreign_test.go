package websearch_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/test/tooltest"
)

type answering string

func (a answering) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(a))), Request: req}, nil
}

// TestForeignAnswers has services answer what is no list of results: that is an error, and not that there are none.
func TestForeignAnswers(t *testing.T) {
	var bodies []string
	for _, kind := range []string{`null`, `""`, `0`, `1e400`, `true`, `[null]`} {
		bodies = append(bodies, kind, `{"results":`+kind+`}`, `{"web":`+kind+`}`, `{"web":{"results":`+kind+`}}`)
	}
	for _, service := range []string{"brave", "tavily", "searxng"} {
		for _, body := range append(bodies, `[]`, ``, `{`) {
			found := tool(t, &http.Client{Transport: answering(body)}, options(func(string) string { return "http://search.test" }, service))
			res := tooltest.Call(t, found, `{"query":"few"}`)
			if !res.IsError {
				t.Errorf("%s: %s: %s", service, body, tooltest.Text(res))
			}
		}
	}
}

package httpcall_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/sandbox/netguard"
)

// A service answers requests in turn, the last answer again and again, and notes
// when they came. Its tests run by a clock of their own (testing/synctest), so
// that waits take no time and have their exact length.
type service struct {
	answers []func(*http.Request) (*http.Response, error)
	came    []time.Duration // since start
	start   time.Time
}

func newService(answers ...func(*http.Request) (*http.Response, error)) *service {
	return &service{answers: answers, start: time.Now()}
}

func (s *service) RoundTrip(req *http.Request) (*http.Response, error) {
	answer := s.answers[min(len(s.came), len(s.answers)-1)]
	s.came = append(s.came, time.Since(s.start))
	return answer(req)
}

func (s *service) caller(retries int) *httpcall.Service {
	return &httpcall.Service{Client: &http.Client{Transport: s}, Name: "Test API", Timeout: 10 * time.Second, MaxBody: 1000, Retries: retries}
}

// status answers with a status and a header ("Retry-After: 7").
func status(code int, header ...string) func(*http.Request) (*http.Response, error) {
	return func(req *http.Request) (*http.Response, error) {
		res := &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("body")), Request: req}
		for _, line := range header {
			name, value, _ := strings.Cut(line, ": ")
			res.Header.Set(name, value)
		}
		return res, nil
	}
}

func fails(err error) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// hangs answers nothing until the request is given up.
func hangs(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, context.Cause(req.Context())
}

// ways are the two to send a request, each with what comes of it.
var ways = map[string]func(context.Context, *httpcall.Service) (string, error){
	"Do": func(ctx context.Context, c *httpcall.Service) (string, error) {
		res, err := do(ctx, c, request("http://service.test/?key=secret", ""))
		if err != nil {
			return "", err
		}
		return string(res.Body), nil
	},
	"Stream": func(ctx context.Context, c *httpcall.Service) (string, error) {
		res, err := c.Stream(ctx, request("http://service.test/?key=secret", ""))
		if err != nil {
			return "", err
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		return string(b), err
	},
}

// eachWay runs a test for each, by a clock of its own.
func eachWay(t *testing.T, f func(t *testing.T, send func(context.Context, *httpcall.Service) (string, error))) {
	for name, send := range ways {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { f(t, send) }) })
	}
}

func TestRetries(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	eachWay(t, func(t *testing.T, send func(context.Context, *httpcall.Service) (string, error)) {
		for name, tt := range map[string]struct {
			first func(*http.Request) (*http.Response, error)
			again bool
		}{
			"429": {status(429), true}, "500": {status(500), true}, "502": {status(502), true}, "503": {status(503), true},
			"504": {status(504), true}, "529": {status(529), true},
			"301": {status(301), false}, "400": {status(400), false}, "401": {status(401), false}, "403": {status(403), false},
			"404": {status(404), false}, "408": {status(408), false},
			"422": {status(422), false}, "501": {status(501), false}, "505": {status(505), false}, "999": {status(999), false},
			"304":           {status(304), false},
			"refused":       {fails(refused), true},
			"no DNS":        {fails(&net.DNSError{Err: "server misbehaving", Name: "service.test", IsTemporary: true}), true},
			"DNS time out":  {fails(&net.DNSError{Err: "i/o timeout", Name: "service.test", IsTimeout: true}), true},
			"no host":       {fails(&net.DNSError{Err: "no such host", Name: "service.test", IsNotFound: true}), false},
			"reset":         {fails(&net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}), true},
			"broken pipe":   {fails(&net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}), true},
			"end of file":   {fails(io.EOF), true},
			"time out":      {fails(context.DeadlineExceeded), false},
			"denied":        {fails(&netguard.DeniedError{Rule: netguard.Private}), false},
			"denied inside": {fails(&net.OpError{Op: "dial", Net: "tcp", Err: &netguard.DeniedError{Rule: netguard.Private}}), false},
		} {
			s := newService(tt.first, status(200))
			body, err := send(t.Context(), s.caller(1))
			if again := len(s.came) == 2; again != tt.again || again != (err == nil) || again != (body == "body") {
				t.Errorf("%s: %d requests: %q, %v", name, len(s.came), body, err)
			}
			s = newService(tt.first, status(200))
			_, err = send(t.Context(), s.caller(0))
			lost := slices.Contains([]string{"reset", "broken pipe", "end of file"}, name)
			if again := len(s.came) == 2; again != lost || again != (err == nil) {
				t.Errorf("%s: %d requests although only lost ones are to be repeated: %v", name, len(s.came), err)
			}
		}
	})
}

// TestRules decides by code, then by status, and says what is retried.
func TestRules(t *testing.T) {
	rules := httpcall.Rules{
		{Codes: []string{"busy"}, Type: "overloaded", Meaning: "it is busy", Retry: true},
		{Codes: []string{"bad"}, When: func(e *httpcall.StatusError) bool { return string(e.Body) == "money" }, Type: "quota_exceeded"},
		{Codes: []string{"bad"}, Statuses: []int{400, 422}, Type: "invalid_query", Meaning: "it does not accept that"},
		{When: func(e *httpcall.StatusError) bool { return httpcall.IsPage(e.Header, e.Body) }, Statuses: []int{4, 5}, Type: "blocked"},
		{Statuses: []int{5}, Type: "http_status", Meaning: "it failed"},
	}
	for _, tt := range []struct {
		status     int
		code, body string
		kind, text string
		retry      bool
	}{
		{429, "busy", "", "overloaded", "HTTP 429 from S: it is busy", true},
		{500, "bad", "money", "quota_exceeded", "HTTP 500 from S", false},
		{500, "bad", "", "invalid_query", "HTTP 500 from S: it does not accept that", false},
		{422, "new", "", "invalid_query", "HTTP 422 from S: it does not accept that", false},
		{403, "", " <html>", "blocked", "HTTP 403 from S", false},
		{503, "", "{}", "http_status", "HTTP 503 from S: it failed", false},
		{429, "", "{}", "rate_limited", "HTTP 429 from S", true},
		{302, "", "<html>", "http_status", "HTTP 302 from S: it redirects, and a page of the network may stand between, such as a sign-in", false},
	} {
		f := rules.Failure(&httpcall.StatusError{Service: "S", Status: tt.status, Body: []byte(tt.body), Header: http.Header{"Retry-After": {"7"}}}, tt.code)
		if f.Type != tt.kind || f.Message != tt.text || f.Retry != tt.retry || f.After != 7*time.Second || f.Status != tt.status {
			t.Errorf("%d %s %s: %+v", tt.status, tt.code, tt.body, f)
		}
	}
	eachWay(t, func(t *testing.T, send func(context.Context, *httpcall.Service) (string, error)) {
		s := newService(status(404), status(500), status(200))
		c := s.caller(5)
		c.Fail = func(e *httpcall.StatusError) error {
			return &httpcall.Failure{Message: e.Error(), Retry: e.Status == 404}
		}
		if _, err := send(t.Context(), c); len(s.came) != 2 || err == nil || err.Error() != "HTTP 500 from Test API" {
			t.Errorf("%d requests: %v", len(s.came), err)
		}
	})
}

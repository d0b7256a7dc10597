package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/api/gmail/v1"

	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/tools/google/signin"
)

// slow sends requests a kilobyte at a time.
type slow struct {
	pause time.Duration
	stop  int   // after so many kilobytes it
	fail  error // fails, or waits forever
}

func (s slow) RoundTrip(req *http.Request) (*http.Response, error) {
	kilobyte := make([]byte, 1024)
	for i := 0; ; i++ {
		if i == s.stop && s.fail != nil {
			return nil, s.fail
		}
		if i == s.stop {
			<-req.Context().Done()
			return nil, req.Context().Err()
		}
		if _, err := req.Body.Read(kilobyte); err == io.EOF {
			break
		}
		if time.Sleep(s.pause); req.Context().Err() != nil {
			return nil, req.Context().Err()
		}
	}
	if s.stop < 0 { // the answer is lost
		return nil, io.EOF
	}
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("{}")), Request: req}, nil
}

// TestUpload sends a mail on lines of many kinds: one that is slow is not late, and one that broke off is known not to be sent.
func TestUpload(t *testing.T) {
	reset := errors.New("connection reset by peer")
	for name, test := range map[string]struct {
		line    slow
		unknown bool
		says    string // "" if it is sent
	}{
		"slow":               {slow{20 * time.Second, 1 << 20, nil}, false, ""},
		"stuck":              {slow{time.Second, 50, nil}, false, "it was not sent: the upload broke off after 51,200 bytes: no answer in time"},
		"broken":             {slow{time.Second, 50, reset}, false, "it was not sent: the upload broke off after 51,200 bytes: the connection failed: connection reset by peer"},
		"broken at once":     {slow{time.Second, 0, reset}, false, "it was not sent: the upload broke off after 0 bytes"},
		"the answer is lost": {slow{time.Second, -1, reset}, true, "the connection failed: EOF"},
		"pauses too long":    {slow{31 * time.Second, 1 << 20, nil}, false, "it was not sent"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := context.WithValue(t.Context(), grantKey{}, &grant{service: signin.Gmail, token: signin.Token{Access: "x"}})
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://gmail.test/", bytes.NewReader(make([]byte, 100<<10)))
				if err != nil {
					t.Fatal(err)
				}
				res, err := (&authorized{base: test.line}).RoundTrip(req)
				if err == nil {
					res.Body.Close()
				}
				if test.says == "" {
					if err != nil {
						t.Errorf("%v", err)
					}
					return
				}
				if err == nil || Unknown(err) != test.unknown || !strings.Contains(httpcall.Explain(err).Message, test.says) {
					t.Errorf("unknown %v: %v", Unknown(err), err)
				}
			})
		})
	}
}

// TestAsked tells answers that are no answer.
func TestAsked(t *testing.T) {
	for name, test := range map[string]struct {
		answer any
		want   bool
	}{
		"null":          {(*gmail.Message)(nil), false},
		"no ID":         {&gmail.Message{}, false},
		"a message":     {&gmail.Message{Id: "x", Payload: &gmail.MessagePart{}}, true},
		"null headers":  {&gmail.Message{Id: "x", Payload: &gmail.MessagePart{Parts: []*gmail.MessagePart{{Headers: []*gmail.MessagePartHeader{nil}}}}}, false},
		"an empty list": {&gmail.ListMessagesResponse{}, true},
		"null in it":    {&gmail.ListMessagesResponse{Messages: []*gmail.Message{nil}}, false},
		"nothing":       {struct{}{}, true},
	} {
		if got := asked(reflect.ValueOf(test.answer)); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

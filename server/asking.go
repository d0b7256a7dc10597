package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"toolserver/domain"
	"toolserver/rawjson"
)

// asking are the requests of a session's client that the server has made and
// that are not answered yet.
type asking struct {
	mu      sync.Mutex
	last    int
	waiting map[string]chan clientAnswer // by id, as JSON
}

// clientAnswer is what a client has to say to a request: a result or an error.
type clientAnswer struct{ result, failure json.RawMessage }

func (a *asking) begin() (id string, answer chan clientAnswer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	id = strconv.Quote("server-" + strconv.Itoa(a.last))
	if a.waiting == nil {
		a.waiting = map[string]chan clientAnswer{}
	}
	answer = make(chan clientAnswer, 1)
	a.waiting[id] = answer
	return id, answer
}

func (a *asking) end(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, id)
}

// answered takes in an answer. One that nobody waits for is ignored.
func (a *asking) answered(msg *message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if answer, ok := a.waiting[string(msg.id)]; ok {
		delete(a.waiting, string(msg.id))
		answer <- clientAnswer{json.RawMessage(string(msg.result)), json.RawMessage(string(msg.failure))}
	}
}

// ask sends requests to the client, one after the other as people read them,
// and waits for the answers.
func (s *session) ask(ctx context.Context, out sink, requests map[string]domain.InputRequest) (map[string]json.RawMessage, error) {
	answers := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		result, err := s.askOne(ctx, out, requests[name])
		if err != nil {
			return nil, err
		}
		answers[name] = result
	}
	return answers, nil
}

func (s *session) askOne(ctx context.Context, out sink, req domain.InputRequest) (json.RawMessage, error) {
	id, answer := s.asking.begin()
	defer s.asking.end(id)
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = rawjson.AppendString(append(b, `,"method":`...), req.Method)
	b = append(appendJSON(append(b, `,"params":`...), req.Params), '}')
	if !out.notify(b) {
		return nil, domain.Errorf(domain.CodeMissingCapability, "the client cannot be asked by %s: it takes no event stream", req.Method)
	}
	select {
	case a := <-answer:
		switch {
		case len(a.failure) > 0:
			return nil, domain.Errorf(domain.CodeExecutionFailed, "the client could not answer %s: %s", req.Method, failureText(a.failure))
		case !validAnswer(req.Method, a.result):
			return nil, domain.Errorf(domain.CodeExecutionFailed, "the client's answer to %s has not the form of one", req.Method)
		}
		return a.result, nil
	case <-ctx.Done():
		out.notify(notification(string(mcp.MethodNotificationCancelled), map[string]any{
			"requestId": json.RawMessage(id), "reason": fmt.Sprint(context.Cause(ctx))}))
		return nil, ctx.Err()
	case <-s.closing:
		return nil, errors.New("the session has ended")
	}
}

// failureText is what an error of the client says.
func failureText(failure json.RawMessage) string {
	var e struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(failure, &e) != nil || e.Message == "" {
		return "it gave no reason"
	}
	return e.Message
}

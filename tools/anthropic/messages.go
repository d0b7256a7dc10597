package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/toolserver/toolserver/domain/nearest"
	"github.com/toolserver/toolserver/outbound/httpcall"
)

// Messages is a client of the Messages API. It is safe for concurrent use.
type Messages struct {
	service
	model    string
	sampling string // version of the API for requests with a temperature
}

// NewMessages returns a client with o's key and model. The error names an option
// that cannot be used; without an APIKey there is no client.
func NewMessages(client *http.Client, o Options) (*Messages, error) {
	sampling := cmp.Or(o.Version, versionSampling)
	o.Version = cmp.Or(o.Version, versionMessages)
	s, err := newService(client, o, "Anthropic API", "Error calling the Anthropic API", "api_key", o.APIKey)
	return &Messages{s, cmp.Or(o.Model, DefaultOptions().Model), sampling}, err
}

// Roles of a [Message].
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// Message is one message of a conversation.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"` // text, not empty
}

// Request is what to ask a model. Its Messages begin with one of the user, and end with one.
type Request struct {
	Model       string    // empty for the client's
	System      string    // may be empty
	Messages    []Message // at least one
	MaxTokens   int       // 0 for DefaultMaxTokens
	Temperature *float64  // 0 to 1; nil leaves it to the API
	Effort      string    // low to max; empty leaves it to the model
}

// DefaultMaxTokens is the longest answer, if a request does not say.
const DefaultMaxTokens = 4096

// Answer is what a model said.
type Answer struct {
	Text       string  `json:"-"`           // every block of text, joined; thinking is not in it
	Model      string  `json:"model"`       // which model it was
	StopReason string  `json:"stop_reason"` // the API's word: end_turn, max_tokens, refusal, ...
	Refusal    Refusal `json:"stop_details,omitzero"`
	Usage      Usage   `json:"usage"`
	RequestID  string  `json:"request_id,omitempty"` // for Anthropic's support; may be empty
}

// Refusal is why a model refused, as far as the API says.
type Refusal struct {
	Category    string `json:"category,omitempty"` // the API's word: cyber, bio, ...
	Explanation string `json:"explanation,omitempty"`
}

// Usage is how many tokens an answer took.
type Usage struct {
	InputTokens         int64 `json:"input_tokens"`
	OutputTokens        int64 `json:"output_tokens"`
	CacheCreationTokens int64 `json:"cache_creation_input_tokens"`
	CacheReadTokens     int64 `json:"cache_read_input_tokens"`
}

// Ask asks a model and returns its answer, which it reads as a stream: onDelta, which may be nil, is called for each piece. A
// request that the API refuses for a time is sent again, one that it has begun to answer is not. When ctx ends the request is
// aborted.
//
// With an error it returns the answer until then. The error is a [*httpcall.Failure], ctx's, or that of the connection, which
// [httpcall.Explain] tells apart. A refusal is an answer.
func (m *Messages) Ask(ctx context.Context, req Request, onDelta func(text, thinking string)) (Answer, error) {
	type output struct {
		Effort string `json:"effort,omitempty"`
	}
	body, err := json.Marshal(struct {
		Model       string    `json:"model"`
		MaxTokens   int       `json:"max_tokens"`
		System      string    `json:"system,omitempty"`
		Messages    []Message `json:"messages"`
		Temperature *float64  `json:"temperature,omitempty"`
		Output      output    `json:"output_config,omitzero"`
		Stream      bool      `json:"stream"`
	}{cmp.Or(req.Model, m.model), cmp.Or(req.MaxTokens, DefaultMaxTokens), req.System, req.Messages, req.Temperature, output{req.Effort}, true})
	if err != nil {
		return Answer{}, err
	}
	header := map[string]string{"Accept": "text/event-stream, application/json", "Content-Type": "application/json"}
	if req.Temperature != nil {
		header["Anthropic-Version"] = m.sampling
	}
	res, err := m.Stream(ctx, httpcall.Request{URL: m.URL("/v1/messages", nil), Body: body, Header: header})
	if err != nil {
		return Answer{}, cmp.Or(ctx.Err(), err)
	}
	defer res.Body.Close()
	a := assembly{service: &m.service, header: res.Header, onDelta: onDelta}
	a.answer.RequestID = plain(res.Header.Get("Request-Id"), maxWord)
	err = a.read(res)
	a.answer.Text = a.text.String()
	return a.answer, cmp.Or(ctx.Err(), err)
}

// Bounds of the list of models.
const (
	modelsTimeout = 10 * time.Second
	maxModels     = 50 // of a message
)

// withModels adds the models there are, newest first as the API has them, to a failure because of an unknown model.
// The failure stays as it is if they cannot be listed.
func (m *Messages) withModels(ctx context.Context, unknown *httpcall.Failure, model string) {
	ctx, cancel := context.WithTimeout(ctx, modelsTimeout)
	defer cancel()
	var body struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	request := httpcall.Request{URL: m.URL("/v1/models", url.Values{"limit": {"1000"}}), Header: acceptJSON}
	err := m.Do(ctx, request, func(res *httpcall.Response) error { return json.Unmarshal(res.Body, &body) })
	if err != nil || len(body.Data) == 0 {
		return
	}
	var names []string
	for _, model := range body.Data[:min(len(body.Data), maxModels)] {
		names = append(names, plain(model.ID, maxWord))
	}
	if near, ok := nearest.Word(model, names); ok {
		unknown.Message += "; did you mean " + near + "?"
	}
	unknown.Message += "; models there are: " + strings.Join(names, ", ")
}

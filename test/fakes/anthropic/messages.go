package anthropic

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// A Turn is what the model says.
type Turn struct {
	Thinking   string   // of a first block of its own, if there is any
	Text       []string // blocks
	StopReason string   // end_turn if empty
	Category   string   // of a refusal, which has stop_details then
	Explained  string   // why, with Category
	Whole      bool     // as JSON although a stream was asked for, as some gateways do
	Chunk      int      // bytes of the stream sent at a time
	Drop       bool     // break off before message_stop
}

// messageRequest is the body of a request, as far as the fake knows it.
type messageRequest struct {
	Model       string   `json:"model"`
	MaxTokens   *int     `json:"max_tokens"`
	System      *string  `json:"system"`
	Temperature *float64 `json:"temperature"`
	Output      *struct {
		Effort *string `json:"effort"`
	} `json:"output_config"`
	Stream   bool `json:"stream"`
	Messages []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
}

// message answers a request of the Messages API.
func (s *Server) message(req Request) Reply {
	var m messageRequest
	d := json.NewDecoder(bytes.NewReader(req.Body))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return *invalid("%s", err)
	}
	if refused := m.check(req.Header.Get("Anthropic-Version")); refused != nil {
		return *refused
	}
	if !slices.Contains(s.names(), m.Model) {
		return Error(http.StatusNotFound, "not_found_error", "model: "+m.Model)
	}
	turn := Turn{Text: []string{"You said: " + m.Messages[len(m.Messages)-1].Content}}
	s.mu.Lock()
	if len(s.turns) > 0 {
		turn, s.turns = s.turns[0], s.turns[1:]
	}
	s.mu.Unlock()
	if turn.Whole || !m.Stream {
		return Reply{Body: turn.Message(m.Model)}
	}
	return turn.Reply(m.Model)
}

// check holds a body to the rules of the reference of a version.
func (m *messageRequest) check(version string) *Reply {
	switch {
	case m.Temperature != nil && version >= "2026-10-21":
		return invalid("temperature: Extra inputs are not permitted")
	case m.Temperature != nil && !strings.Contains(m.Model, "-4-"): // older models have it
		return invalid("`temperature` is deprecated for this model.")
	case m.Output != nil && m.Output.Effort != nil && !slices.Contains([]string{"low", "medium", "high", "xhigh", "max"}, *m.Output.Effort):
		return invalid("output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
	case m.Model == "":
		return invalid("model: Field required")
	case m.MaxTokens == nil:
		return invalid("max_tokens: Field required")
	case *m.MaxTokens < 1:
		return invalid("max_tokens: Input should be greater than or equal to 1")
	case m.Temperature != nil && (*m.Temperature < 0 || *m.Temperature > 1):
		return invalid("temperature: range: 0..1")
	case m.System != nil && *m.System == "":
		return invalid("system: text content blocks must be non-empty")
	case len(m.Messages) == 0:
		return invalid("messages: at least one message is required")
	case m.Messages[0].Role != "user":
		return invalid("messages: first message must use the \"user\" role")
	}
	for i, message := range m.Messages {
		switch {
		case message.Role != "user" && message.Role != "assistant":
			return invalid("messages.%d.role: Input should be 'user' or 'assistant'", i)
		case strings.TrimSpace(message.Content) == "":
			return invalid("messages.%d: text content blocks must contain non-whitespace text", i)
		}
	}
	if last := m.Messages[len(m.Messages)-1]; last.Role == "assistant" && strings.TrimRight(last.Content, " \n\t") != last.Content {
		return invalid("messages: final assistant content cannot end with trailing whitespace")
	}
	return nil
}

func (s *Server) names() []string {
	if s.Models == nil {
		return DefaultModels
	}
	return s.Models
}

// models answers a request for the list of models.
func (s *Server) models() Reply {
	data := []map[string]string{}
	for _, name := range s.names() {
		data = append(data, map[string]string{"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"})
	}
	b, err := json.Marshal(map[string]any{"data": data, "has_more": false, "first_id": nil, "last_id": nil})
	if err != nil {
		panic(err) // strings always marshal
	}
	return Reply{Body: string(b)}
}

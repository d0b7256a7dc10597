package jsonrpc

import (
	"encoding/json"

	"github.com/toolserver/toolserver/wire/rawjson"
)

// A Skimmer is written a message that is too long to be kept, and finds the id of
// the request or response that it is. It remembers no more than a key and a value.
type Skimmer struct {
	depth   int  // of open arrays and objects
	quoted  bool // within a string
	escaped bool // after a backslash in a string
	token   []byte
	key     string // of the member of the message that is read
	object  bool   // the message is one
	request bool   // it has a method
	first   byte   // that is no blank
	id      json.RawMessage
}

// maxSkimmed bounds the id, and the keys of a message.
const maxSkimmed = 4 << 10

// Write reads on. It never fails.
func (s *Skimmer) Write(p []byte) (int, error) {
	for _, c := range p {
		switch {
		case s.escaped:
			s.escaped = false
		case s.quoted:
			s.escaped, s.quoted = c == '\\', c != '"'
		default:
			s.structure(c)
			continue
		}
		s.keep(c)
	}
	return len(p), nil
}

// structure reads a byte that is not in a string.
func (s *Skimmer) structure(c byte) {
	if s.first <= ' ' {
		s.first = c
	}
	switch c {
	case '{', '[':
		s.object = s.object || s.depth == 0 && c == '{'
		s.depth++
	case '}', ']':
		s.endMember()
		s.depth--
	case ',':
		s.endMember()
	case ':':
		if s.depth == 1 {
			s.key, _ = rawjson.String(s.token)
			s.token = s.token[:0]
		}
	case ' ', '\t', '\r', '\n':
	default:
		s.quoted = c == '"'
		s.keep(c)
	}
}

// keep notes a byte of a key or a value of the message itself. What is longer than
// the bound loses its end, and is then nothing.
func (s *Skimmer) keep(c byte) {
	if s.depth == 1 && len(s.token) < maxSkimmed {
		s.token = append(s.token, c)
	}
}

func (s *Skimmer) endMember() {
	if s.depth != 1 {
		return
	}
	switch s.key {
	case "id":
		s.id = append(json.RawMessage(nil), s.token...)
	case "method":
		s.request = true
	}
	s.key, s.token = "", s.token[:0]
}

// ID returns the id of the request that was written, or nil if there is none.
func (s *Skimmer) ID() json.RawMessage {
	if !s.request {
		return nil
	}
	return s.known()
}

// Response reports whether a response may have been written, and returns its id, or nil if there is none.
func (s *Skimmer) Response() (id json.RawMessage, maybe bool) {
	if s.request || s.first != '{' && s.first != '[' {
		return nil, false
	}
	return s.known(), true
}

func (s *Skimmer) known() json.RawMessage {
	if !s.object || s.depth != 0 || len(s.id) == 0 || !ValidID(s.id) || rawjson.Valid(s.id) != nil {
		return nil
	}
	return s.id
}

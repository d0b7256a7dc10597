package domain

import (
	"encoding/json"
	"sync"
)

// ToolOutputSchema is the JSON Schema of a tool's structured results.
type ToolOutputSchema struct {
	raw     func() json.RawMessage
	derived bool
}

// OutputOf derives a schema from the struct Out, with the tags of [SchemaOf].
// Its root requires no field and rejects none: clients validate tool execution
// errors, which have the fields of a [Failure], against the same schema.
func OutputOf[Out any]() *ToolOutputSchema {
	return &ToolOutputSchema{sync.OnceValue(func() json.RawMessage { return structOf[Out]().Results() }), true}
}

// ParseOutputSchema is [ParseSchema] of results.
func ParseOutputSchema(raw []byte) (*ToolOutputSchema, error) {
	s, err := ParseSchema(raw)
	if err != nil {
		return nil, err
	}
	return &ToolOutputSchema{raw: s.raw}, nil
}

// MarshalJSON returns the schema itself.
func (s *ToolOutputSchema) MarshalJSON() ([]byte, error) { return s.raw(), nil }

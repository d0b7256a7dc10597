package domain

import (
	"encoding/json"
	"fmt"
	"math"
	"sync"

	"toolserver/rawjson"
)

// ToolOutputSchema is the JSON Schema of a tool's structured results.
type ToolOutputSchema struct {
	schema  *ToolInputSchema
	derived bool
}

// OutputOf derives a schema from the struct Out, with the tags of [SchemaOf].
// Its root requires no field and rejects none: clients validate tool execution
// errors, which have the fields of a [Failure], against the same schema.
func OutputOf[Out any]() *ToolOutputSchema {
	text := func() *schemaText { return &schemaText{raw: structOf[Out]().Results()} }
	return &ToolOutputSchema{newSchema(sync.OnceValue(text)), true}
}

// ParseOutputSchema is [ParseSchema] of results.
func ParseOutputSchema(raw []byte) (*ToolOutputSchema, error) {
	s, err := ParseSchema(raw)
	if err != nil {
		return nil, err
	}
	return &ToolOutputSchema{schema: s}, nil
}

// MarshalJSON returns the schema itself.
func (s *ToolOutputSchema) MarshalJSON() ([]byte, error) { return s.schema.MarshalJSON() }

// Check reports how structured results break the schema.
func (s *ToolOutputSchema) Check(structured any) error {
	compiled, err := s.schema.compiled()
	if err != nil {
		return err
	}
	b, err := json.Marshal(structured)
	if err != nil {
		return fmt.Errorf("structured content: %w", err)
	}
	v, err := rawjson.Decode(b)
	if err != nil {
		return fmt.Errorf("structured content: %w", err)
	}
	if problem := tooMuch(v, math.MaxInt); problem != "" {
		return fmt.Errorf("structured content holds %s", problem)
	}
	if err := compiled.Validate(v); err != nil {
		return fmt.Errorf("structured content breaks the output schema: %s", clip(err.Error(), maxProblem))
	}
	return nil
}

package main

import (
	"bytes"
	"encoding/json"
)

// jsonOf returns a value as indented JSON.
func jsonOf(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.Bytes(), err
}

type object map[string]any
